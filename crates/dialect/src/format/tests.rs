use proptest::prelude::*;
use respool_core::{JsonText, ParsedCall, ParsedTurn, Replay, SessionPolicy, ToolCall, ToolSpec};

use super::event::Collected;
use super::*;

mod families;
mod hermes;

fn of(name: &str) -> &'static dyn ToolFormat {
    tool_format(name).expect("a known format")
}

fn parse_as(name: &str, text: &str, context: TurnContext, complete: bool) -> ParsedTurn {
    parse(of(name), text, context, complete)
}

/// Calls as `name arguments`, `!name` for a wrong one, `?` for a malformed one.
fn calls(turn: &ParsedTurn) -> Vec<String> {
    turn.calls
        .iter()
        .map(|call| match call {
            ParsedCall::Call(call) => format!("{} {}", call.name, call.arguments),
            ParsedCall::Wrong { name, .. } => format!("!{name}"),
            ParsedCall::Malformed { .. } => "?".to_owned(),
        })
        .collect()
}

fn tool(name: &str, properties: &serde_json::Value) -> ToolSpec {
    let schema = serde_json::json!({"type": "function", "function": {"name": name,
        "parameters": {"type": "object", "properties": properties}}});
    ToolSpec {
        name: name.to_owned(),
        schema: JsonText::new(schema.to_string()).expect("valid"),
        replay: Replay::Pure,
        session: SessionPolicy::Stateless,
    }
}

/// Every marker of every format, and the letters that calls are made of.
fn piece() -> impl Strategy<Value = String> {
    let markers: Vec<String> = FORMATS
        .iter()
        .flat_map(|format| {
            let reasoning = format.reasoning().unwrap_or_default();
            [format.openers(), format.silent(), format.other_markers(), &reasoning].concat()
        })
        .chain([
            "<parameter=k>",
            "</parameter>",
            "</function>",
            "<function=f>",
            "</tool_call>",
            "<arg_value>",
            "</arg_value>",
            "<invoke name=\"f\">",
            "</invoke>",
            "<parameter name=\"k\">",
            "<|call|>",
            "<|end|>",
            "commentary to=functions.f ",
            "{\"name\": \"a\"",
            ", \"arguments\": {}",
            "}",
            "[",
            "]",
            "\"",
            "\\",
            "[f(x='a', y=[1, {}])]",
            "'",
            "(",
            ")",
            "\n",
            " ",
            "```json\n",
            "```",
            "f",
            "é",
            "😀",
            "{}",
            ";",
        ])
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
        .collect();
    prop_oneof![4 => proptest::sample::select(markers), 1 => any::<String>()]
}

fn texts() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 0..14).prop_map(|pieces| pieces.concat())
}

/// The events of a text fed in pieces that end at `cuts`, saved and restored at each of them.
fn in_pieces(
    format: &'static dyn ToolFormat,
    text: &str,
    cuts: &[usize],
    context: &TurnContext,
    complete: bool,
) -> Vec<Event> {
    let mut parser = TurnParser::new(format, context.clone());
    let mut events = Vec::new();
    let mut from = 0;
    for cut in cuts.iter().copied().filter(|cut| text.is_char_boundary(*cut)).chain([text.len()]) {
        if cut < from {
            continue;
        }
        events.extend(parser.push(&text[from..cut]));
        from = cut;
        parser = TurnParser::restore(format, context.clone(), &parser.to_bytes()).expect("what was saved");
    }
    events.extend(parser.finish(complete));
    events
}

fn joined(events: &[Event]) -> Vec<Event> {
    let mut out: Vec<Event> = Vec::new();
    for event in events {
        match (out.last_mut().map(|last| (&mut last.kind, &mut last.span)), &event.kind) {
            (Some((EventKind::Text(last), span)), EventKind::Text(text)) if span.end == event.span.start => {
                last.push_str(text);
                span.end = event.span.end;
            }
            (Some((EventKind::Reasoning(last), span)), EventKind::Reasoning(text))
                if span.end == event.span.start =>
            {
                last.push_str(text);
                span.end = event.span.end;
            }
            _ => out.push(event.clone()),
        }
    }
    out
}

proptest! {
    /// Any way of cutting gives the events of the whole, also through saved bytes; and whatever comes,
    /// every call has an object of arguments and its own place.
    #[test]
    fn cutting_does_not_matter(
        index in 0..FORMATS.len(), text in texts(), mut cuts in proptest::collection::vec(0usize..200, 0..12),
        reasoning_open: bool, complete: bool, lenient_literals: bool, calls_in_reasoning: bool,
    ) {
        let format = FORMATS[index];
        cuts.sort_unstable();
        let options = ReadOptions { calls_in_reasoning, lenient_literals };
        let tools = vec![tool("f", &serde_json::json!({"k": {"type": "integer"}}))].into();
        let context = TurnContext { reasoning_open, tools, options, ..TurnContext::default() };
        let cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= text.len()).collect();
        let whole = in_pieces(format, &text, &[], &context, complete);
        let pieces = in_pieces(format, &text, &cuts, &context, complete);
        prop_assert_eq!(joined(&whole), joined(&pieces));
        let letters: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        prop_assert_eq!(joined(&whole), joined(&in_pieces(format, &text, &letters, &context, complete)));
        let mut turn = Collected::default();
        let mut at = 0;
        for event in whole {
            prop_assert!(at <= event.span.end && event.span.end <= text.len());
            at = event.span.end;
            turn.add(event.kind);
        }
        for (slot, call) in turn.finish().calls.iter().enumerate() {
            if let ParsedCall::Call(call) = call {
                prop_assert_eq!(call.slot as usize, slot);
                prop_assert!(call.arguments.is_object() && !call.name.is_empty());
            }
        }
    }

    /// What a format writes it reads back, or it says that it cannot write it.
    #[test]
    fn reads_back_what_it_writes(index in 0..FORMATS.len(), values in proptest::collection::vec(arguments(), 1..4)) {
        let format = FORMATS[index];
        let calls: Vec<ToolCall> = values.into_iter().zip(0..).map(|(arguments, slot)| {
            let id = if format.name() == "kimi_k2" { format!("functions.look_up:{slot}") } else { String::new() };
            ToolCall { id, slot, name: "look_up".to_owned(), arguments }
        }).collect();
        let types = serde_json::json!({"s": {"type": "string"}, "i": {"type": "integer"}, "o": {"type": "object"},
            "l": {"type": "array"}, "b": {"type": "boolean"}});
        let tools = [tool("look_up", &types)];
        if let Ok(text) = format.write(&calls, &tools) {
            let context = TurnContext { tools: tools.into(), ..TurnContext::default() };
            let turn = parse(format, &text, context, true);
            prop_assert_eq!(&turn.content, "");
            let read: Vec<_> = turn.calls.into_iter().map(|call| match call {
                ParsedCall::Call(call) => Ok((call.id, call.name, value(&call.arguments))),
                other => Err(other),
            }).collect();
            let expected: Vec<_> = calls.into_iter().map(|call| Ok((call.id, call.name, value(&call.arguments)))).collect();
            prop_assert_eq!(read, expected, "{}", text);
        }
    }

    /// Saved bytes that were damaged are refused, or the parser goes on without a panic.
    #[test]
    fn damaged_states_do_no_harm(
        index in 0..FORMATS.len(), text in texts(), more in texts(), at in 0usize..200, byte: u8,
    ) {
        let mut parser = TurnParser::new(FORMATS[index], TurnContext::default());
        parser.push(&text);
        let mut bytes = parser.to_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(mut parser) = TurnParser::restore(FORMATS[index], TurnContext::default(), &bytes) {
            parser.push(&more);
            parser.finish(true);
        }
    }
}

fn value(json: &JsonText) -> serde_json::Value {
    serde_json::from_str(json.as_str()).expect("checked JSON")
}

fn arguments() -> impl Strategy<Value = JsonText> {
    let text = prop_oneof![
        any::<String>(),
        texts(),
        Just("007".to_owned()),
        Just("null".to_owned()),
        "[a-z<>/ \n\"']{0,12}"
    ];
    let json = |value: serde_json::Value| JsonText::new(value.to_string()).expect("valid");
    let nested = (text.clone(), any::<i64>())
        .prop_map(|(text, number)| serde_json::json!({"t": text, "n": [number, {}, null, 1.5e300]}));
    prop_oneof![
        Just(JsonText::empty_object()),
        (text, any::<i64>(), nested, any::<bool>()).prop_map(move |(s, i, o, b)| {
            json(serde_json::json!({"s": s, "i": i, "o": o.clone(), "l": [o], "b": b}))
        }),
    ]
}

/// Time grows with the text: a megabyte of anything stays far below what a quadratic reader needs.
#[test]
fn hostile_texts_take_linear_time() {
    for format in FORMATS {
        let mut units: Vec<String> =
            vec!["{\"a\":", "[", "\"", "<", "{\"name\":\"a\"}", "\"\\", "[f(x=", "{'a':", " "]
                .into_iter()
                .map(str::to_owned)
                .collect();
        let reasoning = format.reasoning().unwrap_or_default();
        let inner = [
            "",
            "{\"",
            "[",
            "\"",
            "{\"name\": \"a\"}",
            "<parameter=a>",
            "\n<parameter=a>",
            "f<arg_key>a</arg_key>",
            "<arg_value>",
            "</tool_call>",
            "f[ARGS]{",
            "<function=f>\n<parameter=a>\n",
            "<parameter name=\"a\">",
            "<invoke name=\"f\">",
            "<|message|>",
            " to=functions.f<|channel|>",
        ];
        for marker in [format.openers(), format.silent(), format.other_markers(), &reasoning].concat() {
            units.extend(inner.iter().map(|inner| format!("{marker}{inner}")));
        }
        let first = format.openers().first().copied().unwrap_or_default();
        for unit in units {
            let body = unit.repeat((1 << 17) / unit.len().max(1));
            for text in [body.clone(), format!("{first}{body}"), format!("{first}{{\"name\": \"{body}")] {
                let turn = parse(format, &text, TurnContext::default(), true);
                assert!(turn.content.len() <= text.len());
            }
        }
    }
}
