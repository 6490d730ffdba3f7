use proptest::prelude::*;
use respool_core::Role;
use serde_json::json;

use super::*;

fn read(text: &str) -> TaskFile {
    TaskFile::of_bytes(Path::new("tasks.jsonl"), text.as_bytes(), None)
}

fn prompt() -> serde_json::Value {
    json!([{"role": "user", "content": "?"}])
}

#[track_caller]
fn check_id(row: serde_json::Value, expected: &str) {
    let mut row = row;
    row["prompt"] = prompt();
    let file = read(&format!("\n{row}"));
    assert_eq!(file.tasks.first().map(|task| (task.id.as_str(), task.line)), Some((expected, 2)), "{file:?}");
}

#[test]
fn a_task_is_named_by_the_row_or_its_place() {
    check_id(json!({"task_id": "a", "uid": "b"}), "a");
    check_id(json!({"task_id": null, "uid": 7}), "7");
    check_id(json!({"data_source": "s", "extra_info": {"split": "test", "index": 3}}), "s/test/3");
    check_id(json!({"data_source": "s", "extra_info": {"split": "test", "index": "x"}}), "s/test/x");
    check_id(json!({"data_source": "s", "extra_info": {"index": 3}}), "2");
    check_id(json!({}), "2");
}

#[test]
fn columns_keep_what_is_written() {
    let row = r#"{"prompt": [{"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"b": 12345678901234567890123, "a": 1.0}}}]}, {"role": "tool", "content": [{"type": "text", "text": "x"}], "tool_call_id": "1"}], "reward_model": {"ground_truth": [1,  2]}, "extra_info": {"z": 1,  "a": 2, "answer": "x", "tools_kwargs": {"f": {"create_kwargs": {"k":  1}}, "g": null}}}"#;
    let file = read(row);
    let row = &file.tasks[0].row;
    assert_eq!(
        row.messages[0].tool_calls[0].arguments.as_str(),
        r#"{"b": 12345678901234567890123, "a": 1.0}"#
    );
    assert_eq!(row.messages[1].role, Role::Tool);
    assert_eq!(row.ground_truth.as_ref().map(respool_core::JsonText::as_str), Some("[1,  2]"));
    assert!(row.extra_info.as_str().starts_with(r#"{"z": 1,  "a": 2"#));
    assert_eq!(row.tools_kwargs["f"].as_str(), r#"{"k":  1}"#);
    assert_eq!(row.tools_kwargs["g"].as_str(), "{}");
    assert_eq!(row.answer.as_deref(), Some("x"));
}

#[test]
fn the_limit_counts_rows() {
    let row = json!({"prompt": prompt()});
    let file = TaskFile::of_bytes(Path::new("x"), format!("{row}\n\n{row}\n{row}\n").as_bytes(), Some(2));
    assert_eq!(file.tasks.iter().map(|task| task.line).collect::<Vec<_>>(), [1, 3]);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let file = TaskFile::of_bytes(Path::new("x"), &bytes, None);
        let lines = bytes.split(|byte| *byte == b'\n').count();
        prop_assert!(file.tasks.len() + file.bad.len() <= lines);
    }

    #[test]
    fn every_row_is_a_task_or_bad(values in prop::collection::vec("[a-z0-9{}\\[\\]\":, ]{1,20}", 1..10)) {
        let text: String = values.iter().map(|value| format!("{{\"prompt\": {value}}}\n")).collect();
        let file = read(&text);
        prop_assert_eq!(file.tasks.len() + file.bad.len(), values.len());
    }
}
