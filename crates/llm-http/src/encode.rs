//! Requests as the engines read them.

mod ids;

use respool_core::{GenerateRequest, PolicyVersion, Token};
use serde::Serialize;

use self::ids::push_ids;
use crate::sampling::{min_new_tokens, sglang_seed, vllm_seed};
use crate::{Api, CacheSalt, HttpSettings, SeedMode, SessionField};

/// What a request says beside itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope<'a> {
    pub(crate) id: &'a str,
    pub(crate) model: Option<&'a str>,
    pub(crate) version: PolicyVersion,
    pub(crate) settings: &'a HttpSettings,
}

/// Parameters that both engines call the same.
#[derive(Serialize)]
struct Common<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repetition_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f32>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_token_ids: &'a [Token],
    ignore_eos: bool,
    skip_special_tokens: bool,
}

#[derive(Serialize)]
struct SglangParams<'a> {
    max_new_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_new_tokens: Option<u32>,
    #[serde(flatten)]
    common: Common<'a>,
    spaces_between_special_tokens: bool,
    no_stop_trim: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling_seed: Option<u64>,
}

#[derive(Serialize)]
struct VllmParams<'a> {
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_tokens: Option<u32>,
    #[serde(flatten)]
    common: Common<'a>,
    /// The sampled token's value and no others.
    logprobs: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

/// Fields for what stands between us and the engine.
#[derive(Serialize)]
struct Routing {
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    routing_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_salt: Option<String>,
}

#[derive(Serialize)]
struct Sglang<'a> {
    rid: &'a str,
    sampling_params: SglangParams<'a>,
    return_logprob: bool,
    stream: bool,
    #[serde(flatten)]
    routing: Routing,
}

#[derive(Serialize)]
struct VllmGenerate<'a> {
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    sampling_params: VllmParams<'a>,
    stream: bool,
    #[serde(flatten)]
    routing: Routing,
}

#[derive(Serialize)]
struct VllmCompletions<'a> {
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(flatten)]
    params: VllmParams<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_token_ids: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_tokens_as_token_ids: Option<bool>,
    stream: bool,
    #[serde(flatten)]
    routing: Routing,
}

/// The body of a generation request.
pub(crate) fn encode(
    api: Api,
    request: &GenerateRequest,
    envelope: Envelope<'_>,
) -> serde_json::Result<Vec<u8>> {
    let Envelope { id, model, .. } = envelope;
    let routing = routing(request, envelope);
    let ids = &request.prompt_ids;
    match api {
        Api::SglangGenerate => {
            let sampling_params = sglang_params(request, envelope.settings);
            let rest = Sglang { rid: id, sampling_params, return_logprob: true, stream: true, routing };
            with_ids("input_ids", ids, &rest)
        }
        Api::VllmGenerate => {
            let sampling_params = vllm_params(request, envelope.settings);
            let rest = VllmGenerate { request_id: id, model, sampling_params, stream: true, routing };
            with_ids("token_ids", ids, &rest)
        }
        Api::VllmCompletions | Api::VllmCompletionsAsIds => {
            let as_ids = api == Api::VllmCompletionsAsIds;
            let rest = VllmCompletions {
                request_id: id,
                model,
                params: vllm_params(request, envelope.settings),
                return_token_ids: (!as_ids).then_some(true),
                return_tokens_as_token_ids: as_ids.then_some(true),
                stream: true,
                routing,
            };
            with_ids("prompt", ids, &rest)
        }
    }
}

fn common(request: &GenerateRequest) -> Common<'_> {
    let sampling = &request.sampling;
    Common {
        temperature: sampling.temperature,
        top_p: sampling.top_p,
        top_k: sampling.top_k,
        min_p: sampling.min_p,
        repetition_penalty: sampling.repetition_penalty,
        presence_penalty: sampling.presence_penalty,
        frequency_penalty: sampling.frequency_penalty,
        stop_token_ids: &request.stop_token_ids,
        ignore_eos: sampling.ignore_eos,
        skip_special_tokens: false,
    }
}

fn sglang_params<'a>(request: &'a GenerateRequest, settings: &HttpSettings) -> SglangParams<'a> {
    SglangParams {
        max_new_tokens: request.max_tokens,
        min_new_tokens: min_new_tokens(request),
        common: common(request),
        spaces_between_special_tokens: false,
        no_stop_trim: true,
        sampling_seed: (settings.seed == SeedMode::Send).then(|| sglang_seed(request)),
    }
}

fn vllm_params<'a>(request: &'a GenerateRequest, settings: &HttpSettings) -> VllmParams<'a> {
    VllmParams {
        max_tokens: request.max_tokens,
        min_tokens: min_new_tokens(request),
        common: common(request),
        logprobs: 0,
        seed: (settings.seed == SeedMode::Send).then(|| vllm_seed(request)),
    }
}

fn routing(request: &GenerateRequest, envelope: Envelope<'_>) -> Routing {
    let settings = envelope.settings;
    let named = |field| (settings.session_field == Some(field)).then(|| request.rollout.to_string());
    Routing {
        session_id: named(SessionField::SessionId),
        routing_key: named(SessionField::RoutingKey),
        cache_salt: (settings.cache_salt == CacheSalt::Version).then(|| envelope.version.to_string()),
    }
}

/// An object whose first field is the ids; they are most of it and so are written by hand.
fn with_ids(field: &str, ids: &[Token], rest: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    // Ids of today's vocabularies have up to six digits.
    let mut body = Vec::with_capacity(ids.len() * 7 + 512);
    body.extend_from_slice(b"{\"");
    body.extend_from_slice(field.as_bytes());
    body.extend_from_slice(b"\":[");
    push_ids(&mut body, ids);
    if !ids.is_empty() {
        body.pop();
    }
    body.push(b']');
    let start = body.len();
    serde_json::to_writer(&mut body, rest)?;
    // The other fields' own brace opens nothing: they follow.
    body[start] = b',';
    Ok(body)
}

#[cfg(test)]
mod tests;
