//! Continuations that need no rendering: where a template is found to append constant text around
//! the contents whatever came before, that text is put together here, and its constant parts were
//! tokenized once. `docs/decisions/0006-continuation-shortcut.md` says why that may be.

use std::collections::HashMap;

use aho_corasick::AhoCorasick;
use respool_core::{Content, Continuation, Encoded, Message, Role, Token};

use crate::dialect::HfDialect;
use crate::ordinary::is_ordinary;

/// Longest content for which templates are tried, in bytes.
pub(crate) const LONGEST: usize = 16 << 10;

/// The kind of a continuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// Role of the new messages.
    pub(crate) role: Role,
    pub(crate) with_tools: bool,
}

/// What a template appends in one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) case: Case,
    /// The token with which the template ends the turn.
    pub(crate) stop: String,
    /// Before the first content.
    pub(crate) open: String,
    /// Between two contents.
    pub(crate) between: String,
    /// After the last.
    pub(crate) close: String,
    /// Ids of the text between control tokens, where no content is in it.
    pub(crate) known: HashMap<String, Vec<Token>>,
}

/// The cases of a template that need no rendering.
#[derive(Debug, Default)]
pub(crate) struct Shortcuts {
    pub(crate) frames: Vec<Frame>,
    /// Finds the texts that the template may look for. `None`: no case was found.
    pub(crate) watched: Option<AhoCorasick>,
}

impl Case {
    fn of(next: &Continuation<'_>) -> Option<Self> {
        let role = next.new_messages.first()?.role;
        Some(Self { role, with_tools: !next.chat.tools.is_empty() })
    }
}

impl Shortcuts {
    /// Exactly what rendering in context gives, or `None` where only that can tell.
    pub(crate) fn encode(&self, dialect: &HfDialect, next: &Continuation<'_>) -> Option<Encoded> {
        let case = Case::of(next)?;
        let frame = self.frames.iter().find(|frame| frame.case == case)?;
        if !is_ordinary(next) || self.is_watched(next) {
            return None;
        }
        frame.encode(dialect, next)
    }

    /// Whether a text that the template may look for is anywhere in the chat.
    fn is_watched(&self, next: &Continuation<'_>) -> bool {
        let Some(watched) = &self.watched else { return true };
        let messages = next.chat.messages.iter().chain(next.new_messages);
        messages.flat_map(texts).any(|text| watched.is_match(text))
            || next.chat.tools.iter().any(|tool| watched.is_match(tool.schema.as_str()))
    }
}

/// Everything of a message that a template sees. A call's id and a result's name repeat what a call
/// has, or what we gave it.
fn texts(message: &Message) -> impl Iterator<Item = &str> {
    let calls = message.tool_calls.iter().flat_map(|call| [call.name.as_str(), call.arguments.as_str()]);
    let named = [content(message), message.reasoning.as_deref(), message.name.as_deref()];
    named.into_iter().flatten().chain(calls)
}

fn content(message: &Message) -> Option<&str> {
    match &message.content {
        Content::Text(text) => Some(text),
        Content::Parts(_) => None,
    }
}

impl Frame {
    fn encode(&self, dialect: &HfDialect, next: &Continuation<'_>) -> Option<Encoded> {
        let mut text = String::new();
        if !self.is_ended(dialect, next.last_token)? {
            text.push_str(&self.stop);
        }
        text.push_str(&self.open);
        for (index, message) in next.new_messages.iter().enumerate() {
            let content = content(message).filter(|content| content.len() <= LONGEST)?;
            if dialect.vocabulary.controls().find(content, 0).is_some() {
                return None;
            }
            text.push_str(if index > 0 { &self.between } else { "" });
            text.push_str(content);
        }
        text.push_str(&self.close);
        // A failing tokenizer is reported by the other way.
        let tokens = dialect.vocabulary.encode_pieces(&text, &self.known).ok()?;
        Some(Encoded { tokens, changes: Vec::new() })
    }

    /// Whether the turn's last token ends it (R13); `None` if it is another one than the template's.
    fn is_ended(&self, dialect: &HfDialect, last: Option<Token>) -> Option<bool> {
        let Some(last) = last.filter(|last| dialect.ends_turn(*last, &self.stop)) else { return Some(false) };
        (dialect.vocabulary.bytes_of(last) == self.stop.as_bytes()).then_some(true)
    }
}
