use std::sync::Arc;

use respool_core::{EffectId, RolloutId, Sampling};
use serde_json::{Value, json};

use super::*;

fn request() -> GenerateRequest {
    GenerateRequest {
        rollout: RolloutId(0xab),
        effect: EffectId { turn: 1, slot: 0, attempt: 0 },
        prompt_ids: vec![0, 7, 151_644, u32::MAX],
        turn_tokens: 3,
        max_tokens: 16,
        stop_token_ids: Arc::from([2, 3]),
        sampling: Arc::new(Sampling {
            temperature: Some(0.7),
            min_new_tokens: Some(5),
            ..Sampling::default()
        }),
        seed: u64::MAX,
    }
}

fn encoded(api: Api, settings: &HttpSettings) -> Value {
    let envelope = Envelope { id: "r-1", model: Some("m"), version: PolicyVersion(4), settings };
    serde_json::from_slice(&encode(api, &request(), envelope).unwrap()).unwrap()
}

#[test]
fn writes_what_sglang_reads() {
    let params = json!({
        "max_new_tokens": 16, "min_new_tokens": 2, "temperature": 0.7, "stop_token_ids": [2, 3],
        "ignore_eos": false, "skip_special_tokens": false, "spaces_between_special_tokens": false,
        "no_stop_trim": true,
    });
    let expected = json!({
        "input_ids": [0, 7, 151_644, u32::MAX], "rid": "r-1", "sampling_params": params,
        "return_logprob": true, "stream": true,
    });
    assert_eq!(encoded(Api::SglangGenerate, &HttpSettings::default()), expected);
}

#[test]
fn writes_what_vllm_reads() {
    let params = json!({
        "max_tokens": 16, "min_tokens": 2, "temperature": 0.7, "stop_token_ids": [2, 3],
        "ignore_eos": false, "skip_special_tokens": false, "logprobs": 0,
    });
    let expected = json!({
        "token_ids": [0, 7, 151_644, u32::MAX], "request_id": "r-1", "model": "m",
        "sampling_params": params, "stream": true,
    });
    assert_eq!(encoded(Api::VllmGenerate, &HttpSettings::default()), expected);
    let mut expected = params;
    for (key, value) in [
        ("prompt", json!([0, 7, 151_644, u32::MAX])),
        ("request_id", json!("r-1")),
        ("model", json!("m")),
        ("stream", json!(true)),
        ("return_token_ids", json!(true)),
    ] {
        expected[key] = value;
    }
    assert_eq!(encoded(Api::VllmCompletions, &HttpSettings::default()), expected);
    let as_ids = encoded(Api::VllmCompletionsAsIds, &HttpSettings::default());
    assert_eq!(as_ids["return_tokens_as_token_ids"], true);
    assert_eq!(as_ids["return_token_ids"], Value::Null);
}

#[test]
fn writes_what_is_asked_for() {
    let settings = HttpSettings {
        cache_salt: CacheSalt::Version,
        seed: SeedMode::Send,
        session_field: Some(SessionField::RoutingKey),
        ..HttpSettings::default()
    };
    let sglang = encoded(Api::SglangGenerate, &settings);
    assert_eq!(sglang["cache_salt"], "4");
    assert_eq!(sglang["routing_key"], RolloutId(0xab).to_string());
    assert_eq!(sglang["sampling_params"]["sampling_seed"], i64::MAX);
    let settings = HttpSettings { session_field: Some(SessionField::SessionId), ..settings };
    let vllm = encoded(Api::VllmGenerate, &settings);
    assert_eq!(vllm["session_id"], RolloutId(0xab).to_string());
    let mut longer = request();
    longer.prompt_ids.push(1);
    assert_ne!(vllm_seed(&longer), vllm_seed(&request()), "a continuation draws other numbers");
    assert_eq!(vllm["sampling_params"]["seed"], vllm_seed(&request()));
}

#[test]
fn writes_ids_as_everybody_does() {
    let ids: Vec<u32> =
        (0..2000).chain((2000..1_002_000).step_by(97)).chain([u32::MAX - 1, u32::MAX]).collect();
    let mut body = Vec::new();
    push_ids(&mut body, &ids);
    let expected: String = ids.iter().map(|id| format!("{id},")).collect();
    assert_eq!(String::from_utf8(body).unwrap(), expected);
}
