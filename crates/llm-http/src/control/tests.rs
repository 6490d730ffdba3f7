use respool_core::{Class, Fault};
use respool_llm::LlmServer;

use super::*;
use crate::testing::*;
use crate::{Api, HttpSettings};

/// A server that answers these paths, and what it was asked.
async fn asked<T>(
    api: Api,
    answers: &'static [(&'static str, &'static str)],
    ask: impl AsyncFnOnce(&HttpServer) -> Result<T, Fault>,
) -> (Result<T, Fault>, Vec<(String, Value)>) {
    let server = TestServer::start(|seen| match answers.iter().find(|(path, _)| *path == seen.path) {
        Some((_, body)) => json(body),
        None => answer("404 Not Found", "", r#"{"detail":"Not Found"}"#),
    })
    .await;
    let result = ask(&server.client(api, HttpSettings::default())).await;
    (
        result,
        server.seen().into_iter().map(|seen| (format!("{} {}", seen.method, seen.path), seen.body)).collect(),
    )
}

const SGLANG: Api = Api::SglangGenerate;
const VLLM: Api = Api::VllmGenerate;

#[tokio::test]
async fn labelling_weights_aborts_nothing() {
    let answers = &[("/update_weight_version", r#"{"success":true,"new_version":"7"}"#)];
    let (result, seen) =
        asked(SGLANG, answers, async |server| server.set_version(PolicyVersion(7)).await).await;
    assert_eq!(result, Ok(()));
    assert_eq!(seen[0].1, json!({"new_version": "7", "abort_all_requests": false}));
    let (result, seen) =
        asked(VLLM, answers, async |server| server.set_version(PolicyVersion(7)).await).await;
    assert_eq!(result, Ok(()));
    assert_eq!(seen[0].1, json!({"new_version": "7"}));
}

#[tokio::test]
async fn both_engines_pause_in_both_ways() {
    let answers = &[("/pause_generation", "{}"), ("/continue_generation", "{}")];
    let (result, seen) = asked(SGLANG, answers, async |server| {
        server.pause(WeightSync::Abort).await?;
        server.pause(WeightSync::Keep).await?;
        server.pause(WeightSync::Drain).await?;
        server.continue_generation().await
    })
    .await;
    assert_eq!(result, Ok(()));
    let modes: Vec<_> = seen.iter().map(|(_, body)| body["mode"].as_str()).collect();
    assert_eq!(modes, [Some("abort"), Some("in_place"), Some("in_place"), None]);
    let answers = &[
        ("/pause?mode=abort&clear_cache=true", "{}"),
        ("/pause?mode=keep&clear_cache=false", "{}"),
        ("/resume", "{}"),
    ];
    let (result, _) = asked(VLLM, answers, async |server| {
        server.pause(WeightSync::Abort).await?;
        server.pause(WeightSync::Keep).await?;
        server.continue_generation().await
    })
    .await;
    assert_eq!(result, Ok(()));
}

#[tokio::test]
async fn new_weights_keep_the_cache_of_held_requests() {
    let answers =
        &[("/pause_generation", "{}"), ("/update_weights_from_disk", r#"{"success":true,"message":"ok"}"#)];
    let (result, seen) = asked(SGLANG, answers, async |server| {
        server.update_from_disk("/models/1", PolicyVersion(8)).await?;
        server.pause(WeightSync::Keep).await?;
        server.update_from_disk("/models/2", PolicyVersion(9)).await
    })
    .await;
    assert_eq!(result, Ok(()));
    assert_eq!(seen[0].1["flush_cache"], true);
    assert_eq!(
        seen[2].1,
        json!({"model_path": "/models/2", "weight_version": "9", "abort_all_requests": false, "flush_cache": false})
    );
    let (result, seen) =
        asked(VLLM, &[], async |server| server.update_from_disk("/m", PolicyVersion(1)).await).await;
    assert_eq!((result.unwrap_err().class, seen.len()), (Class::Terminal, 0));
}

#[tokio::test]
async fn a_missing_route_is_refused_with_the_way_to_enable_it() {
    let (result, _) = asked(VLLM, &[], async |server| server.pause(WeightSync::Abort).await).await;
    let fault = result.unwrap_err();
    assert_eq!(fault.class, Class::Terminal);
    assert!(fault.message.contains("VLLM_SERVER_DEV_MODE=1"), "{fault}");
    let (result, _) = asked(
        SGLANG,
        &[("/flush_cache?timeout=5", r#"{"success":false,"message":"busy"}"#)],
        async |server| server.flush_cache().await,
    )
    .await;
    let fault = result.unwrap_err();
    assert!(fault.class == Class::Terminal && fault.message.contains("busy"), "{fault}");
}

#[tokio::test]
async fn reads_labels_and_loads() {
    let answers = &[
        ("/model_info", r#"{"weight_version":"default"}"#),
        ("/v1/loads", r#"{"loads":[{"num_running_reqs":2,"num_waiting_reqs":1},{"num_running_reqs":3}]}"#),
    ];
    let (result, _) =
        asked(SGLANG, answers, async |server| Ok((server.weight_label().await?, server.load().await?))).await;
    assert_eq!(result, Ok(("default".to_owned(), Load { running: 5, waiting: 1 })));
    let answers = &[
        ("/weight_info", r#"{"weight_version":"7"}"#),
        (
            "/metrics",
            "# TYPE x\nvllm:num_requests_running{engine=\"0\"} 2.0\nvllm:num_requests_running{engine=\"1\"} 1.0\n\
             vllm:num_requests_waiting{engine=\"0\"} 4.0\nvllm:num_requests_waiting_by_reason{a=\"b\"} 9.0\n",
        ),
    ];
    let (result, _) =
        asked(VLLM, answers, async |server| Ok((server.weight_label().await?, server.load().await?))).await;
    assert_eq!(result, Ok(("7".to_owned(), Load { running: 3, waiting: 4 })));
}

#[tokio::test]
async fn aborts_a_request_as_the_engine_calls_it() {
    let routes = &[("/abort_request", ""), ("/inference/v1/abort_requests", "")];
    let (result, seen) = asked(SGLANG, routes, async |server| server.abort("r-1").await).await;
    assert_eq!((result, &seen[0].1), (Ok(()), &json!({"rid": "r-1"})));
    let (result, seen) = asked(VLLM, routes, async |server| server.abort("r-1").await).await;
    assert_eq!((result, &seen[0].1), (Ok(()), &json!({"request_ids": ["generate-tokens-r-1"]})));
}

#[tokio::test]
async fn says_what_a_server_says_of_its_model() {
    let answers = &[
        ("/version", r#"{"version":"0.33.0"}"#),
        ("/v1/models", r#"{"data":[{"id":"tiny","root":"models/tiny","max_model_len":4096}]}"#),
    ];
    let (result, _) = asked(VLLM, answers, async |server| server.model_info().await).await;
    let info = result.unwrap();
    assert_eq!((info.name.as_deref(), info.context_length), (Some("tiny"), Some(4096)));
    assert_eq!((info.engine_version.as_deref(), info.weight_label), (Some("0.33.0"), None));
}
