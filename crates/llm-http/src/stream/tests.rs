use std::time::Duration;

use crate::testing::*;
use crate::{Api, HttpSettings};

const GENERATE: Api = Api::VllmGenerate;

fn settings() -> HttpSettings {
    HttpSettings { abort_grace: Duration::from_millis(50), ..HttpSettings::default() }
}

fn event(ids: &str, logprobs: &str, finish: &str) -> String {
    format!(
        "data: {{\"request_id\":\"generate-tokens-x\",\"choices\":[{{\"token_ids\":{ids},\
         \"logprobs\":{{\"token_logprobs\":{logprobs}}},\"finish_reason\":{finish}}}]}}\n\n"
    )
}

fn first() -> String {
    event("[5,6]", "[-1,-2]", "null")
}

/// What comes of these steps, after the head of an event stream.
async fn run(steps: Vec<Step>) -> Outcome {
    let server =
        TestServer::start(move |seen| if seen.path == GENERATE.path() { steps.clone() } else { json("{}") })
            .await;
    let stream = server.client(GENERATE, settings()).stream(call(&[1, 2])).await.unwrap();
    outcome(stream).await
}

async fn check(body: &str, tokens: &[u32], end: &str) {
    let got = run(vec![stream_head(), write(body)]).await;
    assert_eq!((got.tokens.as_slice(), got.end.as_str()), (tokens, end), "{body}");
}

#[tokio::test]
async fn every_end_of_a_stream() {
    let first = first();
    let with = |rest: &str| format!("{first}{rest}");
    check(&with(&event("[2]", "[-3]", "\"stop\"")), &[5, 6, 2], "stop").await;
    check(&with(&event("[]", "[]", "\"stop\"")), &[5, 6], "stop").await;
    check(
        &with("data: {\"choices\":[{\"token_ids\":null,\"finish_reason\":\"length\"}]}\n\n"),
        &[5, 6],
        "length",
    )
    .await;
    check(&with(&event("[]", "[]", "\"abort\"")), &[5, 6], "abort").await;
    check(&with(&event("[]", "[]", "\"repetition\"")), &[5, 6], "repetition").await;
    check(&with(&event("[]", "[]", "\"flood\"")), &[5, 6], "other(\"flood\")").await;
    check(&with(""), &[5, 6], "broken").await;
    check(&with("data: [DONE]\n\n"), &[5, 6], "broken").await;
    check(&with("data: {\"choices\":[{\"token_"), &[5, 6], "broken").await;
    check(
        &with("data: {\"error\":{\"message\":\"EngineCore died\",\"code\":500}}\n\n"),
        &[5, 6],
        "server_error",
    )
    .await;
    check(
        &with("data: {\"error\":{\"message\":\"maximum context length\",\"code\":400}}\n\n"),
        &[5, 6],
        "contextlength",
    )
    .await;
    check(&with("data: garbage\n\n"), &[5, 6], "invalid_response").await;
    check(&with(&event("[7]", "[-1,-2]", "\"stop\"")), &[5, 6], "invalid_response").await;
    check(&with(&event("[1000]", "[-1]", "\"stop\"")), &[5, 6], "invalid_response").await;
    check(&with("data: {\"choices\":[{\"text\":\"x\"}]}\n\n"), &[5, 6], "missing_token_ids").await;
    check("data: {\"choices\":[{\"token_ids\":[5],\"prompt_token_ids\":[1,3]}]}\n\n", &[], "prompt_changed")
        .await;
    check("", &[], "broken").await;
    let unclosed = event("[2]", "[-3]", "\"stop\"");
    check(&with(unclosed.trim_end()), &[5, 6, 2], "stop").await;
}

#[tokio::test]
async fn a_connection_that_breaks_keeps_what_came() {
    let got = run(vec![broken_chunk(&first()), Step::Reset]).await;
    assert_eq!((got.tokens.as_slice(), got.end.as_str()), (&[5, 6][..], "broken"));
    let finished = format!("{}{}", first(), event("[2]", "[-3]", "\"stop\""));
    let got = run(vec![broken_chunk(&finished), Step::Reset]).await;
    assert_eq!((got.tokens.as_slice(), got.end.as_str()), (&[5, 6, 2][..], "stop"));
}

#[tokio::test]
async fn a_server_that_does_not_close_a_finished_answer_delays_nothing() {
    let finished = format!("{}{}", first(), event("[2]", "[-3]", "\"stop\""));
    let got = run(vec![stream_head(), write(&finished), Step::Hang]).await;
    assert_eq!((got.tokens.as_slice(), got.end.as_str()), (&[5, 6, 2][..], "stop"));
}

#[tokio::test]
async fn bytes_one_by_one_are_the_same_answer() {
    let body = format!("{}{}data: [DONE]\n\n", first(), event("[2]", "[-3]", "\"stop\""));
    let mut steps = vec![stream_head()];
    steps.extend(body.bytes().map(|byte| Step::Write(vec![byte])));
    let got = run(steps).await;
    assert_eq!((got.tokens.as_slice(), got.end.as_str()), (&[5, 6, 2][..], "stop"));
}

#[tokio::test]
async fn nothing_counts_after_done_however_it_is_cut() {
    let (done, late) = ("data: [DONE]\n\n", event("[7]", "[-3]", "\"stop\""));
    for steps in [
        vec![stream_head(), write(&format!("{}{done}{late}", first()))],
        vec![stream_head(), write(&format!("{}{done}", first())), write(&late)],
        vec![stream_head(), write(&first()), write(done), write(late.trim_end())],
    ] {
        let got = run(steps).await;
        assert_eq!((got.tokens.as_slice(), got.end.as_str()), (&[5, 6][..], "broken"));
    }
}

#[tokio::test]
async fn a_json_answer_that_breaks_off_is_broken() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n";
    let got = run(vec![write(&format!("{head}{{\"choices\":[{{\"token_ids\":[5")), Step::Reset]).await;
    assert_eq!((got.tokens.len(), got.end.as_str()), (0, "broken"));
}

/// The last event of an answer whose first one had two tokens, with these spans.
fn last_with(spans: &str) -> String {
    format!(
        "data: {{\"choices\":[{{\"token_ids\":[7],\"logprobs\":{{\"token_logprobs\":[-1]}},\
         \"finish_reason\":\"stop\",\"weight_versions\":[{spans}]}}]}}\n\n"
    )
}

fn span(version: &str, start: u32, end: u32) -> String {
    format!("{{\"version\":\"{version}\",\"start\":{start},\"end\":{end}}}")
}

#[tokio::test]
async fn a_lost_or_doubled_token_is_noticed() {
    for (counted, end) in [(3, "stop"), (4, "invalid_response"), (2, "invalid_response")] {
        check(&format!("{}{}", first(), last_with(&span("1", 0, counted))), &[5, 6, 7], end).await;
    }
}

#[tokio::test]
async fn spans_that_contradict_each_other_are_no_certainty() {
    let two = |a: String, b: String| format!("{a},{b}");
    for (spans, uncertain) in [
        (two(span("1", 0, 2), span("2", 2, 3)), false),
        (two(span("1", 0, 3), span("2", 1, 2)), true),
        (two(span("1", 0, 1), span("2", 2, 3)), true),
        (two(span("2", 2, 3), span("1", 0, 2)), true),
    ] {
        let got = run(vec![stream_head(), write(&format!("{}{}", first(), last_with(&spans)))]).await;
        assert_eq!((got.is_uncertain, got.end.as_str()), (uncertain, "stop"), "{spans}");
    }
}

#[tokio::test]
async fn a_probability_over_one_is_none() {
    let got = run(vec![stream_head(), write(&event("[5,6]", "[3.5,0.0000001]", "\"stop\""))]).await;
    let values: Vec<Option<f32>> = got.logprobs.iter().map(|value| value.get()).collect();
    assert_eq!(values, [None, Some(1e-7)]);
}

#[tokio::test]
async fn takes_a_plain_json_answer() {
    let body = r#"{"request_id":"g","choices":[{"token_ids":[5],"logprobs":null,"finish_reason":"stop"}]}"#;
    let got = run(json(body)).await;
    assert_eq!((got.tokens.as_slice(), got.end.as_str()), (&[5][..], "stop"));
}

#[tokio::test]
async fn an_event_over_the_limit_ends_the_stream() {
    let server =
        TestServer::start(|_| vec![stream_head(), write(&first()), write(&"x".repeat(500)), Step::Hang])
            .await;
    let settings = HttpSettings { max_event_bytes: 300, ..settings() };
    let got = outcome(server.client(GENERATE, settings).stream(call(&[1])).await.unwrap()).await;
    assert_eq!((got.tokens.as_slice(), got.end.as_str()), (&[5, 6][..], "too_large"));
}

#[tokio::test]
async fn versions_are_the_engines_where_it_tells_them() {
    let last = "data: {\"choices\":[{\"token_ids\":[7],\"finish_reason\":\"stop\",\"weight_versions\":[\
                {\"version\":\"default\",\"start\":0,\"end\":1},{\"version\":\"9\",\"start\":1,\"end\":8}]}]}\n\n";
    let got = run(vec![stream_head(), write(&format!("{}{last}", first()))]).await;
    assert_eq!(got.versions, [4, 4, 4]);
    assert_eq!(got.spans, [(0, 1, 4), (1, 2, 9)]);
}

/// A generation that is aborted after its first tokens; `rest` comes after the server was told.
async fn abort(rest: Vec<Step>) -> (Outcome, Seen) {
    let server = TestServer::start(move |seen| {
        if seen.path != GENERATE.path() {
            return json("");
        }
        let mut steps = vec![stream_head(), write(&first()), Step::Await("abort")];
        steps.extend(rest.clone());
        steps
    })
    .await;
    let call = call(&[1, 2]);
    let token = call.abort.clone();
    let mut stream = server.client(GENERATE, settings()).stream(call).await.unwrap();
    let delta = futures_util::StreamExt::next(&mut stream).await.unwrap();
    assert!(delta.is_ok());
    token.cancel();
    let got = outcome(stream).await;
    let seen = server.saw("abort").await;
    (got, seen)
}

#[tokio::test]
async fn every_end_of_an_aborted_stream() {
    let more = event("[7]", "[-1]", "null");
    for (rest, tokens, end) in [
        (vec![write(&event("[7]", "[-1]", "\"abort\""))], &[7][..], "abort"),
        (vec![write(&event("[7]", "[-1]", "\"stop\""))], &[7], "stop"),
        (vec![write(&more), write("data: {\"error\":\"aborted\"}\n\n")], &[7], "abort"),
        (vec![write(&more), write("data: nonsense\n\n")], &[7], "abort"),
        (vec![write(&more), write("data: [DONE]\n\n")], &[7], "abort"),
        (vec![write(&more)], &[7], "abort"),
        (vec![write(&more), Step::Hang], &[7], "abort"),
        (vec![Step::Hang], &[], "abort"),
    ] {
        let (got, seen) = abort(rest.clone()).await;
        assert_eq!((got.tokens.as_slice(), got.end.as_str()), (tokens, end), "{rest:?}");
        assert_eq!(seen.path, "/inference/v1/abort_requests");
        assert_eq!(seen.body["request_ids"][0], "generate-tokens-x", "as the server named it");
    }
}

#[tokio::test]
async fn a_dropped_stream_tells_the_server() {
    let server = TestServer::start(|seen| match seen.path.as_str() {
        "/generate" => {
            vec![stream_head(), write("data: {\"output_ids\":[5],\"meta_info\":{}}\n\n"), Step::Hang]
        }
        _ => json(""),
    })
    .await;
    let mut stream = server.client(Api::SglangGenerate, settings()).stream(call(&[1])).await.unwrap();
    assert!(futures_util::StreamExt::next(&mut stream).await.unwrap().is_ok());
    drop(stream);
    let (sent, aborted) = (server.saw("/generate").await, server.saw("/abort_request").await);
    assert_eq!(aborted.body["rid"], sent.body["rid"]);
}
