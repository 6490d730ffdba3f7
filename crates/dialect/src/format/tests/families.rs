use super::*;

#[track_caller]
fn check(format: &str, text: &str, expected: &[&str], content: &str) {
    let turn = parse_as(format, text, TurnContext::default(), true);
    assert_eq!(calls(&turn), expected, "{format}: {text}");
    assert_eq!(turn.content, content, "{format}: {text}");
}

#[test]
fn mistral_has_three_forms() {
    let form = |text: &str, expected: &[&str]| check("mistral", text, expected, "");
    form(
        r#"[TOOL_CALLS] [{"name": "a", "arguments": {"x": "]"}}, {"name": "b"}]"#,
        &[r#"a {"x": "]"}"#, "b {}"],
    );
    form(r#"[TOOL_CALLS]a[ARGS]{"x": 1}[TOOL_CALLS]b[ARGS]{}"#, &[r#"a {"x": 1}"#, "b {}"]);
    form(r#"[TOOL_CALLS]a{"x": 1}"#, &[r#"a {"x": 1}"#]);
    form("[TOOL_CALLS]a[ARGS]", &["a {}"]);
    form("[TOOL_CALLS]a b c", &["?"]);
    let turn =
        parse_as("mistral", r#"[TOOL_CALLS]a[CALL_ID]abcdefghi[ARGS]{"x": 1}"#, TurnContext::default(), true);
    assert!(matches!(&turn.calls[..], [ParsedCall::Call(call)] if call.id == "abcdefghi"));
}

#[test]
fn deepseek_writes_a_fence_or_none() {
    let begin = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>";
    let end = "<｜tool▁call▁end｜><｜tool▁calls▁end｜>";
    let fenced = format!("Hm.{begin}function<｜tool▁sep｜>a\n```json\n{{\"t\": \"```\"}}\n```{end}");
    check("deepseek_v3", &fenced, &[r#"a {"t": "```"}"#], "Hm.");
    check("deepseek_v3", &format!("{begin}function<｜tool▁sep｜>a{{}}{end}"), &["a {}"], "");
    check("deepseek_v3_1", &format!("{begin}a<｜tool▁sep｜>{{\"x\": 1}}{end}"), &[r#"a {"x": 1}"#], "");
    check("deepseek_v3_1", &format!("{begin}a<｜tool▁sep｜>[1]{end}"), &["!a"], "");
    check("deepseek_v3_1", &format!("{begin}a<｜tool▁sep｜>null{end}"), &["a {}"], "");
    check("deepseek_v3_1", &format!("{begin}a{end}"), &["?"], "");
}

#[test]
fn harmony_sorts_messages_by_channel_and_recipient() {
    let call = "<|channel|>commentary to=functions.a <|constrain|>json<|message|>{\"x\": 1}<|call|>";
    check("gpt_oss", call, &[r#"a {"x": 1}"#], "");
    check("gpt_oss", " to=functions.a<|channel|>commentary json<|message|>{}", &["a {}"], "");
    let turn = "<|channel|>analysis<|message|>to=functions.rm<|end|><|start|>assistant";
    let read = parse_as("gpt_oss", &format!("{turn}{call}"), TurnContext::default(), true);
    assert_eq!(
        (calls(&read), read.reasoning.as_deref()),
        (vec![r#"a {"x": 1}"#.to_owned()], Some("to=functions.rm"))
    );
    let answer = "<|start|>assistant<|channel|>final<|message|>Done.";
    check("gpt_oss", &format!("<|channel|>analysis<|message|>hm<|end|>{answer}"), &[], "Done.");
    check("gpt_oss", "<|channel|>commentary to=functions.a", &["?"], "");
    let cut = parse_as(
        "gpt_oss",
        "<|channel|>commentary to=functions.a<|message|>{}",
        TurnContext::default(),
        false,
    );
    assert_eq!(calls(&cut), ["?"]);
}

#[test]
fn tags_hold_any_text() {
    let block = |value: &str| {
        format!("<tool_call>\n<function=f>\n<parameter=k>\n{value}\n</parameter>\n</function>\n</tool_call>")
    };
    for value in ["</tool_call>", "</function>", "<tool_call>", "<function=g>", "a\n\n", "  b", "é\"'\\"] {
        let expected = format!("f {{\"k\": {}}}", serde_json::Value::from(value));
        check("qwen3_coder", &block(value), &[&expected], "");
        check("qwen3_coder", &format!("{0}\n{0}", block(value)), &[&expected, &expected], "");
    }
    check("qwen3_coder", "<function=f>\n</function>", &["f {}"], "");
    check(
        "qwen3_coder",
        "<tool_call>\n<function=f>\n<parameter=k>\n1\n</function>\n</tool_call>",
        &[r#"f {"k": "1"}"#],
        "",
    );
    check("qwen3_coder", "<tool_call>{\"name\": \"f\"}</tool_call>", &["?"], "");
    let invokes = "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"k\">v</parameter>\n</invoke>\n<invoke name=\"g\">\n</invoke>\n</minimax:tool_call>";
    check("minimax_m2", invokes, &[r#"f {"k": "v"}"#, "g {}"], "");
    check(
        "glm4_5",
        "<tool_call>f\n<arg_key>k</arg_key>\n<arg_value></tool_call></arg_value>\n</tool_call>",
        &[r#"f {"k": "</tool_call>"}"#],
        "",
    );
}

#[test]
fn values_have_the_types_of_the_schema() {
    let typed = |value: &str| {
        let types = serde_json::json!({"k": {"type": ["integer", "null"]}});
        let context = TurnContext { tools: vec![tool("f", &types)].into(), ..TurnContext::default() };
        let text = format!("<tool_call>f<arg_key>k</arg_key><arg_value>{value}</arg_value></tool_call>");
        calls(&parse_as("glm4_7", &text, context, true))
    };
    assert_eq!(typed("123456789012345678901234567890"), [r#"f {"k": 123456789012345678901234567890}"#]);
    assert_eq!(typed("null"), [r#"f {"k": null}"#]);
    assert_eq!(typed("abc"), [r#"f {"k": "abc"}"#]);
}

#[test]
fn calls_without_markers_are_told_from_text() {
    check(
        "llama3_json",
        r#"{"name": "a", "parameters": {}}; {"name": "b", "arguments": {}}"#,
        &["a {}", "b {}"],
        "",
    );
    check("llama3_json", r#"{"name": "Ada", "age": 36}"#, &[], r#"{"name": "Ada", "age": 36}"#);
    check("llama3_json", "<|python_tag|>print(1)", &["?"], "");
    check("pythonic", "[1] says so", &[], "[1] says so");
    check(
        "pythonic",
        "[a(x='it\\'s', y=(1, -.5), z=\"b\" 'c'), b()]",
        &[r#"a {"x": "it's", "y": [1, -0.5], "z": "bc"}"#, "b {}"],
        "",
    );
    for refused in
        ["[a(1)]", "[a(x=1, x=2)]", "[a(x=b)]", "[a(x=007)]", "[a(x=true)]", "[a(x='\\u12')]", "[a(x=1]"]
    {
        check("pythonic", refused, &["?"], "");
    }
    check("plain_json", r#"[{"name": "a", "arguments": {}}, {"x": 1}]"#, &["a {}", "?"], "");
    check("plain_json", "Here: [1]", &[], "Here: [1]");
}

#[test]
fn lenient_reading_is_told() {
    let options = ReadOptions { lenient_literals: true, ..ReadOptions::default() };
    let context = || TurnContext { options, ..TurnContext::default() };
    for (format, text) in [
        ("hermes", "<tool_call>{'name': 'a', 'arguments': {'x': True, 'y': 'l\nm'}}</tool_call>"),
        ("pythonic", "[a(x=true, y='l\nm')]"),
        (
            "kimi_k2",
            "<|tool_call_begin|>a<|tool_call_argument_begin|>{'x': True, 'y': 'l\nm'}<|tool_call_end|>",
        ),
    ] {
        let turn = parse_as(format, text, context(), true);
        assert_eq!((calls(&turn), turn.lenient), (vec![r#"a {"x": true, "y": "l\nm"}"#.to_owned()], vec![0]));
        assert_eq!(calls(&parse_as(format, text, TurnContext::default(), true)), ["?"]);
    }
}

#[test]
fn calls_in_reasoning_count_only_when_asked_for() {
    let text = "<think>so <tool_call>{\"name\": \"a\"}</tool_call> then</think>";
    let options = ReadOptions { calls_in_reasoning: true, ..ReadOptions::default() };
    assert!(parse_as("hermes", text, TurnContext::default(), true).calls.is_empty());
    let turn = parse_as("hermes", text, TurnContext { options, ..TurnContext::default() }, true);
    assert_eq!((calls(&turn), turn.reasoning.as_deref()), (vec!["a {}".to_owned()], Some("so  then")));
}

#[test]
fn a_marker_that_is_one_token_counts_only_as_that_token() {
    let context =
        TurnContext { single_tokens: vec!["<tool_call>".to_owned()].into(), ..TurnContext::default() };
    let mut parser = TurnParser::new(of("hermes"), context);
    let mut events = parser.push("<tool_call> spelled ");
    events.extend(parser.push_marker("<tool_call>"));
    events.extend(parser.push("{\"name\": \"a\"}</tool_call>"));
    events.extend(parser.finish(true));
    assert_eq!(events[0].kind, EventKind::Text("<tool_call> spelled ".to_owned()));
    assert_eq!((events.len(), events[1].span.clone()), (4, 20..56));
}
