//! The Hermes format: `<tool_call>` around `{"name": …, "arguments": {…}}`, reasoning in `<think>`.
//!
//! ```
//! use respool_dialect::hermes;
//! let turn = hermes::parse(r#"Let me see. <tool_call>{"name": "now"}</tool_call>"#, Default::default());
//! assert_eq!(turn.content, "Let me see.");
//! assert_eq!(turn.calls.len(), 1);
//! ```

use respool_core::{ParsedCall, ParsedTurn, ToolCall};

use super::{ToolFormat, TurnContext, json_call};

/// The Hermes format.
#[derive(Clone, Copy, Debug)]
pub struct Hermes;

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";
const THINK: &str = "<think>";
const THOUGHT: &str = "</think>";

impl ToolFormat for Hermes {
    fn name(&self) -> &'static str {
        "hermes"
    }

    fn parse(&self, text: &str, context: TurnContext) -> ParsedTurn {
        parse(text, context)
    }

    fn write(&self, call: &ToolCall) -> String {
        write(call)
    }

    fn reasoning_start(&self) -> &'static str {
        THINK
    }
}

/// The text that a model writes for a call.
#[must_use]
pub fn write(call: &ToolCall) -> String {
    let name = serde_json::Value::from(call.name.as_str());
    format!("{OPEN}\n{{\"name\": {name}, \"arguments\": {}}}\n{CLOSE}", call.arguments)
}

/// Reads a turn's text, stop tokens removed. Total, and linear in the text.
///
/// Text inside a reasoning block is never searched for calls. A block that does not end takes the
/// rest of the turn.
#[must_use]
pub fn parse(text: &str, context: TurnContext) -> ParsedTurn {
    let mut reader = Reader { rest: text, complete: context.complete, turn: ParsedTurn::default() };
    if context.reasoning_open {
        reader.reasoning();
    }
    while let Some((at, marker)) = reader.next_marker() {
        reader.turn.content.push_str(&reader.rest[..at]);
        reader.rest = &reader.rest[at + marker.len()..];
        match marker {
            OPEN => reader.call(),
            THINK => reader.reasoning(),
            _ => reader.stray_thought(),
        }
    }
    reader.turn.content.push_str(reader.rest);
    reader.turn.content = reader.turn.content.trim().to_owned();
    reader.turn
}

struct Reader<'a> {
    rest: &'a str,
    complete: bool,
    turn: ParsedTurn,
}

impl<'a> Reader<'a> {
    /// Where the next call or reasoning marker is.
    fn next_marker(&self) -> Option<(usize, &'static str)> {
        let mut from = 0;
        loop {
            let at = from + self.rest[from..].find('<')?;
            let found = [OPEN, THINK, THOUGHT].into_iter().find(|marker| self.rest[at..].starts_with(marker));
            if let Some(marker) = found {
                return Some((at, marker));
            }
            from = at + 1;
        }
    }

    /// Takes a reasoning block whose start marker is behind us.
    fn reasoning(&mut self) {
        let (block, rest) = self.rest.split_once(THOUGHT).unwrap_or((self.rest, ""));
        self.rest = rest;
        self.add_reasoning(block);
    }

    /// An end marker without a start: if no call came before, all before it was reasoning.
    fn stray_thought(&mut self) {
        if self.turn.calls.is_empty() && self.turn.reasoning.is_none() {
            let block = std::mem::take(&mut self.turn.content);
            self.add_reasoning(&block);
        }
    }

    fn add_reasoning(&mut self, block: &str) {
        let block = block.trim();
        match &mut self.turn.reasoning {
            Some(reasoning) => reasoning.extend(["\n", block]),
            None => self.turn.reasoning = Some(block.to_owned()),
        }
    }

    /// Takes a call whose start marker is behind us. The end marker counts only after the JSON
    /// value, so it may stand in a text of it.
    fn call(&mut self) {
        let slot = u32::try_from(self.turn.calls.len()).unwrap_or(u32::MAX);
        let call = match json_call::first_value(self.rest) {
            Ok((json, end)) => {
                let after = self.rest[end..].trim_start();
                if let Some(rest) = after.strip_prefix(CLOSE) {
                    self.rest = rest;
                    json_call::read(json, slot)
                } else if after.starts_with(OPEN) || (after.is_empty() && self.complete) {
                    self.rest = after;
                    json_call::read(json, slot)
                } else if after.is_empty() {
                    self.rest = after;
                    malformed("the turn was cut before the tool call's end".to_owned(), json)
                } else {
                    let (junk, rest) = until_close(&self.rest[end..]);
                    let text = &self.rest[..end + junk];
                    self.rest = rest;
                    malformed("there is text between the JSON object and </tool_call>".to_owned(), text)
                }
            }
            Err(error) => {
                let (len, rest) = until_close(self.rest);
                let text = &self.rest[..len];
                self.rest = rest;
                malformed(format!("the tool call is not valid JSON: {error}"), text)
            }
        };
        self.turn.calls.push(call);
    }
}

fn malformed(reason: String, text: &str) -> ParsedCall {
    ParsedCall::Malformed { reason, text: text.trim().to_owned() }
}

/// Length of a body that cannot be read, and what follows it: it ends at the first end marker, at
/// the next start marker, or with the text.
fn until_close(text: &str) -> (usize, &str) {
    let mut from = 0;
    while let Some(at) = text[from..].find('<').map(|at| from + at) {
        if let Some(rest) = text[at..].strip_prefix(CLOSE) {
            return (at, rest);
        }
        if text[at..].starts_with(OPEN) {
            return (at, &text[at..]);
        }
        from = at + 1;
    }
    (text.len(), "")
}

#[cfg(test)]
mod tests;
