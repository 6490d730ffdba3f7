//! The table of formats in `docs/dialects.md` says what is true.

#![expect(clippy::expect_used, reason = "a page that does not have what it should is a failed test")]

use respool_core::{JsonText, ParsedCall, Replay, SessionPolicy, ToolSpec};
use respool_dialect::{TurnContext, parse, tool_format, tool_format_names};

fn tool() -> ToolSpec {
    let schema = r#"{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object",
        "properties": {"word": {"type": "string"}}}}}"#;
    ToolSpec {
        name: "look_up".to_owned(),
        schema: JsonText::new(schema).expect("JSON"),
        replay: Replay::Pure,
        session: SessionPolicy::Stateless,
    }
}

/// The first row that begins so: its third cell as the model would write it.
fn example(page: &str, format: &str) -> String {
    let row = page.lines().find(|line| line.starts_with(&format!("| `{format}` |"))).expect("a row");
    let cell = row.replace("\\|", "\u{1}").split('|').nth(3).expect("three cells").replace('\u{1}', "|");
    // The code span ends with the last backtick before a comma or the end; some examples have backticks.
    let code = cell.trim().split("`, ").next().and_then(|code| code.split("`: ").next()).expect("code");
    code.trim_start_matches('`').trim_end_matches('`').replace('⏎', "\n")
}

#[test]
fn every_format_has_a_row_and_reads_its_example() {
    let page = include_str!("../../../docs/dialects.md");
    for name in tool_format_names() {
        let context = TurnContext { tools: [tool()].into(), ..TurnContext::default() };
        let text = example(page, name);
        let turn = parse(tool_format(name).expect("a known name"), &text, context, true);
        let [ParsedCall::Call(call)] = turn.calls.as_slice() else { panic!("{name}: {text:?}: {turn:?}") };
        assert_eq!(call.name, "look_up", "{name}");
        let arguments: serde_json::Value = serde_json::from_str(call.arguments.as_str()).expect("JSON");
        assert_eq!(arguments, serde_json::json!({"word": "ox"}), "{name}");
    }
}
