//! A deterministic outside world: policy, tools and user are functions of what they are asked.

use respool_core::{CallOutcome, InteractReply, RolloutSpec, ToolCall, ToolResult};

use crate::{
    Habits, Policy, Vocabulary,
    hash::{below, fold, fold_text},
};

/// Everything that a rollout talks to. It never counts calls: asked again, it answers the same.
#[derive(Clone, Debug)]
pub struct World {
    seed: u64,
    /// What samples the turns.
    pub policy: Policy,
    /// With which reply the user ends the rollout, if ever.
    last_reply: Option<u32>,
}

impl World {
    /// A world of that seed.
    #[must_use]
    pub fn new(vocabulary: &Vocabulary, habits: Habits, seed: u64, last_reply: Option<u32>) -> Self {
        Self { seed, policy: Policy::new(vocabulary, habits, seed), last_reply }
    }

    /// What a tool answers to the call in that place.
    #[must_use]
    pub fn tool(&self, spec: &RolloutSpec, turn: u32, call: &ToolCall) -> ToolResult {
        let place = fold(fold(fold(self.seed, 11), u64::from(turn)), u64::from(call.slot));
        let hash = fold_text(fold_text(place, &call.name), call.arguments.as_str());
        if spec.tool(&call.name).is_none() {
            return ToolResult::text(CallOutcome::Wrong, format!("Error: no tool named {}", call.name));
        }
        let outcome = match below(hash, 1, 8) {
            0 => CallOutcome::Wrong,
            1 => CallOutcome::Infrastructure,
            _ => CallOutcome::Ok,
        };
        let mut result = ToolResult::text(outcome, text(hash));
        // A wrong call may bring a reward all the same: the engine has to leave it out.
        result.reward = (below(hash, 2, 3) > 0).then(|| below(hash, 3, 200) as f64 / 64.0 - 1.0);
        result.metrics = vec![("calls".to_owned(), 1.0)];
        result
    }

    /// What the user says after so many user turns.
    #[must_use]
    pub fn reply(&self, user_turns: u32) -> InteractReply {
        let hash = fold(fold(self.seed, 13), u64::from(user_turns));
        InteractReply {
            content: text(hash).into(),
            score: (below(hash, 2, 3) > 0).then(|| below(hash, 3, 200) as f64 / 64.0),
            terminate: self.last_reply.is_some_and(|last| user_turns >= last),
        }
    }
}

/// A short text; some characters take several bytes.
fn text(hash: u64) -> String {
    const LETTERS: [char; 8] = ['a', 'b', 'c', ' ', 'é', '京', '😀', '7'];
    let len = below(hash, 20, 24);
    (0..len).map(|at| LETTERS[below(hash, 21 + at, LETTERS.len() as u64) as usize]).collect()
}
