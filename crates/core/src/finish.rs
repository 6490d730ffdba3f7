//! Why a rollout ended.

use std::fmt;

use crate::Class;

/// Why a rollout ended (R11). Every rollout ends for exactly one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The last turn stopped, is not empty and holds no call.
    Answered,
    /// `response_length` is used up.
    ResponseLength,
    /// The model's context is used up.
    ContextLength,
    /// A turn reached the cap of a single turn.
    TurnLength,
    /// `max_assistant_turns` reached.
    AssistantTurns,
    /// `max_user_turns` reached.
    UserTurns,
    /// The interaction ended the rollout.
    InteractionEnded,
    /// The engine ended the turn because the model repeated itself.
    Repetition,
    /// The engine ended the turn for a reason that we do not know; its name.
    Other(String),
    /// A turn stopped without a token.
    EmptyReply,
    /// Ended for good by the user.
    Cancelled,
    /// It could not go on.
    Failed(Failure),
}

impl Finish {
    /// A stable name for records: `answered`, `response_length`, …, `failed`, or the engine's own
    /// name of an unknown reason.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Answered => "answered",
            Self::ResponseLength => "response_length",
            Self::ContextLength => "context_length",
            Self::TurnLength => "turn_length",
            Self::AssistantTurns => "assistant_turns",
            Self::UserTurns => "user_turns",
            Self::InteractionEnded => "interaction_ended",
            Self::Repetition => "repetition",
            Self::Other(name) => name,
            Self::EmptyReply => "empty_reply",
            Self::Cancelled => "cancelled",
            Self::Failed(_) => "failed",
        }
    }
}

/// Which part of the work could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureKind {
    /// The prompt is over `prompt_length` or the model's context.
    PromptTooLong,
    /// The chat template or the tokenizer refused the messages.
    Dialect,
    /// No server could generate.
    Generate,
    /// The interaction failed.
    Interact,
    /// The reward function failed.
    Reward,
    /// The task itself is not usable.
    Task,
    /// The rollout's events could not be made durable.
    Checkpoint,
}

impl FailureKind {
    /// A stable name for records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PromptTooLong => "prompt_too_long",
            Self::Dialect => "dialect",
            Self::Generate => "generate",
            Self::Interact => "interact",
            Self::Reward => "reward",
            Self::Task => "task",
            Self::Checkpoint => "checkpoint",
        }
    }
}

/// Why a rollout could not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Failure {
    /// Which part failed.
    pub kind: FailureKind,
    /// Whether running the rollout again may help.
    pub class: Class,
    /// What was found, what was expected, what to do.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.as_str(), self.message)
    }
}
