//! A small chat on which templates are tried.

use respool_core::{JsonText, Message, Replay, Role, SessionPolicy, ToolCall, ToolSpec};

/// The argument of the call.
pub(crate) const WORD: &str = "ox";
pub(crate) const REASONING: &str = "It is a noun.";

pub(crate) const SYSTEM: &str = "Be brief.";
pub(crate) const ANSWER: &str = "Here it is.";
pub(crate) const QUESTION: &str = "Look it up.";

pub(crate) fn system() -> Message {
    Message::new(Role::System, SYSTEM)
}

pub(crate) fn question() -> Message {
    Message::new(Role::User, QUESTION)
}

pub(crate) fn next_question() -> Message {
    Message::new(Role::User, "And the next one?")
}

pub(crate) fn answer() -> Message {
    Message::new(Role::Assistant, ANSWER)
}

pub(crate) fn call() -> ToolCall {
    let arguments = json(&format!(r#"{{"word": "{WORD}"}}"#));
    ToolCall { id: "call00001".to_owned(), slot: 0, name: "look_up".to_owned(), arguments }
}

pub(crate) fn call_turn() -> Message {
    Message { tool_calls: vec![call()], ..Message::new(Role::Assistant, "") }
}

/// What the call gave.
pub(crate) fn result() -> Message {
    let ToolCall { id, name, .. } = call();
    Message { tool_call_id: Some(id), name: Some(name), ..Message::new(Role::Tool, "an animal") }
}

pub(crate) fn tool() -> ToolSpec {
    let schema = r#"{"type": "function", "function": {"name": "look_up", "description": "Looks a word up.",
 "parameters": {"type": "object", "properties": {"word": {"type": "string", "description": "The word."}},
 "required": ["word"]}}}"#;
    ToolSpec {
        name: "look_up".to_owned(),
        schema: json(schema),
        replay: Replay::Pure,
        session: SessionPolicy::Stateless,
    }
}

/// All texts here are valid; a test sees to it.
fn json(text: &str) -> JsonText {
    JsonText::new(text).unwrap_or_else(|_| JsonText::empty_object())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_are_json() {
        assert!(call().arguments.as_str().contains("ox") && tool().schema.as_str().contains("look_up"));
    }
}
