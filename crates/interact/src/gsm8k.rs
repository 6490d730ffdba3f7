//! The reward of GSM8K, and exact match.

use futures_util::future::{BoxFuture, ready};
use respool_core::Fault;
use serde::Deserialize;

use crate::{Reward, RewardInput, number};

/// Where a GSM8K answer is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gsm8kMethod {
    /// After the last `#### ` that is followed by a number.
    #[default]
    Strict,
    /// The last number of the text.
    Flexible,
}

/// The GSM8K reward: `score` for the right answer, `format_score` for another one, 0 where no
/// answer is found.
///
/// Answers are found as the reference finds them: what `(-?[0-9.,]+)` matches, the last one that
/// has a digit. They are compared as numbers, where the reference compares strings: `18`,
/// `18.00`, `018` and `18.` (the end of a sentence) are equal, `,` and `$` do not count. What is
/// no number is compared as a string.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Gsm8k {
    /// Where the answer is looked for.
    pub method: Gsm8kMethod,
    /// For the right answer.
    pub score: f64,
    /// For an answer that is not the right one.
    pub format_score: f64,
}

impl Gsm8k {
    /// 1 for the right answer after `#### `, else 0.
    #[must_use]
    pub const fn strict() -> Self {
        Self { method: Gsm8kMethod::Strict, score: 1.0, format_score: 0.0 }
    }

    /// 1 if the last number is the right answer, else 0.
    #[must_use]
    pub const fn flexible() -> Self {
        Self { method: Gsm8kMethod::Flexible, ..Self::strict() }
    }

    /// The answer in a text, as it is written there.
    #[must_use]
    pub fn answer(self, text: &str) -> Option<&str> {
        match self.method {
            Gsm8kMethod::Flexible => number::all(text).last(),
            Gsm8kMethod::Strict => text.rmatch_indices("#### ").find_map(|(at, mark)| {
                let answer = number::prefix(&text[at + mark.len()..]);
                (!answer.is_empty()).then_some(answer)
            }),
        }
    }

    fn value(self, input: &RewardInput<'_>) -> Result<f64, Fault> {
        let truth = input.ground_truth_text()?;
        Ok(match self.answer(&input.final_text) {
            None => 0.0,
            Some(answer) if number::equal(answer, &truth) => self.score,
            Some(_) => self.format_score,
        })
    }
}

impl Default for Gsm8k {
    fn default() -> Self {
        Self::strict()
    }
}

impl Reward for Gsm8k {
    fn score<'a>(&'a self, input: &'a RewardInput<'a>) -> BoxFuture<'a, Result<f64, Fault>> {
        Box::pin(ready(self.value(input)))
    }
}

/// 1 if the last assistant message is the ground truth, white space at both ends apart; else 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExactMatch;

impl Reward for ExactMatch {
    fn score<'a>(&'a self, input: &'a RewardInput<'a>) -> BoxFuture<'a, Result<f64, Fault>> {
        let truth = input.ground_truth_text();
        let equal = truth.map(|truth| truth.trim() == input.final_text.trim());
        Box::pin(ready(equal.map(|equal| f64::from(u8::from(equal)))))
    }
}
