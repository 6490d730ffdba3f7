use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use respool_core::{Class, Sampling};

use super::*;
use crate::testing::*;

fn settings() -> HttpSettings {
    HttpSettings { abort_grace: Duration::from_millis(50), ..HttpSettings::default() }
}

const VLLM_BODY: &str = r#"{"choices":[{"token_ids":[5],"logprobs":null,"finish_reason":"stop"}]}"#;

async fn refused(
    status: &'static str,
    headers: &'static str,
    body: &'static str,
) -> Result<String, ClientError> {
    let server = TestServer::start(move |_| answer(status, headers, body)).await;
    let stream = server.client(Api::SglangGenerate, settings()).stream(call(&[1])).await?;
    Ok(outcome(stream).await.end)
}

#[tokio::test]
async fn http_errors_have_the_class_of_their_status() {
    let after = |seconds| Class::Overloaded { after: Some(Duration::from_secs(seconds)) };
    for (status, headers, body, class) in [
        ("500 x", "", r#"{"error":{"message":"EngineCore encountered an issue"}}"#, Class::Transient),
        ("502 x", "", "<html>", Class::Transient),
        ("408 x", "", "", Class::Transient),
        ("425 x", "", "", Class::Transient),
        ("429 x", "retry-after: 7\r\n", "", after(7)),
        ("503 x", "retry-after: Thu, 01 Jan 1970 00:00:00 GMT\r\n", "", after(0)),
        ("503 x", "retry-after: soon\r\n", "no workers", Class::Overloaded { after: None }),
        ("400 x", "", r#"{"error":{"message":"Duplicate request ID detected: dup"}}"#, Class::Terminal),
        ("404 x", "", r#"{"detail":"Not Found"}"#, Class::Terminal),
        ("401 x", "", "", Class::Terminal),
        ("302 x", "location: http://elsewhere/\r\n", "", Class::Terminal),
    ] {
        let error = refused(status, headers, body).await.unwrap_err();
        assert_eq!((error.kind(), error.class()), (ErrorKind::HttpStatus, class), "{status}: {error}");
    }
}

#[tokio::test]
async fn a_refusal_for_context_length_is_a_finish() {
    for body in [
        r#"{"error":{"message":"The decoder prompt (length 50) is longer than the maximum model length of 32."}}"#,
        r#"{"object":"error","message":"Requested token count exceeds the model's maximum context length of 32"}"#,
        r#"{"error":{"message":"The input (50 tokens) is longer than the model's context length (32 tokens)."}}"#,
    ] {
        assert_eq!(refused("400 Bad Request", "", body).await.unwrap(), "contextlength", "{body}");
    }
    assert!(refused("404 Not Found", "", "context length").await.is_err());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_no_connection() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let config = HttpConfig::new(url, Api::SglangGenerate);
    let server = HttpServer::new(config, settings()).unwrap();
    let error = server.stream(call(&[1])).await.unwrap_err();
    assert_eq!((error.kind(), error.class()), (ErrorKind::Connect, Class::Transient));
}

#[tokio::test]
async fn an_answer_that_breaks_before_it_begins_is_broken() {
    let server =
        TestServer::start(|seen| if seen.path == "/generate" { vec![Step::Reset] } else { json("") }).await;
    let error = server.client(Api::SglangGenerate, settings()).stream(call(&[1])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Broken);
    // What may still run is stopped.
    assert_eq!(server.saw("/abort_request").await.body["rid"], server.saw("/generate").await.body["rid"]);
}

#[tokio::test]
async fn what_a_router_gave_up_on_is_stopped() {
    let bad_gateway = |seen: &Seen| match seen.path.as_str() {
        "/generate" => answer("502 Bad Gateway", "", "no upstream"),
        _ => json(""),
    };
    let server = TestServer::start(bad_gateway).await;
    server.client(Api::SglangGenerate, settings()).stream(call(&[1])).await.unwrap_err();
    assert_eq!(server.saw("/abort_request").await.body["rid"], server.saw("/generate").await.body["rid"]);
}

#[tokio::test]
async fn what_would_do_harm_is_not_sent() {
    let server = TestServer::start(|_| json(VLLM_BODY)).await;
    let client = server.client(Api::VllmGenerate, settings());
    let refused = async |change: fn(&mut GenerateRequest)| {
        let mut call = call(&[1]);
        change(&mut call.request);
        client.stream(call).await.unwrap_err().kind()
    };
    let penalty = |request: &mut GenerateRequest| {
        request.turn_tokens = 1;
        request.sampling = Arc::new(Sampling { presence_penalty: Some(0.1), ..Sampling::default() });
    };
    assert_eq!(refused(|request| request.prompt_ids = vec![1, 1000]).await, ErrorKind::TokenOutOfVocabulary);
    assert_eq!(
        refused(|request| request.stop_token_ids = Arc::from([1000])).await,
        ErrorKind::TokenOutOfVocabulary
    );
    assert_eq!(refused(|request| request.prompt_ids.clear()).await, ErrorKind::Refused);
    assert_eq!(refused(|request| request.max_tokens = 0).await, ErrorKind::Refused);
    assert_eq!(refused(penalty).await, ErrorKind::Refused);
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn an_abort_before_sending_sends_nothing() {
    let server = TestServer::start(|_| json(VLLM_BODY)).await;
    let call = call(&[1]);
    call.abort.cancel();
    let stream = server.client(Api::VllmGenerate, settings()).stream(call).await.unwrap();
    assert_eq!(outcome(stream).await.end, "abort");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn an_abort_works_while_the_answer_is_waited_for() {
    for late in [vec![Step::Hang], vec![Step::Await("abort"), Step::Reset], {
        let mut steps = vec![Step::Await("abort")];
        steps.extend(answer("400 Bad Request", "", "aborted"));
        steps
    }] {
        let server =
            TestServer::start(
                move |seen| {
                    if seen.path == Api::VllmGenerate.path() { late.clone() } else { json("") }
                },
            )
            .await;
        let call = call(&[1]);
        let token = call.abort.clone();
        let client = server.client(Api::VllmGenerate, settings());
        let cancel = async {
            let sent = server.saw("/generate").await;
            token.cancel();
            sent
        };
        let (stream, sent) = tokio::join!(client.stream(call), cancel);
        assert_eq!(outcome(stream.unwrap()).await.end, "abort");
        let named = format!("generate-tokens-{}", sent.body["request_id"].as_str().unwrap());
        assert_eq!(server.saw("abort").await.body["request_ids"][0], named);
    }
}

/// A vLLM that refuses the first request, and is paused as often as asked.
async fn paused(times: usize) -> TestServer {
    let (asked, sent) = (AtomicUsize::new(0), AtomicUsize::new(0));
    TestServer::start(move |seen| match seen.path.as_str() {
        "/is_paused" => {
            let is_paused = asked.fetch_add(1, Ordering::Relaxed) < times;
            json(&format!("{{\"is_paused\":{is_paused}}}"))
        }
        "/inference/v1/generate" if sent.fetch_add(1, Ordering::Relaxed) == 0 => answer(
            "503 Service Unavailable",
            "",
            r#"{"error":{"type":"ServiceUnavailableError","message":"paused"}}"#,
        ),
        _ => json(VLLM_BODY),
    })
    .await
}

#[tokio::test]
async fn a_paused_vllm_is_waited_for() {
    let server = paused(2).await;
    let stream = server.client(Api::VllmGenerate, settings()).stream(call(&[1])).await.unwrap();
    assert_eq!(outcome(stream).await.end, "stop");
    let ids: Vec<_> = server.seen().iter().filter_map(|seen| seen.body.get("request_id").cloned()).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
}

#[tokio::test]
async fn a_full_vllm_is_overloaded() {
    let server = paused(0).await;
    let error = server.client(Api::VllmGenerate, settings()).stream(call(&[1])).await.unwrap_err();
    assert_eq!(error.class(), Class::Overloaded { after: None });
}

#[tokio::test]
async fn a_wait_for_a_paused_vllm_can_be_aborted() {
    let server = paused(usize::MAX).await;
    let call = call(&[1]);
    let token = call.abort.clone();
    let client = server.client(Api::VllmGenerate, settings());
    let cancel = async {
        server.saw("/is_paused").await;
        token.cancel();
    };
    let (stream, ()) = tokio::join!(client.stream(call), cancel);
    assert_eq!(outcome(stream.unwrap()).await.end, "abort");
}

#[tokio::test]
async fn keys_are_sent_and_never_shown() {
    let file = std::env::temp_dir().join(format!("respool-key-{}", std::process::id()));
    std::fs::write(&file, "hunter2\n").unwrap();
    let settings = HttpSettings {
        api_key_file: Some(file.clone()),
        session_header: Some("X-Session-ID".to_owned()),
        ..settings()
    };
    let server = TestServer::start(|_| json(VLLM_BODY)).await;
    let client = server.client(Api::VllmGenerate, settings);
    std::fs::remove_file(file).unwrap();
    assert_eq!(outcome(client.stream(call(&[1])).await.unwrap()).await.end, "stop");
    let head = server.seen()[0].head.to_lowercase();
    assert!(head.contains("authorization: bearer hunter2"), "{head}");
    assert!(head.contains(&format!("x-session-id: {}", respool_core::RolloutId(7))), "{head}");
    assert!(!format!("{client:?} {:?}", client.shared).contains("hunter2"));
}

#[test]
fn wrong_settings_are_named() {
    let error = |url: &str, change: fn(&mut HttpSettings)| {
        let mut settings = HttpSettings::default();
        change(&mut settings);
        let config = HttpConfig::new(url, Api::SglangGenerate);
        HttpServer::new(config, settings).unwrap_err().to_string()
    };
    assert!(error("localhost:8000", |_| {}).contains("http://"));
    let with_user = error("http://me:secret@host", |_| {});
    assert!(with_user.contains("api_key_env") && !with_user.contains("secret"), "{with_user}");
    let url = "http://host:1";
    assert!(error(url, |settings| settings.abort_grace = Duration::from_secs(2)).contains("less than 2s"));
    assert!(
        error(url, |settings| settings.api_key_env = Some("RESPOOL_NO_SUCH".into()))
            .contains("RESPOOL_NO_SUCH")
    );
    assert!(error(url, |settings| settings.session_header = Some("a b".into())).contains("session_header"));
}

#[test]
fn wrong_urls_and_settings_are_told_of() {
    let refused = |url: &str, settings: HttpSettings| {
        let config = HttpConfig::new(url, Api::SglangGenerate);
        HttpServer::new(config, settings).err().map(|error| error.to_string())
    };
    for (url, reason) in [
        ("http://host:99999", "the port is no number"),
        ("http://host:30000#f", "a fragment"),
        ("http://host?x=1", "a query"),
        ("http://user:secret@host", "a user in it"),
        ("", "(an empty URL)"),
        ("host:30000", "expected a URL that begins with http"),
    ] {
        let error = refused(url, settings()).unwrap_or_default();
        assert!(error.contains(reason) && !error.contains("secret"), "{url}: {error}");
    }
    for url in ["http://host", "http://host:30000/", "http://[::1]:30000", "http://[::1]", "http://h/router"]
    {
        assert_eq!(refused(url, settings()), None, "{url}");
    }
    let header = |name: &str| HttpSettings { session_header: Some(name.to_owned()), ..settings() };
    assert!(
        refused("http://host", header("Authorization")).is_some_and(|error| error.contains("session_header"))
    );
    assert_eq!(refused("http://host", header("X-Session-ID")), None);
}
