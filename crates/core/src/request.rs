//! What crosses the seams: requests to and answers from the services.

use std::sync::Arc;

use crate::{
    CallOutcome, Content, EffectId, GenerateFinish, InteractionSpec, JsonText, Logprob, Message,
    PolicyVersion, RolloutId, Sampling, SessionPolicy, Token, ToolCall, VersionSpan,
};

/// Asks for the tokens that follow a prompt. Sent once per attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateRequest {
    /// The rollout that asks; a server is chosen by it.
    pub rollout: RolloutId,
    /// Which attempt at which turn.
    pub effect: EffectId,
    /// All tokens so far.
    pub prompt_ids: Vec<Token>,
    /// How many of them the policy sampled in this turn already (the last ones).
    pub turn_tokens: u32,
    /// The most tokens to sample (R2); never 0.
    pub max_tokens: u32,
    /// Tokens that end the turn.
    pub stop_token_ids: Arc<[Token]>,
    /// Sampling parameters.
    pub sampling: Arc<Sampling>,
    /// Seed of the rollout.
    pub seed: u64,
}

/// Sampled tokens with one log-probability each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerateDelta {
    /// The weights in force, as far as known when they arrived.
    pub version: PolicyVersion,
    /// Token ids; may be empty.
    pub tokens: Vec<Token>,
    /// As many as `tokens`; a shorter list is filled with *missing*.
    pub logprobs: Vec<Logprob>,
}

/// An item of a generation's stream. The stream ends after `Ended`, or with an error; one that
/// ends without either is broken.
#[derive(Clone, Debug, PartialEq)]
pub enum GenerateEvent {
    /// Tokens.
    Delta(GenerateDelta),
    /// Labels for tokens of this stream.
    Versions {
        /// What the server told.
        spans: Vec<VersionSpan>,
        /// Whether some labels are a guess.
        uncertain: bool,
    },
    /// The generation ended.
    Ended(GenerateFinish),
}

/// Asks a tool service to run one call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolRequest {
    /// The rollout; with the tool's name it names the session (R14).
    pub rollout: RolloutId,
    /// Which call, which attempt. `(rollout, turn, slot)` is the idempotency key.
    pub effect: EffectId,
    /// The call.
    pub call: ToolCall,
    /// The task's arguments for creating the session, a JSON object.
    pub create_kwargs: JsonText,
    /// What a lost session means.
    pub session: SessionPolicy,
    /// Earlier calls of this rollout to this tool that ran, in order: whether there was a
    /// session, and what rebuilds it.
    pub history: Vec<ToolCall>,
}

/// The one result of a call. Failures are results too.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// How it ended.
    pub outcome: CallOutcome,
    /// What the policy is shown.
    pub content: Content,
    /// A reward for this call.
    pub reward: Option<f64>,
    /// What the tool measured, by name.
    pub metrics: Vec<(String, f64)>,
}

impl ToolResult {
    /// An answer without reward or metrics.
    #[must_use]
    pub fn text(outcome: CallOutcome, text: impl Into<String>) -> Self {
        Self { outcome, content: Content::Text(text.into()), reward: None, metrics: Vec::new() }
    }
}

/// What is to happen to the tool sessions of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionAction {
    /// The rollout was interrupted: keep them under a lease.
    Keep,
    /// The rollout is over: release each once.
    Release,
}

/// Tells a tool service what becomes of a rollout's sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionRequest {
    /// The rollout.
    pub rollout: RolloutId,
    /// What is to happen.
    pub action: SessionAction,
}

/// Asks the interaction for a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct InteractRequest {
    /// The rollout.
    pub rollout: RolloutId,
    /// Which reply, which attempt.
    pub effect: EffectId,
    /// Which interaction, with its arguments.
    pub interaction: InteractionSpec,
    /// The chat so far, the policy's last turn included. The interaction's position is derived
    /// from it.
    pub messages: Vec<Message>,
    /// User turns appended so far.
    pub user_turns: u32,
    /// Seed of the rollout.
    pub seed: u64,
}

/// What the interaction replies (R9).
#[derive(Clone, Debug, PartialEq)]
pub struct InteractReply {
    /// What the user says.
    pub content: Content,
    /// A score for the policy's turn.
    pub score: Option<f64>,
    /// Whether the rollout ends here.
    pub terminate: bool,
}
