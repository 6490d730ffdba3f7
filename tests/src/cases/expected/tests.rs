use respool_core::JsonText;

use super::*;

fn call(name: &str, arguments: &str) -> ParsedCall {
    let arguments = JsonText::new(arguments).expect("json");
    ParsedCall::Call(ToolCall { id: "call_0".to_owned(), slot: 0, name: name.to_owned(), arguments })
}

fn malformed() -> ParsedCall {
    ParsedCall::Malformed { reason: "no object".to_owned(), text: "7".to_owned() }
}

/// What the checker says: `pass`, `FAIL` or `?`.
#[track_caller]
fn check(expected: &str, calls: Vec<ParsedCall>, verdict: &str) {
    let expected: Expected = serde_json::from_str(expected).expect("expected");
    let turn = ParsedTurn { content: " Hi ".to_owned(), reasoning: None, calls, ..ParsedTurn::default() };
    let found = match expected.check(&Found::from(&turn)) {
        Ok(()) => "pass",
        Err(Verdict::Fail(_)) => "FAIL",
        Err(_) => "?",
    };
    assert_eq!(found, verdict);
}

#[test]
fn only_what_is_given_counts() {
    check(r#"{}"#, vec![call("a", "{}")], "pass");
    check(r#"{"calls": [], "content": "Hi"}"#, vec![malformed()], "pass");
    check(r#"{"calls": [], "malformed": 0}"#, vec![malformed()], "FAIL");
    check(r#"{"content": "Ho"}"#, vec![], "FAIL");
}

#[test]
fn calls_are_compared_in_order_by_value() {
    let expected = r#"{"calls": [{"name": "a", "arguments": {"x": 9007199254740993, "y": "é"}}]}"#;
    check(expected, vec![call("a", r#"{"y": "\u00e9", "x": 9007199254740993}"#)], "pass");
    check(expected, vec![call("a", r#"{"y": "é", "x": 9007199254740992}"#)], "FAIL");
    check(expected, vec![call("b", r#"{"y": "é", "x": 9007199254740993}"#)], "FAIL");
    check(r#"{"calls": [{"name": "a", "arguments_key_order": ["y", "x"]}]}"#, vec![call("a", "{}")], "FAIL");
    check(r#"{"calls": [{"name": "a", "id": "7"}]}"#, vec![call("a", "{}")], "FAIL");
}

#[test]
fn other_results_may_pass_too() {
    let expected = r#"{"calls": [], "malformed": 1, "also_acceptable": [{"calls": [{"name": "a"}]}]}"#;
    check(expected, vec![malformed()], "pass");
    check(expected, vec![call("a", "{}")], "pass");
    check(expected, vec![], "FAIL");
}

#[test]
fn words_forbid_what_they_name() {
    let open = |words: &str| format!(r#"{{"calls": [{{"name": "a"}}], "must_not": ["{words}"]}}"#);
    check(&open("a call named a"), vec![call("a", "{}")], "FAIL");
    check(&open("a call with empty arguments"), vec![call("a", "{}")], "FAIL");
    check(&open("1e29"), vec![call("a", r#"{"x": 1e29}"#)], "FAIL");
    check(&open("a value that is not nice"), vec![call("a", "{}")], "?");
    let exact = r#"{"calls": [], "must_not": ["a value that is not nice"]}"#;
    check(exact, vec![], "pass");
}
