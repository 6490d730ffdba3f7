//! `[limits]`, `[options]` and `[sampling]`.

use std::num::NonZeroU32;

use respool_core::{Limits, Options, PartialOff, PromptOverflow, Sampling, ToolInterrupt, TruncateSide};
use serde::{Deserialize, Serialize};

use super::{compat::CompatSection, mirror::mirror};

/// How long a rollout may get. What is not written is the default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LimitsSection {
    prompt_length: Option<NonZeroU32>,
    response_length: Option<NonZeroU32>,
    context_length: Option<NonZeroU32>,
    turn_length: Option<NonZeroU32>,
    max_assistant_turns: Option<NonZeroU32>,
    max_user_turns: Option<NonZeroU32>,
    max_parallel_calls: Option<NonZeroU32>,
    max_tool_response_length: Option<u32>,
    max_attempts: Option<NonZeroU32>,
}

impl LimitsSection {
    /// Lowers `response_length` to that, if it is longer.
    pub(crate) fn cap_response_length(&mut self, longest: u32) {
        let length = self.resolve().response_length.min(longest);
        self.response_length = NonZeroU32::new(length);
    }

    pub(crate) fn resolve(&self) -> Limits {
        let default = Limits::default();
        let or = |value: Option<NonZeroU32>, default| value.map_or(default, NonZeroU32::get);
        let limit = |value: Option<NonZeroU32>, default| value.map(NonZeroU32::get).or(default);
        Limits {
            prompt_length: or(self.prompt_length, default.prompt_length),
            response_length: or(self.response_length, default.response_length),
            context_length: limit(self.context_length, default.context_length),
            turn_length: limit(self.turn_length, default.turn_length),
            max_assistant_turns: limit(self.max_assistant_turns, default.max_assistant_turns),
            max_user_turns: limit(self.max_user_turns, default.max_user_turns),
            max_parallel_calls: or(self.max_parallel_calls, default.max_parallel_calls),
            max_tool_response_length: self
                .max_tool_response_length
                .unwrap_or(default.max_tool_response_length),
            max_attempts: or(self.max_attempts, default.max_attempts),
        }
    }
}

mirror!(Side of TruncateSide { Left, Middle, Right });
mirror!(Overflow of PromptOverflow { Fail, CutLeft, CutRight });
mirror!(Off of PartialOff { Finish, Restart });
mirror!(Interrupt of ToolInterrupt { Finish, Detach });

/// Choices. What is not written is the default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct OptionsSection {
    tool_response_truncate_side: Option<Side>,
    prompt_overflow: Option<Overflow>,
    partial_rollout: Option<bool>,
    partial_off: Option<Off>,
    tool_interrupt: Option<Interrupt>,
    reward_on_infrastructure: Option<bool>,
}

impl OptionsSection {
    pub(crate) fn resolve(&self, compat: &CompatSection) -> Options {
        let default = Options::default();
        Options {
            compat: compat.resolve(),
            truncate_side: self.tool_response_truncate_side.map_or(default.truncate_side, Into::into),
            prompt_overflow: self.prompt_overflow.map_or(default.prompt_overflow, Into::into),
            partial_rollout: self.partial_rollout.unwrap_or(default.partial_rollout),
            partial_off: self.partial_off.map_or(default.partial_off, Into::into),
            tool_interrupt: self.tool_interrupt.map_or(default.tool_interrupt, Into::into),
            reward_on_infrastructure: self
                .reward_on_infrastructure
                .unwrap_or(default.reward_on_infrastructure),
        }
    }
}

/// Sampling parameters: a section of the file, and a column of a row, which wins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SamplingSection {
    #[serde(deserialize_with = "number::not_negative")]
    temperature: Option<f32>,
    #[serde(deserialize_with = "number::share")]
    top_p: Option<f32>,
    top_k: Option<i32>,
    #[serde(deserialize_with = "number::share")]
    min_p: Option<f32>,
    #[serde(deserialize_with = "number::not_negative")]
    repetition_penalty: Option<f32>,
    #[serde(deserialize_with = "number::finite")]
    presence_penalty: Option<f32>,
    #[serde(deserialize_with = "number::finite")]
    frequency_penalty: Option<f32>,
    min_new_tokens: Option<u32>,
    stop: Option<Vec<String>>,
    stop_token_ids: Option<Vec<u32>>,
    ignore_eos: Option<bool>,
}

impl SamplingSection {
    /// These parameters alone.
    pub(crate) fn resolve(&self) -> Sampling {
        self.clone().over(&Self::default())
    }

    /// The most likely token each time: what a check against a real engine needs.
    pub(crate) const fn make_greedy(&mut self) {
        self.temperature = Some(0.0);
    }

    /// These parameters where they say something, else the other's.
    pub(crate) fn over(self, other: &Self) -> Sampling {
        Sampling {
            temperature: self.temperature.or(other.temperature),
            top_p: self.top_p.or(other.top_p),
            top_k: self.top_k.or(other.top_k),
            min_p: self.min_p.or(other.min_p),
            repetition_penalty: self.repetition_penalty.or(other.repetition_penalty),
            presence_penalty: self.presence_penalty.or(other.presence_penalty),
            frequency_penalty: self.frequency_penalty.or(other.frequency_penalty),
            min_new_tokens: self.min_new_tokens.or(other.min_new_tokens),
            stop: self.stop.or_else(|| other.stop.clone()).unwrap_or_default(),
            stop_token_ids: self.stop_token_ids.or_else(|| other.stop_token_ids.clone()).unwrap_or_default(),
            ignore_eos: self.ignore_eos.or(other.ignore_eos).unwrap_or_default(),
        }
    }
}

/// Numbers with a range.
pub(super) mod number {
    use serde::{Deserialize, Deserializer, de::Error};

    fn checked<'de, D: Deserializer<'de>>(
        deserializer: D,
        expected: &'static str,
        is_valid: fn(f32) -> bool,
    ) -> Result<Option<f32>, D::Error> {
        match Option::<f32>::deserialize(deserializer)? {
            Some(value) if !is_valid(value) => {
                Err(D::Error::custom(format!("found {value}, expected {expected}")))
            }
            value => Ok(value),
        }
    }

    pub(in super::super) fn finite<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<f32>, D::Error> {
        checked(deserializer, "a finite number", f32::is_finite)
    }

    pub(in super::super) fn not_negative<'de, D: Deserializer<'de>>(d: D) -> Result<Option<f32>, D::Error> {
        checked(d, "a finite number from 0", |value| value.is_finite() && value >= 0.0)
    }

    pub(in super::super) fn share<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<f32>, D::Error> {
        checked(deserializer, "a number from 0 to 1", |value| (0.0..=1.0).contains(&value))
    }
}
