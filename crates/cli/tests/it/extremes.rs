//! Numbers and directories that nobody would think of.

use crate::respool::{CONFIG, Place, row};

#[test]
fn more_rollouts_than_memory_holds_are_refused() {
    let place = Place::new(&[row(1)]);
    place
        .respool(&["run", "tasks.jsonl", "--out", "out", "--n", "4294967295"])
        .expect(2)
        .says("n = 4294967295")
        .says("at most 10000000");
    assert!(!place.path("out/run.json").exists());
}

#[test]
fn weights_are_not_synced_without_a_pause() {
    let place = Place::new(&[row(1)]);
    place.write("respool.toml", format!("{CONFIG}\n[run]\nweight_sync_every = \"0s\"\n"));
    place
        .respool(&["run", "tasks.jsonl", "--out", "out"])
        .expect(2)
        .says("run.weight_sync_every: found 0s, expected a time over zero");
}

#[test]
fn a_run_killed_before_its_run_file_leaves_a_directory_that_can_be_used() {
    let place = Place::new(&[row(1)]);
    std::fs::create_dir(place.path("out")).unwrap();
    place.write("out/trajectories.jsonl", "");
    place.write("out/failures.jsonl", "");
    place.respool(&["run", "tasks.jsonl", "--out", "out"]).expect(0);
    let other = Place::new(&[row(1)]);
    std::fs::create_dir(other.path("out")).unwrap();
    other.write("out/trajectories.jsonl", "{}\n");
    other.respool(&["run", "tasks.jsonl", "--out", "out"]).expect(2).says("without a run.json");
}
