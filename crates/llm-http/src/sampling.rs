//! What is sent of the sampling parameters.
#![doc = include_str!("sampling.md")]

use respool_core::{GenerateRequest, Sampling};

/// A parameter that cannot be kept over a cut.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{parameter} counts only the tokens of one request, so a turn that was cut cannot be continued under it; \
     set it to 0, or turn partial rollouts off"
)]
pub struct SamplingRefused {
    /// Its name.
    pub parameter: &'static str,
}

/// Whether these parameters can be kept where turns may be cut and continued.
///
/// # Errors
/// If turns may be cut and a penalty would forget what came before the cut.
pub fn check_sampling(sampling: &Sampling, may_continue: bool) -> Result<(), SamplingRefused> {
    let penalties =
        [("presence_penalty", sampling.presence_penalty), ("frequency_penalty", sampling.frequency_penalty)];
    let is_set = |value: Option<f32>| value.is_some_and(|value| value != 0.0);
    match penalties.into_iter().find(|&(_, value)| may_continue && is_set(value)) {
        Some((parameter, _)) => Err(SamplingRefused { parameter }),
        None => Ok(()),
    }
}

/// How many tokens more until the turn may stop; `None` if it may.
pub(crate) fn min_new_tokens(request: &GenerateRequest) -> Option<u32> {
    let left = request.sampling.min_new_tokens?.saturating_sub(request.turn_tokens);
    (left > 0).then_some(left)
}

/// Engines take seeds of 63 bits.
const SEED_BITS: u64 = i64::MAX as u64;

/// SGLang's seed of the request.
pub(crate) const fn sglang_seed(request: &GenerateRequest) -> u64 {
    request.seed & SEED_BITS
}

/// vLLM's seed of the request: another one for each length of the prompt (SplitMix64's finalizer).
pub(crate) fn vllm_seed(request: &GenerateRequest) -> u64 {
    let length = request.prompt_ids.len() as u64;
    let mut bits = request.seed.wrapping_add((length + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits ^ (bits >> 31)) & SEED_BITS
}
