//! What a template does to continuations, found at load on small chats.

use minijinja::value::Value;
use respool_core::{JsonText, TemplateChange};

use crate::continuation::{Next, Turns};
use crate::dialect::HfDialect;
use crate::python::{self, Dict, List};

/// How a template takes new messages after a sampled turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContinuationReport {
    /// Tool results.
    pub tool: Continues,
    /// A user message.
    pub user: Continues,
}

/// How a template takes one kind of new messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Continues {
    /// It leaves earlier text as it was.
    #[default]
    AppendOnly,
    /// It would now write earlier text differently. The suffix is appended all the same.
    NotAppendOnly {
        /// What it changed in the chat that was tried.
        changes: Vec<TemplateChange>,
    },
    /// It refuses these messages, or what it writes after the turn cannot be told. Needing such a
    /// continuation is an error.
    Cannot {
        /// Why.
        reason: String,
    },
}

const TOOLS: &str = r#"[{"type": "function", "function": {"name": "look_up", "description": "Looks a word up.",
 "parameters": {"type": "object", "properties": {"word": {"type": "string", "description": "The word."}},
 "required": ["word"]}}}]"#;

impl ContinuationReport {
    pub(crate) fn of(dialect: &HfDialect) -> Self {
        let user = || message("user", "And the next one?");
        Self {
            tool: Continues::of(dialect, json(TOOLS), &call_turn(), &tool_result()),
            user: Continues::of(dialect, Value::from(()), &message("assistant", "Here it is."), &user()),
        }
    }
}

impl Continues {
    /// Tries the chat with and without a system message, and with and without reasoning.
    fn of(dialect: &HfDialect, tools: Value, turn: &Dict, new: &Dict) -> Self {
        let stop = respool_core::Dialect::stop_tokens(dialect).first().copied();
        let Ok(scene) = dialect.scene(tools, &JsonText::empty_object()) else { return Self::default() };
        let mut found = None;
        for (with_system, with_reasoning) in [(false, false), (true, false), (false, true)] {
            let system = with_system.then(|| message("system", "Be brief."));
            let chat = system.into_iter().chain([message("user", "Look it up.")]);
            let mut turn = turn.clone();
            if with_reasoning && !dialect.fields.set(&mut turn, "It is a noun.") {
                continue;
            }
            let turns = Turns {
                prefix: chat.map(Dict::into_value).collect(),
                turn: Some(turn.into_value()),
                new: vec![new.clone().into_value()],
            };
            let tried = dialect.encode_next(&Next { scene: &scene, turns, last_token: stop });
            let tried = match tried {
                Ok(encoded) if encoded.changes.is_empty() => Self::AppendOnly,
                Ok(encoded) => Self::NotAppendOnly { changes: encoded.changes },
                Err(error) => Self::Cannot { reason: error.message },
            };
            found = Some(Self::worse(found, tried));
        }
        found.unwrap_or_default()
    }

    /// A chat that works shows that the template can continue; one with changes, that it may change.
    fn worse(before: Option<Self>, now: Self) -> Self {
        match (before, now) {
            (None | Some(Self::Cannot { .. }), now) => now,
            (Some(Self::AppendOnly), changes @ Self::NotAppendOnly { .. }) => changes,
            (Some(before), _) => before,
        }
    }
}

fn message(role: &str, content: &str) -> Dict {
    Dict::of([("role", role.into()), ("content", content.into())])
}

fn call_turn() -> Dict {
    let calls = r#"[{"id": "call00001", "type": "function",
 "function": {"name": "look_up", "arguments": {"word": "ox"}}}]"#;
    let mut turn = message("assistant", "");
    turn.set("tool_calls", json(calls));
    turn
}

fn tool_result() -> Dict {
    let mut result = message("tool", "an animal");
    result.set("tool_call_id", "call00001");
    result.set("name", "look_up");
    result
}

fn json(text: &str) -> Value {
    JsonText::new(text).map_or_else(|_| List::value(Vec::new()), |json| python::read(&json))
}
