//! Everything a rollout is, but for its phase.

use std::sync::Arc;

use crate::{
    CallOutcome, CallRecord, EffectId, EffectKey, Mark, MarkKind, Message, RolloutSpec, TemplateChange,
    Transcript,
};

/// The most bytes of [`AgentData::user_data`].
pub const USER_DATA_LIMIT: usize = 1 << 20;

/// Everything a rollout is, but for its phase ([`AgentState`](crate::AgentState)).
#[derive(Clone, Debug, PartialEq)]
pub struct AgentData {
    /// What it was asked to do.
    pub spec: Arc<RolloutSpec>,
    /// All tokens.
    pub transcript: Transcript,
    /// The chat: the first messages, then what was sampled and appended.
    pub messages: Vec<Message>,
    /// Completed generations.
    pub assistant_turns: u32,
    /// Batches of tool results and interaction replies that were appended.
    pub user_turns: u32,
    /// Rewards of calls, in call order.
    pub tool_rewards: Vec<f64>,
    /// Scores of interaction replies.
    pub turn_scores: Vec<f64>,
    /// The reward function's value; `None` before the end, or where it may not be given (R6).
    pub reward_score: Option<f64>,
    /// All call attempts, in order.
    pub calls: Vec<CallRecord>,
    /// What was done in the world, sorted, without attempts.
    pub effects: Vec<EffectKey>,
    /// Where each attempt's tokens are, in order.
    pub attempts: Vec<AttemptSpan>,
    /// Cuts, resumes, fail-overs, new versions.
    pub marks: Vec<Mark>,
    /// What the template would have written differently in earlier text; reported once.
    pub template_changes: Vec<TemplateChange>,
    /// Tokens that were received and dropped.
    pub wasted_tokens: u64,
    /// Whether some version labels are a guess.
    pub version_uncertain: bool,
    /// Events that did not fit.
    pub rejected_events: u64,
    /// Opaque bytes of a loop that others write.
    pub user_data: UserData,
}

/// Opaque bytes of a loop that others write. At most [`USER_DATA_LIMIT`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserData(Vec<u8>);

/// The tokens of one generation attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptSpan {
    /// The attempt.
    pub effect: EffectId,
    /// Transcript position of its first token.
    pub start: u32,
    /// Number of tokens.
    pub len: u32,
}

/// [`UserData::new`] was given too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("user_data has {len} bytes, expected at most {USER_DATA_LIMIT}")]
pub struct UserDataTooLarge {
    /// How many it was given.
    pub len: usize,
}

impl UserData {
    /// Checks the length.
    ///
    /// # Errors
    /// If there are more than [`USER_DATA_LIMIT`].
    pub fn new(bytes: Vec<u8>) -> Result<Self, UserDataTooLarge> {
        if bytes.len() > USER_DATA_LIMIT {
            return Err(UserDataTooLarge { len: bytes.len() });
        }
        Ok(Self(bytes))
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl AgentData {
    /// A rollout before its first step.
    #[must_use]
    pub fn new(spec: Arc<RolloutSpec>) -> Self {
        Self {
            messages: spec.messages.clone(),
            spec,
            transcript: Transcript::new(),
            assistant_turns: 0,
            user_turns: 0,
            tool_rewards: Vec::new(),
            turn_scores: Vec::new(),
            reward_score: None,
            calls: Vec::new(),
            effects: Vec::new(),
            attempts: Vec::new(),
            marks: Vec::new(),
            template_changes: Vec::new(),
            wasted_tokens: 0,
            version_uncertain: false,
            rejected_events: 0,
            user_data: UserData::default(),
        }
    }

    /// `user_turns + assistant_turns + 1`, as the reference counts.
    #[must_use]
    pub fn num_turns(&self) -> u32 {
        self.user_turns + self.assistant_turns + 1
    }

    /// How many call attempts ended that way.
    #[must_use]
    pub fn calls_with(&self, outcome: CallOutcome) -> usize {
        self.calls.iter().filter(|call| call.outcome == outcome).count()
    }

    /// How often the rollout was interrupted.
    #[must_use]
    pub fn interrupts(&self) -> usize {
        self.marks.iter().filter(|mark| mark.kind == MarkKind::Cut).count()
    }

    /// How many calls only a format's lenient option could read.
    #[must_use]
    pub fn lenient_calls(&self) -> usize {
        self.marks.iter().filter(|mark| mark.kind == MarkKind::LenientCall).count()
    }

    /// Adds to the set of effects.
    pub fn record_effect(&mut self, effect: EffectKey) {
        if let Err(at) = self.effects.binary_search(&effect) {
            self.effects.insert(at, effect);
        }
    }

    /// Opaque bytes of a loop that others write.
    #[must_use]
    pub fn user_data(&self) -> &[u8] {
        self.user_data.as_bytes()
    }

    /// Replaces the opaque bytes.
    ///
    /// # Errors
    /// If there are more than [`USER_DATA_LIMIT`].
    pub fn set_user_data(&mut self, bytes: Vec<u8>) -> Result<(), UserDataTooLarge> {
        self.user_data = UserData::new(bytes)?;
        Ok(())
    }
}
