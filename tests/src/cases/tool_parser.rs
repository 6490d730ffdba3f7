//! The area `tool_parser`: the calls that a turn's text holds.

use respool_core::{Dialect as _, JsonText, Replay, SessionPolicy, Token, ToolSpec};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::expected::{Expected, Found};
use super::{Case, Checked};
use crate::item;
use crate::report::Verdict;
use crate::stub::Vocabulary;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    text: String,
    finish_reason: Option<String>,
    #[serde(default)]
    reasoning_opened_by_prompt: bool,
    /// Whether every way of feeding the text is to be tried; the ways are words for people.
    #[serde(default)]
    stream: Option<IgnoredAny>,
    format: String,
    /// Schemas, where types matter.
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Debug, Deserialize)]
struct Tool {
    name: String,
    parameters: Box<RawValue>,
}

impl Tool {
    fn spec(&self) -> Result<ToolSpec, Verdict> {
        let name = serde_json::Value::from(self.name.as_str());
        let schema = format!(
            r#"{{"type": "function", "function": {{"name": {name}, "parameters": {}}}}}"#,
            self.parameters
        );
        let schema = JsonText::new(schema).map_err(|error| Verdict::NotUnderstood(error.to_string()))?;
        let (replay, session) = (Replay::default(), SessionPolicy::default());
        Ok(ToolSpec { name: self.name.clone(), schema, replay, session })
    }
}

/// Checks one case.
pub(super) fn check(case: &Case) -> Checked {
    let input: Input = item::parse(case.input.get())?;
    let expected: Expected = item::parse(case.expected.get())?;
    let complete = match input.finish_reason.as_deref() {
        None | Some("stop" | "tool_calls") => true,
        Some("length") => false,
        Some(other) => return Err(Verdict::NotUnderstood(format!("input.finish_reason: {other:?}"))),
    };
    let mut vocabulary = Vocabulary::default();
    let before =
        if input.reasoning_opened_by_prompt { vec![vocabulary.token(b"<think>\n")] } else { Vec::new() };
    let turns: Vec<(String, Vec<Token>)> = ways(&input)
        .into_iter()
        .map(|(way, pieces)| (way, pieces.iter().map(|piece| vocabulary.token(piece)).collect()))
        .collect();
    let tools = input.tools.iter().map(Tool::spec).collect::<Result<Vec<_>, _>>()?;
    let dialect = vocabulary.dialect_of(&input.format)?;
    for (way, turn) in turns {
        let read = dialect.parse_turn(&before, &turn, &tools, complete);
        expected.check(&Found::from(&read)).map_err(|verdict| in_way(&way, verdict))?;
    }
    Ok(())
}

/// The ways of cutting the text into tokens: whole; and for streams by character, by byte, and at
/// every place in two.
fn ways(input: &Input) -> Vec<(String, Vec<&[u8]>)> {
    let text = input.text.as_bytes();
    let mut ways = vec![("whole".to_owned(), vec![text])];
    if input.stream.is_some() {
        let characters = input.text.char_indices().map(|(at, letter)| &text[at..at + letter.len_utf8()]);
        ways.push(("by character".to_owned(), characters.collect()));
        ways.push(("by byte".to_owned(), text.chunks(1).collect()));
        ways.extend((1..text.len()).map(|at| {
            let (head, tail) = text.split_at(at);
            (format!("cut at byte {at}"), vec![head, tail])
        }));
    }
    ways
}

fn in_way(way: &str, verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Fail(what) => Verdict::Fail(format!("{way}: {what}")),
        other => other,
    }
}
