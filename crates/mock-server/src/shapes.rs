//! Answers have the keys that the engines' have.

mod recorded;

use serde_json::{Value, json};

use crate::testing::{PROMPT, ask, block_on, counting_config, get, post, start};
use crate::{Engine, HttpFault, HttpFaults, ScriptedFault};

#[track_caller]
fn check_keys(value: &Value, expected: &str) {
    let mut keys: Vec<_> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    let mut expected: Vec<_> = expected.split_whitespace().collect();
    keys.sort_unstable();
    expected.sort_unstable();
    assert_eq!(keys, expected);
}

const META: &str = "id finish_reason prompt_tokens weight_version num_retractions input_token_logprobs \
                    output_token_logprobs output_token_logprobs_length reasoning_tokens completion_tokens \
                    cached_tokens cached_tokens_details dp_rank";
const CHOICE: &str =
    "index finish_reason stop_reason token_ids routed_experts sampling_mask weight_versions logprobs";

#[test]
fn sglang_answers_have_their_keys() {
    block_on(async {
        let server = start(counting_config(Engine::Sglang)).await;
        let (path, body) = ask(Engine::Sglang, "a", &PROMPT, 8, false);
        let whole = post(server.addr(), path, &body).await.json();
        check_keys(&whole, "text output_ids meta_info");
        let last = format!("{META} weight_versions e2e_latency");
        check_keys(&whole["meta_info"], &format!("{last} response_sent_to_client_ts"));
        check_keys(&whole["meta_info"]["finish_reason"], "type length");
        let (path, body) = ask(Engine::Sglang, "b", &PROMPT, 8, true);
        let (events, is_done) = post(server.addr(), path, &body).await.events();
        assert!(is_done && events.len() == 8);
        check_keys(&events[0]["meta_info"], &format!("{META} response_sent_to_client_ts"));
        check_keys(&events[1]["meta_info"], META);
        check_keys(&events[7]["meta_info"], &last);
    });
}

#[test]
fn vllm_answers_have_their_keys() {
    block_on(async {
        let server = start(counting_config(Engine::Vllm)).await;
        let (path, mut body) = ask(Engine::Vllm, "a", &PROMPT, 8, false);
        let whole = post(server.addr(), path, &body).await.json();
        check_keys(
            &whole,
            "request_id model created usage prompt_logprobs prompt_token_id_logprobs prompt_token_ids \
             mm_placeholders metrics kv_transfer_params ec_transfer_params output_mode choices",
        );
        check_keys(&whole["choices"][0], CHOICE);
        check_keys(&whole["choices"][0]["logprobs"]["content"][0], "token_id logprob rank top_logprobs");
        assert_eq!(whole["request_id"], "generate-tokens-a");
        body["stream"] = json!(true);
        body["stream_options"] = json!({ "include_usage": true });
        let (events, is_done) = post(server.addr(), path, &body).await.events();
        assert!(is_done && events.len() == 9);
        check_keys(&events[0], "request_id usage output_mode choices");
        check_keys(&events[7]["choices"][0], CHOICE);
        assert!(events[6]["choices"][0]["weight_versions"].is_null());
        check_keys(&events[8]["usage"], "prompt_tokens total_tokens completion_tokens");
    });
}

#[test]
fn completions_have_their_keys() {
    block_on(async {
        let server = start(counting_config(Engine::Vllm)).await;
        let body = json!({
            "model": "mock", "prompt": PROMPT, "logprobs": 2, "return_token_ids": true,
        });
        let whole = post(server.addr(), "/v1/completions", &body).await.json();
        let choice = &whole["choices"][0];
        check_keys(
            choice,
            "index text logprobs finish_reason stop_reason token_ids prompt_logprobs prompt_token_ids routed_experts",
        );
        check_keys(&choice["logprobs"], "text_offset token_logprobs tokens top_logprobs");
        check_keys(&choice["logprobs"]["top_logprobs"][0], "token_id:1000 token_id:1001");
        assert_eq!(choice["prompt_token_ids"], json!(PROMPT));
        assert_eq!(choice["token_ids"].as_array().map(Vec::len), Some(16));
    });
}

#[test]
fn vllm_had_other_log_probabilities_before() {
    block_on(async {
        let mut config = counting_config(Engine::Vllm);
        config.old_logprobs = true;
        let server = start(config).await;
        let (path, body) = ask(Engine::Vllm, "a", &PROMPT, 1, false);
        let whole = post(server.addr(), path, &body).await.json();
        let entry = &whole["choices"][0]["logprobs"]["content"][0];
        check_keys(entry, "token logprob bytes top_logprobs");
        assert_eq!(entry["token"], "token_id:1000");
    });
}

#[test]
fn refusals_are_the_engines_own() {
    block_on(async {
        let sglang = start(counting_config(Engine::Sglang)).await;
        let mut config = counting_config(Engine::Vllm);
        config.context_length = 8;
        let vllm = start(config).await;
        let tokens = |ids: Value, params: Value| json!({ "token_ids": ids, "sampling_params": params });
        for (server, path, body, status, message) in [
            (&sglang, "/generate", json!({ "input_ids": [] }), 400, "input_ids cannot be empty."),
            (&sglang, "/generate", json!({ "input_ids": [[1], [2]] }), 400, "one prompt a request"),
            (&sglang, "/generate", json!({ "input_ids": [1 << 24] }), 400, "out of vocabulary"),
            (
                &sglang,
                "/generate",
                json!({ "input_ids": vec![1; 32_768] }),
                400,
                "longer than the model's context",
            ),
            (
                &sglang,
                "/generate",
                json!({ "input_ids": vec![1; 32_700] }),
                400,
                "Requested token count exceeds",
            ),
            (&vllm, "/inference/v1/generate", tokens(json!([]), json!({})), 400, "at least 1 item"),
            (&vllm, "/inference/v1/generate", tokens(json!("x"), json!({})), 400, "expected a sequence"),
            (
                &vllm,
                "/inference/v1/generate",
                tokens(json!(vec![1; 9]), json!({})),
                400,
                "maximum model length of 8",
            ),
            (&vllm, "/inference/v1/generate", tokens(json!([1]), json!({ "max_tokens": 0 })), 400, "got 0"),
            (&vllm, "/v1/completions", json!({ "model": "x", "prompt": [1] }), 404, "does not exist"),
        ] {
            let seen = post(server.addr(), path, &body).await;
            let found = seen.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
            assert!(seen.status == status && found.contains(message), "{path}: {} {found}", seen.status);
        }
        let wrong = post(sglang.addr(), "/generate", &json!({ "input_ids": { "a": 1 } })).await.json();
        check_keys(&wrong, "object message type param code");
    });
}

#[test]
fn information_is_there() {
    block_on(async {
        let sglang = start(counting_config(Engine::Sglang)).await;
        assert_eq!(get(sglang.addr(), "/model_info").await.json()["weight_version"], "default");
        assert_eq!(get(sglang.addr(), "/server_info").await.json()["version"], "0.5.23");
        assert_eq!(post(sglang.addr(), "/flush_cache", &Value::Null).await.status, 200);
        let update = json!({ "model_path": "m", "weight_version": "4" });
        let updated = post(sglang.addr(), "/update_weights_from_disk", &update).await.json();
        check_keys(&updated, "success message num_paused_requests");
        assert_eq!(get(sglang.addr(), "/model_info").await.json()["weight_version"], "4");
        let vllm = start(counting_config(Engine::Vllm)).await;
        assert_eq!(get(vllm.addr(), "/v1/models").await.json()["data"][0]["max_model_len"], 32_768);
        assert_eq!(get(vllm.addr(), "/version").await.json()["version"], "0.32.0");
        assert_eq!(get(vllm.addr(), "/load").await.json()["server_load"], 0);
    });
}
