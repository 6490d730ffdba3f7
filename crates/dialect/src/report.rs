//! What a template does to continuations, found at load on small chats.

use respool_core::{Chat, Continuation, Dialect as _, JsonText, Message, TemplateChange, Token, ToolSpec};

use crate::continuation::Next;
use crate::dialect::HfDialect;
use crate::sample;

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

impl ContinuationReport {
    pub(crate) fn of(dialect: &HfDialect) -> Self {
        Self {
            tool: Continues::of(dialect, &[sample::tool()], &sample::call_turn(), &sample::result()),
            user: Continues::of(dialect, &[], &sample::answer(), &sample::next_question()),
        }
    }
}

impl HfDialect {
    /// The token with which a policy ends a turn that the template ends with `written`.
    fn sampled_stop(&self, written: Token) -> Token {
        let stops = self.stop_tokens();
        let first = stops.first().copied().unwrap_or(written);
        if stops.contains(&written) { written } else { first }
    }
}

impl Continues {
    /// Tries the chat with and without a system message, and with and without reasoning.
    fn of(dialect: &HfDialect, tools: &[ToolSpec], turn: &Message, new: &Message) -> Self {
        let mut found = None;
        for (with_system, with_reasoning) in [(false, false), (true, false), (false, true)] {
            if with_reasoning && dialect.fields.names().is_empty() {
                continue;
            }
            let reasoning = with_reasoning.then(|| sample::REASONING.to_owned());
            let turn = Message { reasoning, ..turn.clone() };
            let system = with_system.then(sample::system);
            let messages: Vec<_> = system.into_iter().chain([sample::question(), turn]).collect();
            let chat = Chat { messages: &messages, tools, template_args: &JsonText::empty_object() };
            let new_messages = std::slice::from_ref(new);
            let next = Continuation { chat, new_messages, last_token: None };
            let tried = dialect.with_next(&next, |next| {
                let stop = dialect.encode_in_context(next)?.tokens.first().copied();
                let last_token = stop.map(|stop| dialect.sampled_stop(stop));
                dialect.encode_in_context(&Next { last_token, scene: next.scene, turns: next.turns.clone() })
            });
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
