//! Runs that nobody interrupts.

use std::collections::BTreeSet;

use serde_json::json;

use crate::respool::{Place, key, long_row, row};

#[test]
fn every_task_has_its_trajectories() {
    let place = Place::new(&[row(1), row(2), row(3)]);
    let ran = place.respool(&["run", "tasks.jsonl", "--out", "out", "--n", "4"]).expect(0);
    assert_eq!(ran.stdout.lines().next(), Some("configuration: respool.toml (beside the task file)"));
    for text in ["12 finished, 0 failed", "mean reward", "pass@1", "pass@4", "answered 12", "tokens/s"] {
        assert!(ran.stdout.contains(text), "{text}: {ran:?}");
    }
    let records = place.jsonl("out/trajectories.jsonl");
    assert_eq!(records.iter().map(key).collect::<BTreeSet<_>>().len(), 12);
    let rewards: BTreeSet<_> = records.iter().map(|record| record["reward_score"].to_string()).collect();
    assert_eq!(
        rewards,
        BTreeSet::from(["0.0".to_owned(), "1.0".to_owned()]),
        "an error rate of a half varies rewards"
    );
    for record in &records {
        assert_eq!(record["agent_name"], "async_partial_tool_agent", "{record}");
        assert_eq!(record["metrics"]["tools"]["calculator"]["ran"], 2, "{record}");
        assert_eq!(record["group_id"], record["task_id"]);
    }
    let run = place.json("out/run.json");
    assert_eq!(run["plan"]["config"]["run"]["n"], 4);
    assert_eq!(run["tasks_sha256"].as_str().map(str::len), Some(64));
}

#[test]
fn a_directory_holds_one_run() {
    let place = Place::new(&[row(1)]);
    place.respool(&["run", "tasks.jsonl", "--out", "out"]).expect(0);
    place.respool(&["run", "tasks.jsonl", "--out", "out"]).expect(2).says("respool resume out");
    assert_eq!(place.jsonl("out/trajectories.jsonl").len(), 1);
    place.respool(&["resume", "out"]).expect(0).says("1 finished");
    assert_eq!(place.jsonl("out/trajectories.jsonl").len(), 1);
}

#[test]
fn neither_order_nor_concurrency_nor_pace_changes_a_rollout() {
    let rows: Vec<_> = (0..6).map(row).collect();
    let place = Place::new(&rows);
    let reversed: Vec<_> = rows.iter().rev().cloned().collect();
    place.write("reversed.jsonl", crate::respool::lines(&reversed));
    place.respool(&["run", "tasks.jsonl", "--out", "a", "--n", "2", "--policy", "hash"]).expect(0);
    let pace = ["--concurrency", "1", "--token-latency", "1us"];
    let args = ["run", "reversed.jsonl", "--out", "b", "--n", "2", "--policy", "hash"];
    place.respool(&[&args[..], &pace].concat()).expect(0);
    place.respool(&["compare", "a", "b"]).expect(0).says("12 equal, 0 different");
    place
        .respool(&["run", "tasks.jsonl", "--out", "c", "--n", "2", "--policy", "hash", "--seed", "1"])
        .expect(0);
    place.respool(&["compare", "a", "c"]).expect(1).says("0 equal, 12 different");
}

#[test]
fn weight_syncs_change_versions_and_nothing_else() {
    let rows: Vec<_> = (0..4).map(|index| long_row(index, 20)).collect();
    let place = Place::new(&rows);
    place.respool(&["run", "tasks.jsonl", "--out", "a", "--n", "2"]).expect(0);
    let sync = ["--token-latency", "2ms", "--weight-sync-every", "40ms"];
    let args = ["run", "tasks.jsonl", "--out", "b", "--n", "2"];
    place.respool(&[&args[..], &sync].concat()).expect(0);
    place.respool(&["compare", "a", "b"]).expect(0).says("8 equal");
    let records = place.jsonl("b/trajectories.jsonl");
    assert!(
        records
            .iter()
            .any(|record| record["param_version_end"].as_u64() > record["param_version_start"].as_u64())
    );
    assert!(records.iter().any(|record| record["metrics"]["interrupts"].as_u64() > Some(0)));
}

#[test]
fn faults_of_servers_change_no_outcome() {
    let rows: Vec<_> = (0..4).map(|index| long_row(index, 10)).collect();
    let place = Place::new(&rows);
    place.respool(&["run", "tasks.jsonl", "--out", "a", "--n", "4"]).expect(0);
    let faults = "faults = { stall = 0.1, abort = 0.2, disconnect = 0.2, overload = 0.1 }\n";
    let config = format!("{}{faults}[run]\nstream_timeout = \"100ms\"\n", crate::respool::CONFIG);
    place.write("respool.toml", config);
    place.respool(&["run", "tasks.jsonl", "--out", "b", "--n", "4"]).expect(0);
    place.respool(&["compare", "a", "b"]).expect(0).says("16 equal");
    let records = place.jsonl("b/trajectories.jsonl");
    assert!(records.iter().any(|record| record["metrics"]["failed_over"].as_u64() > Some(0)));
}

#[test]
fn rows_choose_loop_sampling_and_interaction() {
    let mut single = row(1);
    single["agent_name"] = "single_turn_agent".into();
    let mut warm = row(2);
    warm["sampling"] = json!({"temperature": 0.5});
    let mut asked = row(3);
    asked["extra_info"]["interaction_kwargs"] = json!({"name": "doubt", "query": "?"});
    let place = Place::new(&[single, warm, asked]);
    let more = "[sampling]\ntemperature = 1.0\ntop_p = 0.9\n[interaction.doubt]\nkind = \"scripted\"\n\
                replies = [{ content = \"sure?\", score = 0.25 }, { content = \"thanks\", terminate = true }]\n";
    place.write("respool.toml", format!("{}{more}", crate::respool::CONFIG));
    place.respool(&["run", "tasks.jsonl", "--out", "out"]).expect(0);
    let mut records = place.jsonl("out/trajectories.jsonl");
    records.sort_by_key(key);
    let [single, warm, asked] = records.try_into().unwrap();
    assert_eq!((&single["agent_name"], &single["assistant_turns"]), (&"single_turn_agent".into(), &1.into()));
    assert_eq!((&warm["sampling"]["temperature"], &warm["sampling"]["top_p"]), (&0.5.into(), &json!(0.9)));
    assert_eq!(asked["turn_scores"], json!([0.25]));
    assert_eq!(asked["finish"], "interaction_ended");
}

#[test]
fn defaults_need_no_configuration() {
    let place = Place::new(&[row(1)]);
    std::fs::remove_file(place.path("respool.toml")).unwrap();
    place
        .respool(&["run", "tasks.jsonl", "--out", "out", "--token-latency", "0ms"])
        .expect(0)
        .says("configuration: defaults")
        .says("none given");
    assert_eq!(place.jsonl("out/trajectories.jsonl")[0]["agent_name"], "partial_single_turn_agent");
}

#[test]
fn verify_holds_for_the_configuration() {
    let place = Place::new(&[]);
    place
        .respool(&["verify", "--cases", "10"])
        .expect(0)
        .says("configuration: respool.toml")
        .says("held: 10 rollouts");
}
