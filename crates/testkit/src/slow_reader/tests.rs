use proptest::prelude::*;
use respool_core::{JsonText, Replay, SessionPolicy, ToolSpec};
use respool_dialect::{Framing, ReadOptions, parse, tool_format, tool_format_names};

use super::*;

const LETTERS: [&str; 32] = [
    "{\"name\": \"f\"",
    ", \"arguments\": {\"k\": 1}",
    "}",
    "{",
    "[",
    "]",
    "(",
    ")",
    "\"",
    "'",
    "\\",
    ",",
    ":",
    ";",
    "\n",
    " ",
    "f",
    "k",
    "é",
    "😀",
    "7",
    "[f(k='a')]",
    "<parameter=k>",
    "</parameter>",
    "</function>",
    "<parameter name=\"k\">",
    "</invoke>",
    "<arg_value>",
    "</arg_value>",
    "```json\n",
    "functions.f:0",
    "<",
];

fn piece(format: &'static dyn ToolFormat) -> impl Strategy<Value = String> {
    let reasoning = format.reasoning().into_iter().flatten();
    let markers = [format.openers(), format.silent(), format.other_markers(), ends(format)].concat();
    let pieces: Vec<_> = markers.into_iter().chain(reasoning).chain(LETTERS).collect();
    prop_oneof![8 => proptest::sample::select(pieces).prop_map(str::to_owned), 1 => any::<String>()]
}

/// The markers that end a call.
fn ends(format: &'static dyn ToolFormat) -> &'static [&'static str] {
    let opener = if format.openers().is_empty() { None } else { Some(0) };
    match format.framing(opener) {
        Framing::Value(value) => value.close,
        Framing::Tagged { close, .. } | Framing::Message { close, .. } => close,
    }
}

fn turn() -> impl Strategy<Value = (&'static dyn ToolFormat, String)> {
    let names: Vec<_> = tool_format_names().collect();
    proptest::sample::select(names).prop_flat_map(|name| {
        let format = tool_format(name).expect("a name from the list");
        let text = proptest::collection::vec(piece(format), 0..20).prop_map(|pieces| pieces.concat());
        (Just(format), text)
    })
}

fn tool() -> ToolSpec {
    let schema = r#"{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
        "properties": {"k": {"type": "integer"}}}}}"#;
    ToolSpec {
        name: "f".to_owned(),
        schema: JsonText::new(schema).expect("valid"),
        replay: Replay::Pure,
        session: SessionPolicy::Stateless,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn the_fast_reader_finds_what_the_slow_one_does(
        (format, text) in turn(), reasoning_open: bool, complete: bool, calls_in_reasoning: bool, lenient_literals: bool,
    ) {
        let options = ReadOptions { calls_in_reasoning, lenient_literals };
        let context = TurnContext { reasoning_open, tools: [tool()].into(), options, ..TurnContext::default() };
        let slow = read_slowly(format, &text, &context, complete);
        prop_assert_eq!(parse(format, &text, context, complete), slow, "{} {:?}", format.name(), text);
    }
}
