//! Rows and configurations that are wrong.

use serde_json::{Value, json};

use crate::respool::{CONFIG, Place, row};

/// Runs these lines between two good rows, and gives the one failure.
#[track_caller]
fn failure(line: &[u8]) -> Value {
    let place = Place::new(&[]);
    let good = |index| row(index).to_string().into_bytes();
    let content = [good(1), b"\n".to_vec(), line.to_vec(), b"\r\n\n".to_vec(), good(2)].concat();
    place.write("tasks.jsonl", content);
    place
        .respool(&["run", "tasks.jsonl", "--out", "out"])
        .expect(1)
        .says("2 finished, 1 failed")
        .says("task 1");
    let failures = place.jsonl("out/failures.jsonl");
    let [failure] = failures.try_into().unwrap();
    assert!(Value::is_string(&failure["file"]));
    assert_eq!(failure["line"], 2, "{failure}");
    failure
}

#[track_caller]
fn check(line: impl AsRef<[u8]>, field: Option<&str>, reason: &str) {
    let failure = failure(line.as_ref());
    assert_eq!(failure["field"].as_str(), field, "{failure}");
    assert!(failure["reason"].as_str().unwrap().contains(reason), "{failure}");
}

#[test]
fn a_bad_row_says_what_is_wrong_and_costs_nobody_else() {
    let with = |key: &str, value: Value| {
        let mut row = row(3);
        row[key] = value;
        row.to_string()
    };
    check("{\"prompt\": [", None, "(column 12)");
    check("[1, 2]", None, "expected a JSON object");
    check(b"{\"task_id\": \"\xff\"}", None, "invalid UTF-8 at byte 14");
    check(row(1).to_string(), Some("task_id"), "lines 1 and 2");
    check(with("prompt", json!("How many?")), Some("prompt"), "expected a sequence");
    check(with("prompt", json!([])), Some("prompt"), "at least one message");
    check(
        with("prompt", json!([{"role": "robot", "content": "?"}])),
        Some("prompt[0].role"),
        "no role \"robot\"",
    );
    check(with("agent_name", json!("no_such_agent")), Some("agent_name"), "async_partial_tool_agent");
    check(with("extra_info", json!(7)), Some("extra_info"), "expected a JSON object");
    check(with("sampling", json!({"temprature": 1})), Some("sampling.temprature"), "unknown field");
    check(with("uid", json!("")), Some("uid"), "empty");
}

#[test]
fn a_rollout_that_fails_is_no_trajectory() {
    let mut no_answer = row(1);
    no_answer["extra_info"] = json!({});
    let place = Place::new(&[no_answer, row(2)]);
    place.respool(&["run", "tasks.jsonl", "--out", "out", "--n", "2"]).expect(1).says("generate 2");
    let failures = place.jsonl("out/failures.jsonl");
    assert_eq!(failures.len(), 2);
    assert_eq!(
        (&failures[0]["line"], &failures[0]["task_id"]),
        (&json!(1), &json!("1")),
        "named by its line"
    );
    assert_eq!(place.jsonl("out/trajectories.jsonl").len(), 2);
    // Neither is tried again, and neither is forgotten.
    place.respool(&["resume", "out"]).expect(1).says("2 finished, 2 failed");
    assert_eq!(place.jsonl("out/failures.jsonl").len(), 2);
}

#[test]
fn what_nobody_reads_is_counted_once() {
    let mut rows = [row(1), row(2)];
    for row in &mut rows {
        row["colour"] = "red".into();
        row["ability"] = "math".into();
        row["extra_info"]["tools_kwargs"] = json!({"search": {"create_kwargs": {"k": 1}}, "calculator": {}});
        row["extra_info"]["interaction_kwargs"] = json!({"query": "?"});
    }
    let place = Place::new(&rows);
    let mut with_mark = b"\xef\xbb\xbf".to_vec();
    with_mark.extend(crate::respool::lines(&rows).into_bytes());
    place.write("tasks.jsonl", with_mark);
    let ran = place
        .respool(&["run", "tasks.jsonl", "--out", "out"])
        .expect(0)
        .says("column `colour` (2 rows, first in line 1)")
        .says("tools_kwargs of `search`")
        .says("interaction_kwargs without a configured interaction (2 rows");
    assert_eq!(ran.stderr.matches("warning").count(), 3, "{ran:?}");
}

#[track_caller]
fn check_config(more: &str, error: &str) {
    let place = Place::new(&[row(1)]);
    place.write("respool.toml", format!("{CONFIG}{more}"));
    let ran = place.respool(&["run", "tasks.jsonl", "--out", "out"]).expect(2).says(error);
    assert!(ran.stderr.contains("respool.toml:"), "{ran:?}");
    assert!(!place.path("out").exists(), "nothing was begun");
}

#[test]
fn a_wrong_configuration_names_file_line_and_key() {
    check_config("[limits]\nresponse_lenght = 5\n", "respool.toml:9: limits.response_lenght: unknown field");
    check_config("[limits]\nmax_parallel_calls = 0\n", "respool.toml:9: limits.max_parallel_calls: ");
    check_config(
        "[sampling]\ntop_p = 1.5\n",
        "respool.toml:9: sampling.top_p: found 1.5, expected a number from 0 to 1",
    );
    check_config("[run]\nweight_sync_every = \"soon\"\n", "respool.toml:9: run.weight_sync_every: ");
    check_config("[tools.browser]\n", "respool.toml:8: tools.browser: unknown field");
    check_config("[limits\n", "respool.toml:8: ");
}

#[test]
fn wrong_arguments_are_told() {
    let place = Place::new(&[row(1)]);
    place.respool(&["run", "tasks.jsonl"]).expect(2).says("--out");
    place.respool(&["run", "nowhere.jsonl", "--out", "out"]).expect(2).says("nowhere.jsonl");
    place.respool(&["run", "tasks.jsonl", "--out", "out", "--n", "0"]).expect(2).says("--n");
    place.respool(&["run", "tasks.jsonl", "--out", "out", "--model", "nowhere"]).expect(2).says("nowhere");
    place.respool(&["run", "tasks.jsonl", "--out", "out", "--token-latency", "5"]).expect(2).says("5ms");
    place.write("respool.toml", "[run]\ndefault_agent_loop = \"robot\"\n");
    place.respool(&["run", "tasks.jsonl", "--out", "out"]).expect(2).says("expected one of");
    place.write("tasks.jsonl", "\n\n");
    place.write("respool.toml", "");
    place.respool(&["run", "tasks.jsonl", "--out", "out"]).expect(2).says("has no rows");
    assert!(!place.path("out").exists());
}
