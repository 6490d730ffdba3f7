//! What `respool inspect` shows.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::respool::{Place, long_row, row};

#[test]
fn a_trajectory_reads_as_turns() {
    let place = Place::new(&[row(1), row(2)]);
    place.respool(&["run", "tasks.jsonl", "--out", "out", "--n", "2"]).expect(0);
    let args = ["inspect", "out", "--task", "test/eggs/test/1", "--sample", "1"];
    let ran = place
        .respool(&args)
        .expect(0)
        .says("test/eggs/test/1 sample 1 · async_partial_tool_agent · answered · reward")
        .says("── 1: sampled")
        .says("── 2: given")
        .says("{\"name\": \"calculator\", \"arguments\": {\"expression\":\"1+2\"}}")
        .says("####");
    assert_eq!(ran.stdout.matches("reward").count(), 1, "only the one that was asked for");
    assert!(!ran.stdout.contains('\u{1b}'), "no colours where nobody sees them");
    place
        .respool(&["inspect", "out/trajectories.jsonl", "--first", "1", "--tokens"])
        .expect(0)
        .says("log-probability");
    place.respool(&["inspect", "out", "--task", "nothing"]).expect(2).says("no such rollout");
    place.respool(&["inspect", "respool.toml"]).expect(2).says("respool.toml:");
}

#[test]
fn without_the_run_there_are_messages() {
    let place = Place::new(&[row(1)]);
    place.respool(&["run", "tasks.jsonl", "--out", "out"]).expect(0);
    std::fs::copy(place.path("out/trajectories.jsonl"), place.path("alone.jsonl")).unwrap();
    place.respool(&["inspect", "alone.jsonl"]).expect(0).says("── assistant").says("→ calculator({");
}

#[test]
fn machines_get_json() {
    let place = Place::new(&[row(1)]);
    place.respool(&["run", "tasks.jsonl", "--out", "out"]).expect(0);
    let ran = place.respool(&["inspect", "out", "--json"]).expect(0);
    let shown: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(vec![shown], place.jsonl("out/trajectories.jsonl"));
}

#[test]
fn a_snapshot_shows_where_it_was_cut() {
    let place = Place::new(&[row(1), long_row(2, 80)]);
    let mut child = place.start(&["run", "tasks.jsonl", "--out", "out", "--token-latency", "10ms"]);
    place.wait_for_lines("out/trajectories.jsonl", 1, &mut child);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let name = format!("out/snapshots/{}", place.snapshots("out").swap_remove(0));
    place.respool(&["inspect", &name]).expect(0).says("interrupted while generating").says("⟦cut⟧");
    let ran = place.respool(&["inspect", &name, "--json"]).expect(0);
    let shown: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (shown["state"].as_str(), &shown["rollout"]["finish"]),
        (Some("generating"), &"interrupted".into())
    );
}
