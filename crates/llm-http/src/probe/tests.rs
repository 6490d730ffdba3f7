use respool_llm::Controls;

use super::*;
use crate::testing::*;

const SGLANG_EVENT: &str = r#"{"output_ids":[5,6],"meta_info":{"finish_reason":{"type":"length"},"completion_tokens":2,"weight_version":"3","output_token_logprobs":[[-1,5,null],[-2,6,null]]}}"#;
const VLLM_EVENT: &str =
    r#"{"choices":[{"token_ids":[5],"logprobs":{"token_logprobs":[-1]},"finish_reason":"length"}]}"#;
const MODELS: &str = r#"{"data":[{"id":"m","root":"models/m","max_model_len":64,"owned_by":"vllm"}]}"#;

type Routes = &'static [(&'static str, &'static str)];

/// A server with these routes; `OPTIONS` of any other is 404.
async fn server(routes: Routes) -> TestServer {
    TestServer::start(move |seen| match routes.iter().find(|(path, _)| *path == seen.path) {
        Some(_) if seen.method == "OPTIONS" => answer("405 Method Not Allowed", "", ""),
        Some((_, body)) => json(body),
        None => answer("404 Not Found", "", r#"{"detail":"Not Found"}"#),
    })
    .await
}

async fn test(routes: Routes, choice: EngineChoice, expected: Expectations) -> Result<Report, ClientError> {
    let server = server(routes).await;
    connect(&server.url, choice, &expected, HttpSettings::default()).await.map(|(_, report)| report)
}

#[track_caller]
fn unfit(result: Result<Report, ClientError>, reason: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
    assert!(error.message().contains(reason), "{error}");
}

const SGLANG: Routes = &[
    ("/model_info", r#"{"model_path":"models/m","served_model_name":"m","weight_version":"default"}"#),
    ("/server_info", r#"{"version":"0.5.23","context_length":null}"#),
    ("/v1/models", MODELS),
    ("/generate", SGLANG_EVENT),
    ("/pause_generation", "{}"),
];

#[tokio::test]
async fn finds_out_what_a_server_is() {
    let report = test(SGLANG, EngineChoice::Auto, Expectations::default()).await.unwrap();
    assert_eq!((report.engine, report.api), (Engine::Sglang, Api::SglangGenerate));
    assert_eq!(report.version.as_deref(), Some("0.5.23"));
    assert_eq!((report.model.as_deref(), report.context_length), (Some("m"), Some(64)));
    assert!(report.labels_tokens);
    let controls = Controls { pause_abort: true, pause_keep: true, ..Controls::default() };
    assert_eq!(report.controls(), controls);
    let text = report.to_string();
    assert!(text.contains("set_version      missing /update_weight_version: "), "{text}");
}

#[tokio::test]
async fn tries_the_routes_of_vllm_in_order() {
    let routes: Routes =
        &[("/version", r#"{"version":"0.32.0"}"#), ("/v1/models", MODELS), ("/v1/completions", VLLM_EVENT)];
    let report = test(routes, EngineChoice::Auto, Expectations::default()).await.unwrap();
    assert_eq!((report.engine, report.api), (Engine::Vllm, Api::VllmCompletions));
    assert!(report.notes.iter().any(|note| note.contains("--enable-scale-out")), "{report}");
    assert!(report.to_string().contains("VLLM_SERVER_DEV_MODE=1"), "{report}");
    assert_eq!(report.config().model.as_deref(), Some("m"));
}

#[tokio::test]
async fn refuses_what_is_not_fit() {
    let (auto, vllm, sglang) = (EngineChoice::Auto, EngineChoice::Vllm, EngineChoice::Sglang);
    let any = Expectations::default;
    unfit(test(&[], auto, any()).await, "/model_info");
    let other = Expectations { model: Some("n".to_owned()), ..any() };
    unfit(test(SGLANG, auto, other).await, "serves the model m, expected n");
    let small = Expectations { vocab_size: Some(6), ..any() };
    unfit(test(SGLANG, auto, small).await, "token 6 is outside the vocabulary of 6");
    let stripped: Routes =
        &[("/generate", r#"{"text":"ab","meta_info":{"finish_reason":{"type":"length"}}}"#)];
    unfit(test(stripped, sglang, any()).await, "no token ids");
    let bare: Routes = &[(
        "/generate",
        r#"{"output_ids":[5],"meta_info":{"finish_reason":"length","completion_tokens":1}}"#,
    )];
    unfit(test(bare, sglang, any()).await, "without a log-probability");
    let stripped: Routes = &[("/v1/completions", r#"{"choices":[{"text":"ab","finish_reason":"length"}]}"#)];
    unfit(test(stripped, vllm, any()).await, "missing_token_ids");
    let empty: Routes =
        &[("/inference/v1/generate", r#"{"choices":[{"token_ids":[],"finish_reason":"stop"}]}"#)];
    unfit(test(empty, vllm, any()).await, "gave no token ids");
}

#[tokio::test]
async fn refuses_a_server_that_tokenizes_otherwise() {
    let routes: Routes = &[
        ("/version", r#"{"version":"0.32.0"}"#),
        ("/v1/models", MODELS),
        ("/tokenize", r#"{"count":2,"tokens":[9707,1879]}"#),
        ("/v1/completions", VLLM_EVENT),
    ];
    let expected = |prompt_ids: &[u32]| Expectations {
        prompt_ids: prompt_ids.to_vec(),
        prompt: Some("Hello world".to_owned()),
        ..Expectations::default()
    };
    test(routes, EngineChoice::Vllm, expected(&[9707, 1879])).await.unwrap();
    unfit(test(routes, EngineChoice::Vllm, expected(&[15339, 1917])).await, "another tokenizer");
}
