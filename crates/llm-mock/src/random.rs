//! The policy `hash`: random turns from a grammar.

use std::sync::Arc;

use respool_core::{Fault, GenerateRequest, Token};

use crate::Grammar;
use crate::hash::{Draw, hash_tokens};
use crate::policy::{Cursor, Encoder, Plan, Policy, split_turn};

/// Says random things: texts, reasoning, calls, several calls, malformed calls.
///
/// The tokens before a turn, and the seed, decide the whole turn. If the turn so far is not what
/// it would have said, the tokens up to the first foreign one decide the rest.
#[derive(Debug)]
pub struct HashPolicy {
    grammar: Grammar,
    stop: Token,
    words: Vec<Vec<Token>>,
    calls: Vec<Vec<Token>>,
    malformed: Vec<Vec<Token>>,
    reasoning: Option<(Vec<Token>, Vec<Token>)>,
}

impl HashPolicy {
    /// Encodes everything that the grammar can say; afterwards a turn costs only its tokens.
    #[must_use]
    pub fn new(grammar: Grammar, encode: &Encoder, stop: Token) -> Self {
        let each = |texts: &[String]| texts.iter().map(|text| encode(text)).collect();
        Self {
            words: each(&grammar.words),
            calls: each(&grammar.calls),
            malformed: each(&grammar.malformed),
            reasoning: grammar.reasoning.as_ref().map(|(open, close)| (encode(open), encode(close))),
            grammar,
            stop,
        }
    }

    /// The turn that a key decides.
    fn turn(&self, key: u64) -> Arc<[Token]> {
        let draw = &mut Draw::new(key);
        let mut turn = Vec::with_capacity(256);
        if !draw.percent(self.grammar.empty_percent) {
            self.push_reasoning(draw, &mut turn);
            self.push_text(draw, &mut turn);
            self.push_calls(draw, &mut turn);
        }
        turn.push(self.stop);
        turn.into()
    }

    fn push_reasoning(&self, draw: &mut Draw, turn: &mut Vec<Token>) {
        let Some((open, close)) = &self.reasoning else { return };
        if draw.percent(self.grammar.reasoning_percent) {
            turn.extend(open);
            self.push_text(draw, turn);
            turn.extend(close);
        }
    }

    fn push_text(&self, draw: &mut Draw, turn: &mut Vec<Token>) {
        for _ in 0..draw.below(self.grammar.max_words.saturating_add(1)) {
            turn.extend(draw.pick(&self.words).into_iter().flatten());
        }
    }

    fn push_calls(&self, draw: &mut Draw, turn: &mut Vec<Token>) {
        if self.grammar.max_calls == 0 || !draw.percent(self.grammar.call_percent) {
            return;
        }
        for _ in 0..=draw.below(self.grammar.max_calls) {
            let is_malformed = draw.percent(self.grammar.malformed_percent);
            let calls = if is_malformed { &self.malformed } else { &self.calls };
            turn.extend(draw.pick(calls).into_iter().flatten());
            if draw.percent(20) {
                self.push_text(draw, turn);
            }
        }
    }
}

impl Policy for HashPolicy {
    fn start(&self, request: &GenerateRequest) -> Result<Box<dyn Cursor>, Fault> {
        let (before, sampled) = split_turn(request);
        let key = hash_tokens(request.seed, before);
        let turn = self.turn(key);
        let foreign = sampled.iter().zip(turn.iter().cycle()).position(|(token, ours)| token != ours);
        let (turn, at) = match foreign {
            None => (turn, sampled.len()),
            Some(at) => (self.turn(hash_tokens(key, &sampled[..=at])), sampled.len() - at - 1),
        };
        Ok(Plan::cursor(turn, at, self.stop, request))
    }
}

#[cfg(test)]
mod tests;
