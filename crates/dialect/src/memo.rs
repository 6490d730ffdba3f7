//! Prompts that were tokenized before: the rollouts of a group start from one and the same.
//!
//! A pure memo: what it gives is what tokenizing again would give.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use respool_core::Token;

use crate::opaque::Guarded;

/// No more prompts are kept; then all are forgotten.
const MOST: usize = 256;
/// Longer prompts are not kept, in bytes.
const LONGEST: usize = 16 * 1024;

/// The tokens of recent prompts.
#[derive(Debug, Default)]
pub(crate) struct Memo(Mutex<HashMap<Guarded, Arc<[Token]>>>);

impl Memo {
    /// The tokens of a prompt: those of last time, or those that `encode` gives.
    pub(crate) fn tokens<E>(
        &self,
        prompt: Guarded,
        encode: impl FnOnce(&Guarded) -> Result<Vec<Token>, E>,
    ) -> Result<Vec<Token>, E> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tokens) = known().get(&prompt).cloned() {
            return Ok(tokens.to_vec());
        }
        let tokens = encode(&prompt)?;
        if prompt.text.len() <= LONGEST {
            let mut known = known();
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(prompt, tokens.as_slice().into());
        }
        Ok(tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(text: &str, plain: &[std::ops::Range<usize>]) -> Guarded {
        Guarded { text: text.to_owned(), plain: plain.to_vec() }
    }

    #[test]
    fn a_prompt_is_tokenized_once_and_another_one_is_another_one() {
        let memo = Memo::default();
        let tokens = |prompt, tokens: Token| memo.tokens(prompt, |_| Ok::<_, ()>(vec![tokens])).unwrap();
        assert_eq!(tokens(prompt("a", &[]), 1), [1]);
        assert_eq!(tokens(prompt("a", &[]), 2), [1]);
        assert_eq!(tokens(prompt("ab", &[]), 2), [2]);
        assert_eq!(tokens(prompt("ab", &[0..1, 1..2]), 3), [3], "the same text, but plain");
        assert_eq!(memo.tokens(prompt("b", &[]), |_| Err("refused")), Err("refused"));
        assert_eq!(tokens(prompt("b", &[]), 4), [4], "an error is not kept");
    }

    #[test]
    fn it_stays_small() {
        let memo = Memo::default();
        for number in 0..3 * MOST {
            memo.tokens(prompt(&number.to_string(), &[]), |_| Ok::<_, ()>(vec![1])).unwrap();
        }
        memo.tokens(prompt(&"x".repeat(LONGEST + 1), &[]), |_| Ok::<_, ()>(vec![1])).unwrap();
        let known = memo.0.lock().unwrap();
        assert!(known.len() <= MOST && known.keys().all(|prompt| prompt.text.len() <= LONGEST));
    }
}
