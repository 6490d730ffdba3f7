//! Runs that are interrupted or killed, and go on.

use std::{collections::BTreeSet, fs::OpenOptions, io::Write, process::Child};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::respool::{Place, Ran, key, long_row, row};

/// One short task and some that take long.
fn place() -> Place {
    let mut rows = vec![row(0)];
    rows.extend((1..5).map(|index| long_row(index, 60)));
    let place = Place::new(&rows);
    place.respool(&["run", "tasks.jsonl", "--out", "whole", "--n", "2"]).expect(0);
    place
}

/// Starts a slow run, and signals it when something is done and most is not.
fn cut(place: &Place, signal: Signal) -> Ran {
    let args =
        ["run", "tasks.jsonl", "--out", "out", "--n", "2", "--token-latency", "20ms", "--concurrency", "6"];
    let mut child = place.start(&args);
    place.wait_for_lines("out/trajectories.jsonl", 1, &mut child);
    send(&child, signal);
    Ran::new(child.wait_with_output().unwrap())
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// The run is whole: nothing lost, nothing twice, nothing different.
#[track_caller]
fn check_whole(place: &Place) {
    place.respool(&["compare", "whole", "out"]).expect(0).says("10 equal");
    assert_eq!(place.snapshots("out"), [] as [&str; 0]);
}

#[test]
fn ctrl_c_leaves_snapshots_and_resume_finishes() {
    for signal in [Signal::INT, Signal::TERM] {
        let place = place();
        cut(&place, signal).expect(130).says("respool resume out");
        let snapshots = place.snapshots("out");
        assert!(snapshots.iter().any(|name| name.starts_with("test%2Feggs%2Ftest%2F")), "{snapshots:?}");
        let before = place.jsonl("out/trajectories.jsonl").len();
        assert!(before < 10 && snapshots.len() <= 6);
        place.respool(&["resume", "out", "--token-latency", "0ms"]).expect(0).says("10 finished, 0 failed");
        check_whole(&place);
        let records = place.jsonl("out/trajectories.jsonl");
        let cut = records.iter().filter(|record| record["metrics"]["interrupts"].as_u64() > Some(0));
        assert_eq!(cut.count(), snapshots.len(), "what was interrupted went on from its snapshot");
    }
}

#[test]
fn a_second_interrupt_is_resumed_too() {
    let place = place();
    cut(&place, Signal::INT).expect(130);
    let done = place.jsonl("out/trajectories.jsonl").len();
    let mut child = place.start(&["resume", "out", "--token-latency", "10ms"]);
    place.wait_for_lines("out/trajectories.jsonl", done + 1, &mut child);
    send(&child, Signal::INT);
    let ran = Ran::new(child.wait_with_output().unwrap());
    assert!(matches!(ran.code, Some(0 | 130)), "{ran:?}");
    place.respool(&["resume", "out", "--token-latency", "0ms"]).expect(0);
    check_whole(&place);
}

#[test]
fn a_killed_run_loses_only_what_was_in_flight() {
    let place = place();
    assert_eq!(cut(&place, Signal::KILL).code, None);
    // This kill may have come in the middle of a write or not: the test makes one that did.
    let path = place.path("out/trajectories.jsonl");
    let written = std::fs::read(&path).unwrap();
    let whole = written.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    place.write("out/trajectories.jsonl", &written[..whole]);
    let done: BTreeSet<_> = place.jsonl("out/trajectories.jsonl").iter().map(key).collect();
    OpenOptions::new().append(true).open(path).unwrap().write_all(b"{\"task_id\": \"test/eg").unwrap();
    place
        .respool(&["resume", "out", "--token-latency", "0ms"])
        .expect(0)
        .says("unfinished last line of 20 bytes");
    check_whole(&place);
    let after: BTreeSet<_> = place.jsonl("out/trajectories.jsonl").iter().map(key).collect();
    assert!(done.is_subset(&after));
}

#[test]
fn resume_refuses_what_is_not_the_runs_own() {
    let place = place();
    cut(&place, Signal::INT).expect(130);
    let mut rows: Vec<Value> = place.jsonl("tasks.jsonl");
    rows.push(row(9));
    place.write("tasks.jsonl", crate::respool::lines(&rows));
    place.respool(&["resume", "out"]).expect(2).says("task file").says("--force");
    assert!(!place.snapshots("out").is_empty());
    place.respool(&["resume", "out", "--force", "--token-latency", "0ms"]).expect(0).says("12 finished");
}

#[test]
fn a_damaged_snapshot_costs_only_its_own_progress() {
    let place = place();
    cut(&place, Signal::INT).expect(130);
    let first = place.snapshots("out").swap_remove(0);
    place.write(&format!("out/snapshots/{first}"), "not a snapshot");
    place.respool(&["resume", "out", "--token-latency", "0ms"]).expect(0).says(&first);
    place.respool(&["compare", "whole", "out"]).expect(0);
}

#[test]
fn one_process_writes_at_a_time() {
    let place = place();
    let args = ["run", "tasks.jsonl", "--out", "out", "--token-latency", "20ms"];
    let mut child = place.start(&args);
    place.wait_for_lines("out/trajectories.jsonl", 1, &mut child);
    place.respool(&["resume", "out"]).expect(2).says("another respool");
    send(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(place.path("out/run.json").exists());
}

#[test]
fn there_is_no_run_to_resume() {
    place().respool(&["resume", "nowhere"]).expect(2).says("no run in nowhere");
}
