//! Every tool-call format, from the policy that writes it to the reward.

use respool_dialect::tool_format_names;

use crate::respool::{CONFIG, Place, row};

fn place(format: &str, more: &str) -> Place {
    let place = Place::new(&[row(1), row(2)]);
    let config = CONFIG.replace("error_rate = 0.5", more);
    place.write("respool.toml", format!("[model]\nformat = \"{format}\"\n{config}"));
    place
}

#[test]
fn the_teacher_solves_its_tasks_in_every_format() {
    for format in tool_format_names() {
        let place = place(format, "");
        place.respool(&["run", "tasks.jsonl", "--out", "out"]).expect(0).says("2 finished, 0 failed");
        for record in place.jsonl("out/trajectories.jsonl") {
            assert_eq!(record["reward_score"], 1.0, "{format}: {record}");
            assert_eq!(record["metrics"]["tools"]["calculator"]["ran"], 2, "{format}: {record}");
        }
    }
}

#[test]
fn every_format_survives_every_interrupt() {
    for format in tool_format_names() {
        let place = place(format, "kind = \"hash\"");
        place.respool(&["verify", "--cases", "20"]).expect(0);
    }
}
