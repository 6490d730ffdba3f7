//! What a rollout did in the world, by position.

/// The kinds of effects that a rollout wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectKind {
    /// Rendering and tokenizing messages.
    Encode,
    /// Sampling an assistant turn.
    Generate,
    /// Running a tool.
    Tool,
    /// Asking the interaction for a reply.
    Interact,
}

/// An effect without its attempt: what [`outcome_eq`](crate::outcome_eq) compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectKey {
    /// What was done.
    pub kind: EffectKind,
    /// In which assistant turn.
    pub turn: u32,
    /// For which call of the turn.
    pub slot: u32,
}

/// How a tool call ended (R5, R6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallOutcome {
    /// The tool answered.
    Ok,
    /// The policy's fault: unknown tool, bad arguments, a tool that raised.
    Wrong,
    /// No readable call: no JSON object with a name.
    Malformed,
    /// Over `max_parallel_calls`; no tool ran.
    OverLimit,
    /// Nobody's fault but ours: timeout, transport, sandbox.
    Infrastructure,
    /// A `once` tool was started and its result is unknown.
    Interrupted,
    /// The rollout was cancelled before it ended.
    Cancelled,
    /// Its turn ended the rollout (a limit was reached), so it was not run.
    NotRun,
}

impl CallOutcome {
    /// A stable name: `ok`, `wrong`, `malformed`, `over_limit`, `infrastructure`, `interrupted`, `cancelled`,
    /// `not_run`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Wrong => "wrong",
            Self::Malformed => "malformed",
            Self::OverLimit => "over_limit",
            Self::Infrastructure => "infrastructure",
            Self::Interrupted => "interrupted",
            Self::Cancelled => "cancelled",
            Self::NotRun => "not_run",
        }
    }
}

/// One call attempt of a rollout and how it ended. Counts are derived from these.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRecord {
    /// The assistant turn that made it.
    pub turn: u32,
    /// Its position in the turn.
    pub slot: u32,
    /// The tool's name; empty for a malformed call.
    pub name: String,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Whether a tool service was asked (not so for malformed, wrong-argument and over-limit calls).
    pub ran: bool,
    /// What the tool measured, by name.
    pub metrics: Vec<(String, f64)>,
}
