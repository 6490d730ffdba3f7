//! What the fuzz targets of the tool-call formats share.

use respool_core::{JsonText, ParsedTurn, Replay, SessionPolicy, ToolSpec};
use respool_dialect::{
    Event, EventKind, ReadOptions, ToolFormat, TurnContext, TurnParser, parse, tool_format,
};
use respool_testkit::read_slowly;

/// Reads a turn whole, letter by letter, and in pieces with a saved state between them, and by the
/// slow reader: all must find the same. The first byte says what is known beside the text.
pub fn turn(format: &str, input: &[u8]) {
    let Some((&flags, text)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let format = tool_format(format).expect("a target is named after its format");
    let is_set = |bit: u32| flags >> bit & 1 == 1;
    let options = ReadOptions { calls_in_reasoning: is_set(1), lenient_literals: is_set(2) };
    let context = TurnContext {
        reasoning_open: is_set(0),
        tools: [tool()].into(),
        options,
        ..TurnContext::default()
    };
    let complete = is_set(3);
    let whole = parse(format, text, context.clone(), complete);
    assert_eq!(whole, read_slowly(format, text, &context, complete));
    let events = in_pieces(format, text, &context, complete, text.len().max(1));
    assert_eq!(events, in_pieces(format, text, &context, complete, 1));
    assert_eq!(events, in_pieces(format, text, &context, complete, usize::from(flags >> 4) + 2));
    assert_eq!(calls(&events), whole.calls.len());
    readable_arguments(&whole);
}

/// The events of a text that comes in pieces of `size` letters, saved and restored after each.
fn in_pieces(
    format: &'static dyn ToolFormat,
    text: &str,
    context: &TurnContext,
    complete: bool,
    size: usize,
) -> Vec<Event> {
    let mut parser = TurnParser::new(format, context.clone());
    let mut events = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let cut = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(cut);
        parser.push(piece).into_iter().for_each(|event| add(&mut events, event));
        rest = after;
        let state = parser.to_bytes();
        parser = TurnParser::restore(format, context.clone(), &state).expect("a state just saved");
    }
    parser.finish(complete).into_iter().for_each(|event| add(&mut events, event));
    events
}

/// Adds an event, and joins text to text: how it was cut is no matter.
fn add(events: &mut Vec<Event>, event: Event) {
    if let Some(last) = events.last_mut().filter(|last| last.span.end == event.span.start) {
        match (&mut last.kind, &event.kind) {
            (EventKind::Text(last_text), EventKind::Text(text))
            | (EventKind::Reasoning(last_text), EventKind::Reasoning(text)) => {
                last_text.push_str(text);
                last.span.end = event.span.end;
                return;
            }
            _ => {}
        }
    }
    events.push(event);
}

fn calls(events: &[Event]) -> usize {
    let is_call = |event: &&Event| {
        matches!(event.kind, EventKind::CallEnd | EventKind::Wrong { .. } | EventKind::Malformed { .. })
    };
    events.iter().filter(is_call).count()
}

/// The arguments of a call are an object, whatever was written.
fn readable_arguments(turn: &ParsedTurn) {
    for call in &turn.calls {
        if let respool_core::ParsedCall::Call(call) = call {
            assert!(call.arguments.as_str().trim_start().starts_with('{'), "{call:?}");
        }
    }
}

/// A tool with a parameter of every type: formats that write plain text need to know it.
fn tool() -> ToolSpec {
    let schema = r#"{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
        "properties": {"k": {"type": "integer"}, "s": {"type": "string"}, "b": {"type": "boolean"},
        "l": {"type": "array"}, "o": {"type": "object"}, "x": {"type": "number"}}}}}"#;
    ToolSpec {
        name: "f".to_owned(),
        schema: JsonText::new(schema).expect("valid"),
        replay: Replay::Pure,
        session: SessionPolicy::Stateless,
    }
}
