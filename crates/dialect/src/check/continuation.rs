//! What a check tells about text after a sampled turn (R8).

use respool_core::{Chat, Continuation, Dialect as _, JsonText, Message, Token, ToolSpec};
use serde::Serialize;

use crate::continuation::Next;
use crate::dialect::HfDialect;
use crate::report::{ContinuationReport, Continues};
use crate::sample;

/// What is appended after a sampled turn.
#[derive(Clone, Debug, Serialize)]
pub struct ContinuationCheck {
    /// For tool results.
    pub tool: NewMessages,
    /// For a user message.
    pub user: NewMessages,
}

/// What is appended for one kind of new messages.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NewMessages {
    /// It can be told.
    Appended {
        /// The token with which the template ends the turn.
        stop: String,
        /// What it writes between that token and the next one that is no text: the turn separator.
        separator: String,
        /// Everything after the stop token, for a short message.
        text: String,
        /// What it would now write otherwise in earlier text: what stays, and what it would write.
        changes: Vec<[String; 2]>,
        /// What the reference appends.
        reference: Reference,
    },
    /// It cannot: rollouts that need it end with an error.
    Cannot {
        /// Why.
        reason: String,
    },
}

/// What `continuation = "reference"` appends after the stop token, as `compat = "verl"` does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reference {
    /// The same.
    Same,
    /// Something else.
    Other {
        /// What.
        text: String,
    },
    /// It does not work with this template.
    Cannot {
        /// Why.
        reason: String,
    },
}

impl ContinuationCheck {
    pub(super) fn of(dialect: &HfDialect) -> Self {
        let report = ContinuationReport::of(dialect);
        let tools = [sample::tool()];
        Self {
            tool: NewMessages::of(dialect, report.tool, &tools, sample::call_turn(), &sample::result()),
            user: NewMessages::of(dialect, report.user, &[], sample::answer(), &sample::next_question()),
        }
    }
}

impl NewMessages {
    fn of(
        dialect: &HfDialect,
        continues: Continues,
        tools: &[ToolSpec],
        turn: Message,
        new: &Message,
    ) -> Self {
        let changes = match continues {
            Continues::Cannot { reason } => return Self::Cannot { reason },
            Continues::AppendOnly => Vec::new(),
            Continues::NotAppendOnly { changes } => {
                changes.into_iter().map(|change| [change.kept, change.template]).collect()
            }
        };
        let messages = [sample::question(), turn];
        let chat = Chat { messages: &messages, tools, template_args: &JsonText::empty_object() };
        let new_messages = std::slice::from_ref(new);
        let next = Continuation { chat, new_messages, last_token: None };
        let tried = dialect.with_next(&next, |next| {
            let ours = dialect.encode_in_context(next)?.tokens;
            Ok((ours, Reference::tokens(dialect, next)))
        });
        let (ours, theirs) = match tried {
            Ok(tried) => tried,
            Err(error) => return Self::Cannot { reason: error.message },
        };
        let Some((stop, after)) = ours.split_first() else {
            return Self::Cannot { reason: "nothing is appended".to_owned() };
        };
        let separator = after.iter().take_while(|id| !dialect.is_control(**id)).copied().collect::<Vec<_>>();
        Self::Appended {
            stop: dialect.decode(&[*stop]),
            separator: dialect.decode(&separator),
            text: dialect.decode(after),
            changes,
            reference: Reference::of(dialect, after, theirs),
        }
    }
}

impl Reference {
    fn tokens(dialect: &HfDialect, next: &Next<'_>) -> Result<Vec<Token>, String> {
        let prefix = dialect.measure_reference_prefix().map_err(|error| error.to_string())?;
        dialect.encode_alone(next, prefix).map(|encoded| encoded.tokens).map_err(|error| error.message)
    }

    fn of(dialect: &HfDialect, ours: &[Token], theirs: Result<Vec<Token>, String>) -> Self {
        match theirs {
            Ok(theirs) if theirs == ours => Self::Same,
            Ok(theirs) => Self::Other { text: dialect.decode(&theirs) },
            Err(reason) => Self::Cannot { reason },
        }
    }
}
