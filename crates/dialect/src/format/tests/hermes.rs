use super::*;

fn parse(text: &str, context: TurnContext, complete: bool) -> ParsedTurn {
    parse_as("hermes", text, context, complete)
}

fn done(text: &str) -> ParsedTurn {
    parse(text, TurnContext::default(), true)
}

#[track_caller]
fn check(text: &str, expected: &[&str], content: &str) {
    let turn = done(text);
    assert_eq!(calls(&turn), expected, "{text}");
    assert_eq!(turn.content, content, "{text}");
}

#[test]
fn reads_calls_wherever_they_stand() {
    let call = r#"<tool_call>{"name": "a", "arguments": {"i": 1}}</tool_call>"#;
    check(call, &[r#"a {"i": 1}"#], "");
    check(&format!("{call}{call}"), &[r#"a {"i": 1}"#, r#"a {"i": 1}"#], "");
    check(
        &format!("Hi 😀\n{call}\nand {call} bye "),
        &[r#"a {"i": 1}"#, r#"a {"i": 1}"#],
        "Hi 😀\n\nand  bye",
    );
    check("no call: <tool_cal> {}", &[], "no call: <tool_cal> {}");
}

#[test]
fn markers_in_texts_are_data() {
    let body = r#"{"name": "a", "arguments": {"t": "</tool_call> <tool_call> { \" \\"}}"#;
    check(
        &format!("<tool_call>\n{body}\n</tool_call>"),
        &[r#"a {"t": "</tool_call> <tool_call> { \" \\"}"#],
        "",
    );
    let turn = done("<tool_call>{\"name\": \"a\", \"arguments\": {\"t\": \"<think>\"}}</tool_call>");
    assert_eq!((turn.calls.len(), turn.reasoning), (1, None));
}

#[test]
fn keeps_arguments_as_written() {
    let arguments = r#"{"z":1,  "a" : 123456789012345678901234567890, "e": "\ud83d\ude00 é", "f": 1.50}"#;
    check(
        &format!(r#"<tool_call>{{"arguments": {arguments}, "name": "a"}}</tool_call>"#),
        &[&format!("a {arguments}")],
        "",
    );
}

#[test]
fn judges_arguments_by_the_rule() {
    let call = |arguments: &str| format!(r#"<tool_call>{{"name": "a"{arguments}}}</tool_call>"#);
    check(&call(""), &["a {}"], "");
    check(&call(r#", "arguments": null"#), &["a {}"], "");
    check(&call(r#", "arguments": "{\"x\": 1}""#), &[r#"a {"x": 1}"#], "");
    check(&call(r#", "arguments": {"x": 1}, "arguments": {"x": 2}"#), &[r#"a {"x": 2}"#], "");
    for wrong in ["[1]", "3", "true", r#""text""#, r#""[1]""#, r#""\"{}\"""#] {
        check(&call(&format!(r#", "arguments": {wrong}"#)), &["!a"], "");
    }
}

#[test]
fn malformed_calls_are_reported_one_by_one() {
    let good = r#"<tool_call>{"name": "b", "arguments": {}}</tool_call>"#;
    for bad in [
        r#"{"name": "a", "arguments": {"x": }}"#,
        r#"{'name': 'a'}"#,
        r#"{"name": "a", "arguments": {"x": True}}"#,
        "{\"name\": \"a\", \"arguments\": {\"x\": \"1\n2\"}}",
        r#"{"arguments": {}}"#,
        r#"{"name": 7}"#,
        r#"{"name": ""}"#,
        r#"{"name": "a", "arguments": {}} }"#,
        r#"{"name": "a", "arguments": {}} and so on"#,
        r#"{"name": "a", "arguments": {"x": 01}}"#,
        r#"{"name": "a"#,
        "[1, 2]",
        "\"hi\"",
        "null",
        "",
        "  ",
    ] {
        check(&format!("<tool_call>{bad}</tool_call>\n{good}"), &["?", "b {}"], "");
        check(&format!("{good}<tool_call>{bad}</tool_call>"), &["b {}", "?"], "");
    }
}

#[test]
fn an_unclosed_call_counts_if_the_turn_stopped() {
    let open = r#"Checking. <tool_call>{"name": "a", "arguments": {}}"#;
    check(open, &["a {}"], "Checking.");
    let cut = |text: &str| calls(&parse(text, TurnContext::default(), false));
    assert_eq!(cut(open), ["?"]);
    assert_eq!(cut(r#"<tool_call>{"name": "a", "argum"#), ["?"]);
    check(r#"<tool_call>{"name": "a", "argum"#, &["?"], "");
    check(&format!("{open}\n<tool_call>{{\"name\": \"b\"}}"), &["a {}", "b {}"], "Checking.");
}

#[test]
fn reasoning_is_not_searched() {
    let draft = r#"<tool_call>{"name": "draft"}</tool_call>"#;
    let call = r#"<tool_call>{"name": "a"}</tool_call>"#;
    let turn = done(&format!("<think>\nmaybe {draft}\n</think>\nSo: {call}"));
    assert_eq!((calls(&turn), turn.content.as_str()), (vec!["a {}".to_owned()], "So:"));
    assert_eq!(turn.reasoning, Some(format!("maybe {draft}")));
    let opened = TurnContext { reasoning_open: true, ..TurnContext::default() };
    let turn = parse(&format!("maybe {draft}</think>{call}"), opened, true);
    assert_eq!((calls(&turn), turn.reasoning), (vec!["a {}".to_owned()], Some(format!("maybe {draft}"))));
    let turn = done(&format!("<think>\nmaybe {draft}"));
    assert_eq!((calls(&turn), turn.content.as_str()), (vec![], ""));
    let turn = done("First.</think>Then.");
    assert_eq!((turn.content.as_str(), turn.reasoning.as_deref()), ("Then.", Some("First.")));
}
