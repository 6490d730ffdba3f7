//! The policy `script`: given turns.

use std::sync::Arc;

use respool_core::{Fault, GenerateRequest, Token};

use crate::policy::{Cursor, Encoder, Plan, Policy, split_turn};

/// Says given turns, and nothing after the last one.
///
/// Which turn it is, and how much of it is said, is read off the request's prefix: no call is
/// counted.
#[derive(Clone, Debug)]
pub struct ScriptPolicy {
    turns: Vec<Arc<[Token]>>,
    stop: Token,
}

impl ScriptPolicy {
    /// Turns as tokens; each is ended by the stop token if it does not end with it already.
    #[must_use]
    pub fn new(turns: impl IntoIterator<Item = Vec<Token>>, stop: Token) -> Self {
        let turns = turns.into_iter().map(|turn| ended(turn, stop)).collect();
        Self { turns, stop }
    }

    /// Turns as texts.
    #[must_use]
    pub fn from_texts<'a>(texts: impl IntoIterator<Item = &'a str>, encode: &Encoder, stop: Token) -> Self {
        Self::new(texts.into_iter().map(|text| encode(text)), stop)
    }
}

/// A turn with the stop token at its end.
pub(crate) fn ended(mut turn: Vec<Token>, stop: Token) -> Arc<[Token]> {
    if turn.last() != Some(&stop) {
        turn.push(stop);
    }
    turn.into()
}

impl Policy for ScriptPolicy {
    fn start(&self, request: &GenerateRequest) -> Result<Box<dyn Cursor>, Fault> {
        let turn = self.turns.get(request.effect.turn as usize).cloned().unwrap_or_default();
        let (_, sampled) = split_turn(request);
        Ok(Plan::cursor(turn, sampled.len(), self.stop, request))
    }
}
