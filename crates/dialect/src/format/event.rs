//! What a turn says, in order, and how it becomes a [`ParsedTurn`].

use std::ops::Range;

use respool_core::{ParsedCall, ParsedTurn};

/// A piece of a turn and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is.
    pub kind: EventKind,
    /// Where it was written: bytes of the turn's text, or tokens of the turn, as the reader says.
    pub span: Range<usize>,
}

/// The kinds of pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Text outside reasoning and calls. It may come in several pieces.
    Text(String),
    /// Reasoning, without its markers. It may come in several pieces.
    Reasoning(String),
    /// A reasoning block ends.
    ReasoningEnd,
    /// All text so far was reasoning: its end marker came without a start.
    TextWasReasoning,
    /// A call begins: the tool's name, and the model's id where the format has one.
    CallBegin {
        /// The tool's name.
        name: String,
        /// The id that the model wrote; empty where the format has none.
        id: String,
    },
    /// The arguments of the call that began: a JSON object, as the model wrote it where it wrote JSON.
    Arguments(String),
    /// The call that began is complete.
    CallEnd,
    /// A call with a name whose arguments are no object (R5).
    Wrong {
        /// The tool's name.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A call attempt that cannot be read.
    Malformed {
        /// What is wrong.
        reason: String,
        /// What the policy wrote.
        text: String,
    },
    /// The call that follows was readable only with the format's lenient option.
    Lenient,
}

/// A [`ParsedTurn`] in the making.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collected {
    turn: ParsedTurn,
    /// Reasoning of the block that is open.
    block: Option<String>,
    call: Option<respool_core::ToolCall>,
}

impl Collected {
    pub(crate) fn add(&mut self, event: EventKind) {
        match event {
            EventKind::Text(text) => self.turn.content.push_str(&text),
            EventKind::Reasoning(text) => self.block.get_or_insert_default().push_str(&text),
            EventKind::ReasoningEnd => {
                let block = self.block.take().unwrap_or_default();
                self.reasoning(&block);
            }
            EventKind::TextWasReasoning => {
                let block = std::mem::take(&mut self.turn.content);
                self.reasoning(&block);
            }
            EventKind::CallBegin { name, id } => {
                let slot = u32::try_from(self.turn.calls.len()).unwrap_or(u32::MAX);
                let arguments = respool_core::JsonText::empty_object();
                self.call = Some(respool_core::ToolCall { id, slot, name, arguments });
            }
            EventKind::Arguments(text) => {
                if let (Some(call), Ok(arguments)) = (&mut self.call, respool_core::JsonText::new(text)) {
                    call.arguments = arguments;
                }
            }
            EventKind::CallEnd => self.turn.calls.extend(self.call.take().map(ParsedCall::Call)),
            EventKind::Wrong { name, reason } => self.turn.calls.push(ParsedCall::Wrong { name, reason }),
            EventKind::Malformed { reason, text } => {
                self.turn.calls.push(ParsedCall::Malformed { reason, text });
            }
            EventKind::Lenient => {
                let slot = u32::try_from(self.turn.calls.len()).unwrap_or(u32::MAX);
                self.turn.lenient.push(slot);
            }
        }
    }

    fn reasoning(&mut self, block: &str) {
        let block = block.trim();
        match &mut self.turn.reasoning {
            Some(reasoning) => reasoning.extend(["\n", block]),
            None => self.turn.reasoning = Some(block.to_owned()),
        }
    }

    pub(crate) fn finish(mut self) -> ParsedTurn {
        self.turn.content = self.turn.content.trim().to_owned();
        self.turn
    }
}
