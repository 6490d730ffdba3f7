//! What can happen to a rollout: the engine's only input.

use crate::{
    Class, DialectError, EffectId, Encoded, Fault, GenerateDelta, InteractReply, PolicyVersion, ToolResult,
};

/// Why a generation ended, as the server tells it (R3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GenerateFinish {
    /// A stop token or stop string.
    Stop,
    /// The request's token budget is used up.
    Length,
    /// An abort that was asked for: through the request, or by whoever manages the servers (a weight
    /// sync). An abort that nobody asked for is a [`Event::GenerateFailed`].
    Abort,
    /// The server found the model repeating itself.
    Repetition,
    /// The server refused the request because the context is full.
    ContextLength,
    /// A reason that we do not know; its name.
    Other(String),
}

/// A stretch of one attempt's tokens with the version that sampled it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionSpan {
    /// Offset in the attempt's tokens.
    pub start: u32,
    /// Number of tokens.
    pub len: u32,
    /// The version that sampled them.
    pub version: PolicyVersion,
}

/// Something happened. One that does not fit the rollout's state is rejected and changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Messages were rendered and tokenized (the first chat, or what continues a turn).
    Encoded {
        /// The effect that asked for it.
        effect: EffectId,
        /// The tokens.
        encoded: Encoded,
    },
    /// The dialect refused the messages. The rollout fails.
    EncodeFailed {
        /// The effect that asked for it.
        effect: EffectId,
        /// Why.
        error: DialectError,
    },
    /// Sampled tokens arrived.
    Sampled {
        /// The generation.
        effect: EffectId,
        /// Transcript length at which they continue; any other place is rejected.
        at: u32,
        /// The tokens.
        delta: GenerateDelta,
    },
    /// The generation ended as the server says.
    GenerateEnded {
        /// The generation.
        effect: EffectId,
        /// Why.
        finish: GenerateFinish,
    },
    /// The generation broke. What arrived is kept.
    GenerateFailed {
        /// The generation.
        effect: EffectId,
        /// Why.
        fault: Fault,
    },
    /// The server tells which version sampled which tokens of an attempt; it wins over the label
    /// noted before sending. Also fits after the turn ended.
    Versions {
        /// The generation.
        effect: EffectId,
        /// What the server told; tokens outside keep their label.
        spans: Vec<VersionSpan>,
        /// Whether some labels are a guess.
        uncertain: bool,
    },
    /// A `once` call is about to be launched. It must be durable before the launch.
    ToolStarted {
        /// The call.
        effect: EffectId,
    },
    /// A call has its result.
    ToolReturned {
        /// The call.
        effect: EffectId,
        /// The result; failures are results too (R6).
        result: ToolResult,
    },
    /// A `once` call that is on record as started is not running any more.
    ToolInterrupted {
        /// The call.
        effect: EffectId,
    },
    /// The interaction replied.
    Replied {
        /// The interaction.
        effect: EffectId,
        /// The reply.
        reply: InteractReply,
    },
    /// The interaction failed; it is asked again if its class allows.
    InteractFailed {
        /// The interaction.
        effect: EffectId,
        /// Why.
        fault: Fault,
    },
    /// The rollout is left where it is: nothing that runs for it will answer any more.
    Interrupt,
    /// The rollout goes on with an empty set of running effects.
    Resume,
    /// The rollout is ended for good.
    Cancel,
}

impl Event {
    /// The event's name, for messages.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Encoded { .. } => "encoded",
            Self::EncodeFailed { .. } => "encode_failed",
            Self::Sampled { .. } => "sampled",
            Self::GenerateEnded { .. } => "generate_ended",
            Self::GenerateFailed { .. } => "generate_failed",
            Self::Versions { .. } => "versions",
            Self::ToolStarted { .. } => "tool_started",
            Self::ToolReturned { .. } => "tool_returned",
            Self::ToolInterrupted { .. } => "tool_interrupted",
            Self::Replied { .. } => "replied",
            Self::InteractFailed { .. } => "interact_failed",
            Self::Interrupt => "interrupt",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
        }
    }

    /// The class of the failure that it carries, if it carries one.
    #[must_use]
    pub const fn class(&self) -> Option<Class> {
        match self {
            Self::GenerateFailed { fault, .. } | Self::InteractFailed { fault, .. } => Some(fault.class),
            Self::EncodeFailed { .. } => Some(Class::Terminal),
            Self::Encoded { .. }
            | Self::Sampled { .. }
            | Self::GenerateEnded { .. }
            | Self::Versions { .. }
            | Self::ToolStarted { .. }
            | Self::ToolReturned { .. }
            | Self::ToolInterrupted { .. }
            | Self::Replied { .. }
            | Self::Interrupt
            | Self::Resume
            | Self::Cancel => None,
        }
    }
}
