//! Core messages as templates see them.

use minijinja::value::Value;
use respool_core::{Content, ContentPart, Message, Role, ToolCall, ToolSpec};

use crate::python::{self, Dict, List};

/// The fields in which a template takes reasoning: those of the known three that its source reads.
/// Where it reads none, reasoning is written into the content, as the model wrote it; but a template
/// that writes or cuts blocks of reasoning itself is left to it, and writes no other.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReasoningFields(Vec<&'static str>);

impl ReasoningFields {
    pub(crate) fn of(source: &str) -> Self {
        let known = ["reasoning_content", "thinking", "reasoning"];
        let mut read: Vec<_> = known.into_iter().filter(|name| reads_field(source, name)).collect();
        if read.is_empty() && source.contains("</think>") {
            read.push("reasoning_content");
        }
        Self(read)
    }

    /// Empty if reasoning belongs into the content.
    pub(crate) fn names(&self) -> &[&'static str] {
        &self.0
    }
}

/// Whether the source has `.name`, `'name'` or `"name"`.
fn reads_field(source: &str, name: &str) -> bool {
    source.match_indices(name).any(|(at, _)| {
        let before = source[..at].chars().next_back();
        let after = source[at + name.len()..].chars().next();
        matches!(before, Some('.' | '\'' | '"')) && !after.is_some_and(|c| c == '_' || c.is_alphanumeric())
    })
}

/// The tools as templates see them: Python's None where there are none.
pub(crate) fn tools(tools: &[ToolSpec]) -> Value {
    if tools.is_empty() {
        return Value::from(());
    }
    List::value(tools.iter().map(|tool| python::read(&tool.schema)).collect())
}

/// A message as a dictionary.
pub(crate) fn message(message: &Message, fields: &ReasoningFields) -> Value {
    let mut dict = Dict::of([("role", message.role.as_str().into()), ("content", content(message, fields))]);
    if let Some(reasoning) = message.reasoning.as_ref().filter(|_| message.role == Role::Assistant) {
        fields.0.iter().for_each(|field| dict.set(field, reasoning.as_str()));
    }
    if !message.tool_calls.is_empty() {
        dict.set("tool_calls", List::value(message.tool_calls.iter().map(tool_call).collect()));
    }
    if let Some(id) = &message.tool_call_id {
        dict.set("tool_call_id", id.as_str());
    }
    if let Some(name) = &message.name {
        dict.set("name", name.as_str());
    }
    dict.into_value()
}

fn tool_call(call: &ToolCall) -> Value {
    let function =
        Dict::of([("name", call.name.as_str().into()), ("arguments", python::read(&call.arguments))]);
    Dict::of([
        ("id", call.id.as_str().into()),
        ("type", "function".into()),
        ("function", function.into_value()),
    ])
    .into_value()
}

fn content(message: &Message, fields: &ReasoningFields) -> Value {
    match (&message.content, &message.reasoning) {
        (Content::Text(text), Some(reasoning)) if message.role == Role::Assistant && fields.0.is_empty() => {
            Value::from(format!("<think>\n{reasoning}\n</think>\n\n{text}"))
        }
        (Content::Text(text), _) => Value::from(text.as_str()),
        (Content::Parts(parts), _) => List::value(parts.iter().map(part).collect()),
    }
}

fn part(part: &ContentPart) -> Value {
    let (kind, field, text) = match part {
        ContentPart::Text(text) => ("text", "text", text),
        ContentPart::Image(url) => ("image", "image", url),
        ContentPart::Video(url) => ("video", "video", url),
        ContentPart::Audio(url) => ("audio", "audio", url),
    };
    Dict::of([("type", kind.into()), (field, text.as_str().into())]).into_value()
}
