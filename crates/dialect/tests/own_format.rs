//! The example of a format of one's own, and what every format has to hold.

#[expect(dead_code, reason = "its main is not run here")]
#[path = "../examples/own_format.rs"]
mod own_format;

use std::sync::Arc;

use own_format::Lines;
use proptest::prelude::*;
use respool_core::{Dialect as _, JsonText, ParsedCall, ToolCall};
use respool_dialect::{
    Clock, DialectOptions, Event, EventKind, HfDialect, ToolFormat as _, TurnContext, TurnParser, parse,
};

fn options() -> DialectOptions {
    DialectOptions { own_format: Some(&Lines), ..DialectOptions::new(Clock::from_unix_seconds(0)) }
}

fn turns() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(">> ".to_owned()),
        Just("f ".to_owned()),
        Just("{\"k\": \">> é\"}".to_owned()),
        Just("\n".to_owned()),
        Just("<think>".to_owned()),
        Just("</think>".to_owned()),
        any::<String>(),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// The texts that are no calls, and how many calls there are.
fn shown(events: Vec<Event>) -> (String, usize) {
    events.into_iter().fold((String::new(), 0), |(mut text, calls), event| match event.kind {
        EventKind::Text(piece) | EventKind::Reasoning(piece) => {
            text.push_str(&piece);
            (text, calls)
        }
        EventKind::CallEnd | EventKind::Wrong { .. } | EventKind::Malformed { .. } => (text, calls + 1),
        _ => (text, calls),
    })
}

proptest! {
    #[test]
    fn how_a_turn_is_cut_does_not_matter(text in turns(), complete: bool) {
        let read = |pieces: &mut dyn Iterator<Item = &str>| {
            let mut parser = TurnParser::new(&Lines, TurnContext::default());
            let mut events: Vec<_> = pieces.flat_map(|piece| parser.push(piece)).collect();
            events.extend(parser.finish(complete));
            shown(events)
        };
        let letters = text.split("").filter(|letter| !letter.is_empty());
        prop_assert_eq!(read(&mut letters.into_iter()), read(&mut [text.as_str()].into_iter()));
    }

    #[test]
    fn what_it_writes_it_reads(word: String, number: i64) {
        let arguments = serde_json::json!({"word": word, "n": number}).to_string();
        let arguments = JsonText::new(arguments).expect("JSON");
        let call = ToolCall { id: String::new(), slot: 0, name: "look_up".to_owned(), arguments };
        let text = Lines.write(std::slice::from_ref(&call), &[]).expect("one line");
        let turn = parse(&Lines, &text, TurnContext::default(), true);
        prop_assert_eq!(turn.calls, vec![ParsedCall::Call(call)]);
    }
}

#[test]
fn a_dialect_takes_it_and_its_name_counts() {
    let own = HfDialect::embedded(options()).expect("a dialect");
    let builtin = HfDialect::embedded(DialectOptions { own_format: None, ..options() }).expect("a dialect");
    assert_eq!(own.tool_format().name(), "lines-1");
    assert_ne!(own.fingerprint(), builtin.fingerprint());
    let call = |name: &str| ToolCall {
        id: String::new(),
        slot: 0,
        name: name.to_owned(),
        arguments: JsonText::empty_object(),
    };
    let text = own.write_turn("See:", &[call("a"), call("b")], &Arc::default()).expect("a turn");
    let turn = own.encode_text(&text).expect("ids");
    let parsed = own.parse_turn(&[], &turn, &[], true);
    assert_eq!((parsed.content.as_str(), parsed.calls.len()), ("See:", 2));
}
