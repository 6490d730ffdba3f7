//! Runs against LLM servers: the mock server, a process of its own.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::respool::{Place, Ran, long_row};

/// A mock server. Dropping it stops it.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    /// The teacher, who finds a task by its question.
    fn teacher(place: &Place, engine: &str) -> Self {
        Self::start(
            place,
            &["--engine", engine, "--policy", "teacher", "--tasks", "tasks.jsonl", "--token-latency", "1ms"],
        )
    }

    fn start(place: &Place, args: &[&str]) -> Self {
        let mut command = place.command(&["mock-server"]);
        let mut child = command.args(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, url }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Rows whose questions tell them apart.
fn place(count: u32) -> Place {
    let rows: Vec<Value> = (0..count)
        .map(|index| {
            let mut row = long_row(index, 20);
            row["prompt"][1]["content"] = json!(format!("How many eggs are in basket number {index}?"));
            row
        })
        .collect();
    Place::new(&rows)
}

const RUN: [&str; 5] = ["run", "tasks.jsonl", "--n", "2", "--out"];

fn run(place: &Place, out: &str, args: &[&str]) -> Ran {
    place.respool(&[&RUN[..], &[out], args].concat())
}

#[test]
fn weight_syncs_against_servers_change_nothing_but_versions() {
    let place = place(6);
    for engine in ["sglang", "vllm"] {
        let (first, second) = (Server::teacher(&place, engine), Server::teacher(&place, engine));
        let urls = format!("{},{}", first.url, second.url);
        let calm = format!("{engine}-calm");
        run(&place, &calm, &["--server", &urls]).expect(0);
        for mode in ["abort", "keep", "drain"] {
            check_sync(&place, &calm, mode, &urls);
        }
    }
}

/// A run with weight syncs in that mode has the outcome of the calm one, and met new versions.
#[track_caller]
fn check_sync(place: &Place, calm: &str, mode: &str, urls: &str) {
    let synced = format!("{calm}-{mode}");
    let args = ["--server", urls, "--weight-sync-every", "100ms", "--weight-sync-mode", mode];
    run(place, &synced, &args).expect(0);
    place.respool(&["compare", calm, &synced]).expect(0).says("12 equal");
    let records = place.jsonl(&format!("{synced}/trajectories.jsonl"));
    let newest = records.iter().filter_map(|record| record["param_version_end"].as_u64()).max();
    assert!(newest > Some(0), "{synced}: no sync was seen");
}

#[test]
fn an_interrupted_run_goes_on_at_another_server() {
    let place = place(6);
    let first = Server::teacher(&place, "sglang");
    run(&place, "calm", &["--server", &first.url]).expect(0);
    let mut running = place.start(&[&RUN[..], &["cut", "--server", &first.url]].concat());
    place.wait_for_lines("cut/trajectories.jsonl", 1, &mut running);
    kill_process(Pid::from_child(&running), Signal::TERM).unwrap();
    Ran::new(running.wait_with_output().unwrap()).expect(130);
    drop(first);
    let second = Server::teacher(&place, "vllm");
    place.respool(&["resume", "cut", "--server", &second.url]).expect(0);
    place.respool(&["compare", "calm", "cut"]).expect(0).says("12 equal");
}

#[test]
fn a_server_that_dies_costs_no_rollout() {
    let place = place(6);
    let (first, second) = (Server::teacher(&place, "sglang"), Server::teacher(&place, "sglang"));
    run(&place, "calm", &["--server", &first.url]).expect(0);
    let urls = format!("{},{}", first.url, second.url);
    let mut running = place.start(&[&RUN[..], &["cut", "--server", &urls]].concat());
    place.wait_for_lines("cut/trajectories.jsonl", 1, &mut running);
    drop(first);
    Ran::new(running.wait_with_output().unwrap()).expect(0);
    place.respool(&["compare", "calm", "cut"]).expect(0).says("12 equal");
}

#[test]
fn check_says_what_a_server_is_and_what_is_wrong() {
    let place = place(1);
    let server = Server::start(&place, &["--engine", "vllm", "--token-latency", "0s"]);
    let ran = place.respool(&["check", "--server", &server.url]).expect(0);
    ran.says("vLLM 0.32.0").says("/inference/v1/generate").says("pause_keep");
    let ran = place.respool(&["check", "--json", "--server", &server.url]).expect(0);
    let report: Value = serde_json::from_str(ran.stdout.trim()).unwrap();
    assert_eq!((&report["fit"], &report["report"]["engine"]), (&json!(true), &json!("vllm")));

    let gone = server.url.clone();
    drop(server);
    place.respool(&["check", "--server", &gone]).expect(1).says("not fit for use").says("connect");
    run(&place, "out", &["--server", &gone]).expect(2).says("1 of 1 servers cannot be used");
    place.respool(&["check"]).expect(2).says("no server to check");
    run(&place, "out", &["--server", "ftp://x"]).expect(2).says("ftp://x");
}

#[test]
fn verify_holds_against_servers() {
    let place = place(1);
    for engine in ["sglang", "vllm"] {
        let server = Server::start(&place, &["--engine", engine, "--token-latency", "0s"]);
        place
            .respool(&["verify", "--cases", "10", "--server", &server.url])
            .expect(0)
            .says("held: 10 rollouts");
    }
}

#[test]
fn faults_of_servers_are_survived() {
    let place = place(4);
    place.write("faults.toml", "seed = 7\n[rates]\nreset = 0.1\nclose = 0.1\nabort = 0.1\n");
    let calm = Server::teacher(&place, "vllm");
    run(&place, "calm", &["--server", &calm.url]).expect(0);
    let faulty = Server::start(
        &place,
        &[
            "--engine",
            "vllm",
            "--policy",
            "teacher",
            "--tasks",
            "tasks.jsonl",
            "--token-latency",
            "0s",
            "--faults",
            "faults.toml",
        ],
    );
    run(&place, "faulty", &["--server", &format!("{},{}", faulty.url, calm.url)]).expect(0);
    place.respool(&["compare", "calm", "faulty"]).expect(0).says("8 equal");
}
