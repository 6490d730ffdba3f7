//! The phase of a rollout, with the data that only this phase needs.

use crate::{EffectId, Finish, InteractReply, Replay, ToolCall, ToolResult};

/// The phase of a rollout.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentState {
    /// The first chat is to be rendered and tokenized.
    Pending,
    /// An assistant turn is being sampled.
    Generating {
        /// Attempts at this turn that ended before it.
        attempt: u32,
        /// How many of the last attempts failed in a row without a new token.
        fruitless: u32,
        /// Transcript length where the turn began.
        turn_start: u32,
        /// Transcript length where this attempt began.
        attempt_start: u32,
    },
    /// The calls of a turn are being run; when all have returned, their messages are encoded.
    ProcessingTools {
        /// One for each call that is answered, in call order.
        slots: Vec<ToolSlot>,
    },
    /// The interaction is asked for a reply; when it is there, its message is encoded.
    Interacting {
        /// Attempts that failed or were cut.
        attempt: u32,
        /// How many of the last attempts failed in a row.
        fruitless: u32,
        /// The reply, once it is there.
        reply: Option<InteractReply>,
    },
    /// It is over.
    Terminated(Finish),
}

impl AgentState {
    /// The state's name: `pending`, `generating`, `processing_tools`, `interacting`, `terminated`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Generating { .. } => "generating",
            Self::ProcessingTools { .. } => "processing_tools",
            Self::Interacting { .. } => "interacting",
            Self::Terminated(_) => "terminated",
        }
    }
}

/// One call of a turn, and how far it is.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSlot {
    /// The call. For a malformed one the name is empty and the arguments are `{}`.
    pub call: ToolCall,
    /// Whether a tool service answers it; false for calls that are answered without one (unread,
    /// wrong arguments, over the limit).
    pub runs: bool,
    /// What running it again means.
    pub replay: Replay,
    /// How far it is.
    pub progress: SlotProgress,
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq)]
pub enum SlotProgress {
    /// It is to be run.
    Ready {
        /// Attempts that were cut.
        attempt: u32,
    },
    /// A `once` call is on record as started; it may be running, or may have run.
    Started {
        /// As in `Ready`.
        attempt: u32,
    },
    /// It has its one result.
    Returned(ToolResult),
}

impl ToolSlot {
    /// The effect that it wants or that is on record as started; `None` once it has returned.
    #[must_use]
    pub const fn effect(&self, turn: u32) -> Option<EffectId> {
        match self.progress {
            SlotProgress::Ready { attempt } | SlotProgress::Started { attempt } => {
                Some(EffectId { turn, slot: self.call.slot, attempt })
            }
            SlotProgress::Returned(_) => None,
        }
    }

    /// Whether it has its result.
    #[must_use]
    pub const fn has_returned(&self) -> bool {
        matches!(self.progress, SlotProgress::Returned(_))
    }
}
