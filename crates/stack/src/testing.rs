//! What the layers' tests share.

use std::sync::Arc;

use futures_util::StreamExt;
use respool_core::{
    EffectId, Fault, GenerateDelta, GenerateEvent, GenerateFinish, GenerateRequest, Logprob, PolicyVersion,
    RolloutId, Sampling,
};
use tokio_util::sync::CancellationToken;

use crate::{GenerateCall, GenerateStream};

pub(crate) type Item = Result<GenerateEvent, Fault>;

pub(crate) fn generate() -> GenerateCall {
    let request = GenerateRequest {
        rollout: RolloutId(7),
        effect: EffectId { turn: 1, slot: 0, attempt: 2 },
        prompt_ids: vec![1, 2, 3],
        turn_tokens: 0,
        max_tokens: 16,
        stop_token_ids: Arc::from([2]),
        sampling: Arc::new(Sampling::default()),
        seed: 0,
    };
    GenerateCall { request, abort: CancellationToken::new() }
}

pub(crate) fn delta(tokens: &[u32]) -> Item {
    Ok(GenerateEvent::Delta(GenerateDelta {
        version: PolicyVersion(1),
        tokens: tokens.to_vec(),
        logprobs: vec![Logprob::new(-1.0); tokens.len()],
    }))
}

pub(crate) fn stop() -> Item {
    Ok(GenerateEvent::Ended(GenerateFinish::Stop))
}

pub(crate) fn stream(items: Vec<Item>) -> GenerateStream {
    futures_util::stream::iter(items).boxed()
}

/// A stream that gives these items and then nothing, for ever.
pub(crate) fn stalled(items: Vec<Item>) -> GenerateStream {
    futures_util::stream::iter(items).chain(futures_util::stream::pending()).boxed()
}
