//! What a layer may know of a request: its kind and whose it is.

use respool_core::{EffectId, InteractRequest, RolloutId, SessionRequest, ToolRequest};

use crate::GenerateCall;

/// A request that layers can name in spans, metrics and messages.
pub trait Call {
    /// The kind of request, in a word: a label of metrics.
    const KIND: &'static str;

    /// The rollout that asks.
    fn rollout(&self) -> RolloutId;

    /// What it asks for, by position; `None` for a request about the rollout as a whole.
    fn effect(&self) -> Option<EffectId>;
}

/// A request in words, for messages.
pub(crate) fn describe<C: Call>(rollout: RolloutId, effect: Option<EffectId>) -> String {
    match effect {
        Some(effect) => format!("{} of rollout {rollout}, {effect}", C::KIND),
        None => format!("{} of rollout {rollout}", C::KIND),
    }
}

impl Call for GenerateCall {
    const KIND: &'static str = "generate";

    fn rollout(&self) -> RolloutId {
        self.request.rollout
    }

    fn effect(&self) -> Option<EffectId> {
        Some(self.request.effect)
    }
}

impl Call for ToolRequest {
    const KIND: &'static str = "tool";

    fn rollout(&self) -> RolloutId {
        self.rollout
    }

    fn effect(&self) -> Option<EffectId> {
        Some(self.effect)
    }
}

impl Call for InteractRequest {
    const KIND: &'static str = "interact";

    fn rollout(&self) -> RolloutId {
        self.rollout
    }

    fn effect(&self) -> Option<EffectId> {
        Some(self.effect)
    }
}

impl Call for SessionRequest {
    const KIND: &'static str = "session";

    fn rollout(&self) -> RolloutId {
        self.rollout
    }

    fn effect(&self) -> Option<EffectId> {
        None
    }
}
