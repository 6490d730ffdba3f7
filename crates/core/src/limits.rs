//! Limits and named options of a rollout.

/// How long a rollout may get. Lengths are tokens unless said otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest prompt (R1).
    pub prompt_length: u32,
    /// All response tokens together, sampled and given.
    pub response_length: u32,
    /// The model's context: prompt and response together. `None`: not known, not tested.
    pub context_length: Option<u32>,
    /// Sampled tokens of a single turn, over all attempts.
    pub turn_length: Option<u32>,
    /// Completed generations.
    pub max_assistant_turns: Option<u32>,
    /// Batches of tool results and interaction replies (R12).
    pub max_user_turns: Option<u32>,
    /// Calls of one turn that run (R5); 0 counts as 1. 1 in the reference.
    pub max_parallel_calls: u32,
    /// **Characters** of one tool text that are kept (R7).
    pub max_tool_response_length: u32,
    /// Attempts at one generation without a new token before the rollout fails.
    pub max_attempts: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            prompt_length: 4096,
            response_length: 8192,
            context_length: None,
            turn_length: None,
            max_assistant_turns: None,
            max_user_turns: None,
            max_parallel_calls: 4,
            max_tool_response_length: 4096,
            max_attempts: 8,
        }
    }
}

/// Which side of a long tool text is **cut away** (R7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TruncateSide {
    /// The beginning goes: the tail is kept after `(truncated)...`.
    Left,
    /// The middle goes: both ends are kept around `...(truncated)...`.
    #[default]
    Middle,
    /// The end goes: the head is kept before `...(truncated)`.
    Right,
}

/// What happens to a prompt over its limit (R1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptOverflow {
    /// The rollout fails and names both numbers.
    #[default]
    Fail,
    /// The first tokens go.
    CutLeft,
    /// The last tokens go.
    CutRight,
}

/// How an interrupt treats running tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolInterrupt {
    /// Wait for them, up to a deadline, then detach.
    #[default]
    Finish,
    /// Leave now: finished results are kept, the rest runs again.
    Detach,
}

/// How an interrupt treats a generation when `partial_rollout` is off (R15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartialOff {
    /// Wait for the turn's end, as the reference does.
    #[default]
    Finish,
    /// Abort the turn and ask it again from its start.
    Restart,
}

/// What happens to calls over `max_parallel_calls` (R5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallsOverLimit {
    /// A tool message says so.
    #[default]
    Answer,
    /// Nothing is said; they are counted.
    Drop,
}

/// What happens to calls that cannot be read (R5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MalformedCalls {
    /// A tool message names the error.
    #[default]
    Answer,
    /// Nothing is said; they are counted.
    Drop,
}

/// The reward of a wrong call (R6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailedCallReward {
    /// None is recorded.
    #[default]
    None,
    /// 0.0 is recorded, as in the reference.
    Zero,
}

/// Whether the tokens of a reply that ends the rollout are appended (R9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TerminatingReplyTokens {
    /// Only the message is kept.
    #[default]
    Omit,
    /// The tokens are appended too, as in the reference.
    Append,
}

/// How new messages become tokens (R8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ContinuationMode {
    /// What the template writes between the sampled turn and the next generation prompt, in context.
    #[default]
    Template,
    /// The new messages rendered alone, the measured system prefix cut off, as in the reference.
    Reference,
}

/// What control tokens spelled out in user, system and tool text become (R8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ControlTokens {
    /// Plain text.
    #[default]
    Plain,
    /// The control tokens, as Python's template call gives.
    Parse,
}

/// The compatibility options. `Default` is ours; [`Compat::verl`] is the reference's. Each is
/// usable alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compat {
    /// R8.
    pub continuation: ContinuationMode,
    /// R5.
    pub calls_over_limit: CallsOverLimit,
    /// R5.
    pub malformed_calls: MalformedCalls,
    /// R6.
    pub failed_call_reward: FailedCallReward,
    /// R7: whether `tool_response_truncate_side` names the side that is kept (the reference's
    /// older meaning: `left` keeps the head) instead of the one that is cut.
    pub truncate_keep_old: bool,
    /// R9.
    pub terminating_reply_tokens: TerminatingReplyTokens,
    /// R8.
    pub control_tokens: ControlTokens,
}

impl Compat {
    /// All options at the reference's value: `compat = "verl"`.
    #[must_use]
    pub const fn verl() -> Self {
        Self {
            continuation: ContinuationMode::Reference,
            calls_over_limit: CallsOverLimit::Drop,
            malformed_calls: MalformedCalls::Drop,
            failed_call_reward: FailedCallReward::Zero,
            truncate_keep_old: true,
            terminating_reply_tokens: TerminatingReplyTokens::Append,
            control_tokens: ControlTokens::Parse,
        }
    }
}

/// Everything about a rollout that is a choice and not a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// R5 to R9.
    pub compat: Compat,
    /// R7, in today's sense: the side that is cut away. `compat.truncate_keep_old` turns it round.
    pub truncate_side: TruncateSide,
    /// R1.
    pub prompt_overflow: PromptOverflow,
    /// Whether an interrupt may cut a turn (R15).
    pub partial_rollout: bool,
    /// How an interrupt ends a turn that may not be cut (R15).
    pub partial_off: PartialOff,
    /// How an interrupt treats running tools.
    pub tool_interrupt: ToolInterrupt,
    /// Whether a rollout with an infrastructure error still gets its reward (R6).
    pub reward_on_infrastructure: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            compat: Compat::default(),
            truncate_side: TruncateSide::default(),
            prompt_overflow: PromptOverflow::default(),
            partial_rollout: true,
            partial_off: PartialOff::default(),
            tool_interrupt: ToolInterrupt::default(),
            reward_on_infrastructure: false,
        }
    }
}

impl Options {
    /// The side that is cut away, with the older meaning resolved.
    #[must_use]
    pub const fn cut_side(&self) -> TruncateSide {
        match (self.compat.truncate_keep_old, self.truncate_side) {
            (true, TruncateSide::Left) => TruncateSide::Right,
            (true, TruncateSide::Right) => TruncateSide::Left,
            (_, side) => side,
        }
    }
}
