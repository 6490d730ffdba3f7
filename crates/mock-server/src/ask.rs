//! A generation request, as both engines understand it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use respool_core::{EffectId, GenerateRequest, RolloutId, Sampling, Token};

use crate::writer::Writer;
use crate::{MockHttpConfig, rollout_of_wire_id, turns};

/// What was asked for, checked.
pub(crate) struct Ask {
    /// The id by which it can be aborted.
    pub(crate) abort_id: String,
    /// The id as the client sent it, or the one that was made.
    pub(crate) id: String,
    pub(crate) prompt: Vec<Token>,
    pub(crate) max_tokens: u32,
    pub(crate) stop_tokens: Arc<[Token]>,
    pub(crate) seed: Option<i64>,
    pub(crate) streams: bool,
    pub(crate) writer: Box<dyn Writer>,
}

impl Ask {
    /// The rollout that its id names.
    pub(crate) fn rollout(&self) -> Option<RolloutId> {
        rollout_of_wire_id(&self.id)
    }

    /// The request as policies know it.
    pub(crate) fn request(&self, config: &MockHttpConfig) -> GenerateRequest {
        let place = config.turns.find(&self.prompt);
        let rollout = self.rollout();
        GenerateRequest {
            rollout: rollout.unwrap_or(RolloutId(0)),
            effect: EffectId { turn: place.turn, slot: 0, attempt: 0 },
            prompt_ids: self.prompt.clone(),
            turn_tokens: place.turn_tokens,
            max_tokens: self.max_tokens,
            stop_token_ids: Arc::clone(&self.stop_tokens),
            sampling: Arc::new(Sampling::default()),
            seed: turns::seed(rollout, self.seed),
        }
    }
}

/// The tokens that end an answer: the request's, and the model's unless they are ignored.
pub(crate) fn stop_tokens(config: &MockHttpConfig, mut own: Vec<Token>, ignore_eos: bool) -> Arc<[Token]> {
    if !ignore_eos {
        own.extend(&config.stop_tokens);
    }
    own.into()
}

/// The first id that is not of the vocabulary.
pub(crate) fn foreign_token(config: &MockHttpConfig, prompt: &[Token]) -> Option<Token> {
    prompt.iter().copied().find(|token| *token >= config.vocab_size)
}

/// An id for a request that came without one.
pub(crate) fn fresh_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("mock-{:016x}", NEXT.fetch_add(1, Ordering::Relaxed))
}
