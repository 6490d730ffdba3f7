//! What SGLang tells about itself; of its longest answers, what a client may want to know.

use serde_json::{Value, json};

use crate::connection::Context;

pub(super) fn model(context: &Context) -> Value {
    let config = &context.shared.config;
    json!({
        "model_path": config.model_name,
        "served_model_name": config.model_name,
        "tokenizer_path": config.model_name,
        "is_generation": true,
        "preferred_sampling_params": null,
        "weight_version": *context.life.current_label(),
        "load_format": "auto",
        "reasoning_parser": null,
        "tool_call_parser": null,
        "disaggregation_mode": "null",
        "has_image_understanding": false,
        "has_audio_understanding": false,
        "model_type": "mock",
        "architectures": ["MockForCausalLM"],
    })
}

pub(super) fn server(context: &Context) -> Value {
    let config = &context.shared.config;
    json!({
        "model_path": config.model_name,
        "tokenizer_path": config.model_name,
        "served_model_name": config.model_name,
        "context_length": config.context_length,
        "skip_tokenizer_init": false,
        "weight_version": *context.life.current_label(),
        "max_total_num_tokens": config.context_length,
        "max_req_input_len": config.context_length.saturating_sub(1),
        "incremental_streaming_output": config.stream_style == crate::StreamStyle::Incremental,
        "status": "ready",
        "version": config.engine_version(),
    })
}

pub(super) async fn loads(context: &Context) -> Value {
    let (running, waiting) = context.life.load().await;
    json!({
        "timestamp": "1970-01-01T00:00:00+00:00",
        "version": context.shared.config.engine_version(),
        "accelerator": null,
        "num_accelerators": 1,
        "loads": [{
            "timestamp": 0.0,
            "dp_rank": 0,
            "num_running_reqs": running,
            "num_waiting_reqs": waiting,
            "num_waiting_uncached_tokens": 0,
            "num_used_tokens": 0,
            "num_total_tokens": 0,
            "max_total_num_tokens": context.shared.config.context_length,
            "max_running_requests": 2048,
            "token_usage": 0.0,
            "gen_throughput": 0.0,
            "cache_hit_rate": 0.0,
            "utilization": 0.0,
        }],
    })
}

pub(super) fn models(context: &Context) -> Value {
    json!({ "object": "list", "data": [context.shared.config.model_entry("sglang")] })
}
