//! What a policy has to know about a request that the wire does not say: where its turn began,
//! which rollout it is, and with which seed.

use std::fmt;
use std::sync::Arc;

use respool_core::{RolloutId, Token};
use respool_llm_mock::seed_from;

/// Where a prompt stands in its rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnPlace {
    /// Index of the turn that is being written, from 0.
    pub turn: u32,
    /// How many tokens of that turn the prompt holds already: its last ones.
    pub turn_tokens: u32,
}

/// Finds where in a prompt the turn began.
#[derive(Clone)]
pub struct TurnFinder(Arc<Find>);

type Find = dyn Fn(&[Token]) -> TurnPlace + Send + Sync;

impl TurnFinder {
    /// Finds it with this function.
    #[must_use]
    pub fn new(find: impl Fn(&[Token]) -> TurnPlace + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// Where this prompt stands.
    #[must_use]
    pub fn find(&self, prompt: &[Token]) -> TurnPlace {
        (self.0)(prompt)
    }
}

impl fmt::Debug for TurnFinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnFinder").finish_non_exhaustive()
    }
}

/// Counts the generation prompts (the tokens of `<|im_start|>assistant\n`, say): the last one is
/// where the turn began. A prompt without one, or no suffix, is a first turn with nothing said.
#[must_use]
pub fn turns_by_suffix(suffix: Vec<Token>) -> TurnFinder {
    TurnFinder::new(move |prompt| place_after(prompt, 0, &suffix))
}

/// The place in the prompt, counting only generation prompts from this offset on.
pub(crate) fn place_after(prompt: &[Token], from: usize, suffix: &[Token]) -> TurnPlace {
    let starts = prompt.get(from..).unwrap_or_default();
    if suffix.is_empty() {
        return TurnPlace::default();
    }
    let mut turns = 0_u32;
    let mut last_end = prompt.len();
    for (at, window) in starts.windows(suffix.len()).enumerate() {
        if window == suffix {
            turns += 1;
            last_end = from + at + suffix.len();
        }
    }
    TurnPlace { turn: turns.saturating_sub(1), turn_tokens: (prompt.len() - last_end) as u32 }
}

/// The rollout and the turn of an id of our own form, `{rollout}-{turn}-{nonce}` in hex of fixed
/// width, wherever in the text it stands (engines and routers add prefixes).
#[must_use]
pub fn rollout_of_wire_id(id: &str) -> Option<RolloutId> {
    const WIDTHS: [usize; 3] = [32, 8, 16];
    let mut parts = id.rsplit('-');
    let (nonce, turn, rollout) = (parts.next()?, parts.next()?, parts.next()?);
    let is_ours = [rollout, turn, nonce]
        .iter()
        .zip(WIDTHS)
        .all(|(part, width)| part.len() == width && part.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if is_ours { u128::from_str_radix(rollout, 16).ok().map(RolloutId) } else { None }
}

/// The seed of a request: its rollout's, else the one that it carries, else 0.
pub(crate) fn seed(rollout: Option<RolloutId>, of_request: Option<i64>) -> u64 {
    match (rollout, of_request) {
        (Some(RolloutId(id)), _) => seed_from(&[id as u64, (id >> 64) as u64]),
        (None, Some(seed)) => seed_from(&[seed.cast_unsigned()]),
        (None, None) => 0,
    }
}

#[cfg(test)]
mod tests;
