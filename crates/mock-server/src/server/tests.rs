use proptest::prelude::*;
use respool_core::Token;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::testing::{
    PROMPT, STOP, Said, ask, block_on, counting_config, get, hash_config, open, open_with, post, said,
    stalling_config, start,
};
use crate::{Engine, MockHttpServer, StreamStyle, WireEnd};

const ENGINES: [Engine; 2] = [Engine::Sglang, Engine::Vllm];
const ID: &str = "0000000000000000000000000000002a-00000000-00000000000000";

/// How many requests run or wait.
async fn active(server: &MockHttpServer) -> usize {
    let now = server.shared.now.lock().await;
    now.alive.as_ref().map_or(0, |(life, _)| life.active_count())
}

/// A whole turn, asked for in pieces.
async fn turn_in_pieces(server: &MockHttpServer, engine: Engine, cumulative: bool, sizes: &[u32]) -> Said {
    let mut whole = Said::default();
    for (nonce, size) in sizes.iter().copied().chain([100_000]).enumerate() {
        let tokens: Vec<Token> = whole.tokens.iter().map(|token| *token as Token).collect();
        if tokens.last() == Some(&STOP) {
            break;
        }
        let prompt = [&PROMPT[..], &tokens].concat();
        let streams = nonce % 2 == 0;
        let (path, body) = ask(engine, &format!("{ID}{nonce:02x}"), &prompt, size.min(20_000), streams);
        let seen = post(server.addr(), path, &body).await;
        let mut said_now = said(engine, cumulative, &seen);
        if !streams {
            said_now.take(engine, true, &seen.json());
        }
        whole.tokens.extend(said_now.tokens);
        whole.logprobs.extend(said_now.logprobs);
    }
    whole
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn cuts_engines_and_stream_styles_change_no_token(
        sizes in prop::collection::vec(1_u32..40, 0..4),
        per_event in 1_u32..9,
    ) {
        block_on(async {
            let mut answers = Vec::new();
            for (engine, stream_style) in [
                (Engine::Sglang, StreamStyle::Cumulative),
                (Engine::Sglang, StreamStyle::Incremental),
                (Engine::Vllm, StreamStyle::Cumulative),
            ] {
                let mut config = hash_config(engine);
                config.stream_style = stream_style;
                config.tokens_per_event = per_event;
                let server = start(config).await;
                let is_cumulative = engine == Engine::Sglang && stream_style == StreamStyle::Cumulative;
                answers.push(turn_in_pieces(&server, engine, is_cumulative, &[]).await);
                answers.push(turn_in_pieces(&server, engine, is_cumulative, &sizes).await);
                server.idle().await;
                let sent: usize = answers.iter().rev().take(2).map(|said| said.tokens.len()).sum();
                assert_eq!(server.log().tokens_sent(), sent as u64);
            }
            assert_eq!(answers[0].tokens.last(), Some(&u64::from(STOP)));
            assert_eq!(answers[0].tokens.len(), answers[0].logprobs.len());
            assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        });
    }
}

/// Control routes by engine: pause that holds, label, continue.
fn hold_and_relabel(engine: Engine) -> [(&'static str, Value); 3] {
    match engine {
        Engine::Sglang => [
            ("/pause_generation", json!({ "mode": "in_place" })),
            ("/update_weight_version", json!({ "new_version": "7", "abort_all_requests": false })),
            ("/continue_generation", json!({})),
        ],
        Engine::Vllm => [
            ("/pause?mode=keep", Value::Null),
            ("/update_weight_version", json!({ "new_version": "7" })),
            ("/resume", Value::Null),
        ],
    }
}

#[test]
fn a_held_stream_goes_on_under_the_new_label_and_the_log_says_so() {
    block_on(async {
        for engine in ENGINES {
            let mut config = counting_config(engine);
            config.token_latency = std::time::Duration::from_millis(20);
            let server = start(config).await;
            let (path, body) = ask(engine, "held", &PROMPT, 100, true);
            let mut stream = open(server.addr(), "POST", path, &body).await.unwrap();
            let mut bytes = stream.piece().await.unwrap().unwrap().to_vec();
            for (path, body) in hold_and_relabel(engine) {
                assert_eq!(post(server.addr(), path, &body).await.status, 200);
            }
            let rest = stream.whole().await;
            bytes.extend(&rest.bytes);
            let seen = said(engine, engine == Engine::Sglang, &crate::testing::Seen { bytes, ..rest });
            assert_eq!(seen.tokens, (1000..1050).chain([u64::from(STOP)]).collect::<Vec<_>>());
            let record = server.log().take().remove(0);
            let spans: Vec<Value> = record
                .spans
                .iter()
                .map(|span| json!({ "version": *span.label, "start": span.start, "end": span.end }))
                .collect();
            assert_eq!(seen.versions, Some(Value::Array(spans)));
            assert_eq!((record.sent, record.end), (51, WireEnd::Stop));
            assert_eq!((record.label(0), record.label(50)), (Some("default"), Some("7")));
        }
    });
}

#[test]
fn a_request_ends_when_its_own_id_is_aborted() {
    block_on(async {
        for (engine, path, body, is_ended) in [
            (Engine::Sglang, "/abort_request", json!({ "rid": "a-" }), true),
            (Engine::Sglang, "/abort_request", json!({ "rid": "" }), false),
            (Engine::Sglang, "/abort_request", json!({ "abort_all": true }), true),
            (Engine::Sglang, "/pause_generation", json!({}), true),
            (Engine::Sglang, "/update_weight_version", json!({ "new_version": "1" }), true),
            (Engine::Vllm, "/inference/v1/abort_requests", json!({ "request_ids": ["a-1"] }), false),
            (
                Engine::Vllm,
                "/inference/v1/abort_requests",
                json!({ "request_ids": ["generate-tokens-a-1"] }),
                true,
            ),
            (Engine::Vllm, "/abort_requests", json!({}), true),
            (Engine::Vllm, "/pause?mode=abort", Value::Null, true),
            (Engine::Vllm, "/update_weight_version", json!({ "new_version": "1" }), false),
        ] {
            let server = start(stalling_config(engine)).await;
            let (route, request) = ask(engine, "a-1", &PROMPT, 100, true);
            let mut stream = open(server.addr(), "POST", route, &request).await.unwrap();
            let first = stream.piece().await.unwrap().unwrap();
            assert_eq!(post(server.addr(), path, &body).await.status, 200, "{path}");
            if !is_ended {
                assert_eq!(active(&server).await, 1, "{path} {body}");
                continue;
            }
            let mut seen = stream.whole().await;
            seen.bytes.splice(0..0, first);
            let said = said(engine, engine == Engine::Sglang, &seen);
            assert_eq!((said.finish.as_deref(), seen.events().1), (Some("abort"), true), "{path} {body}");
            assert_eq!(server.log().take().remove(0).sent as usize, said.tokens.len());
        }
    });
}

#[test]
fn an_abort_repeats_the_last_token_of_an_incremental_stream() {
    block_on(async {
        let mut config = stalling_config(Engine::Sglang);
        config.stream_style = StreamStyle::Incremental;
        let server = start(config).await;
        let (route, request) = ask(Engine::Sglang, "a", &PROMPT, 100, true);
        let mut stream = open(server.addr(), "POST", route, &request).await.unwrap();
        let mut bytes = Vec::new();
        while !String::from_utf8_lossy(&bytes).contains("1001") {
            bytes.extend(stream.piece().await.unwrap().unwrap());
        }
        post(server.addr(), "/abort_request", &json!({ "rid": "a" })).await;
        let mut seen = stream.whole().await;
        seen.bytes.splice(0..0, bytes);
        let (events, _) = seen.events();
        let [.., before, last] = &events[..] else { panic!("{events:?}") };
        assert_eq!(before["output_ids"], last["output_ids"]);
        assert_eq!(before["meta_info"]["completion_tokens"], last["meta_info"]["completion_tokens"]);
    });
}

#[test]
fn what_is_sent_during_a_pause_waits_or_is_refused() {
    block_on(async {
        for (engine, holds, pause, go_on, status) in [
            (Engine::Sglang, true, ("/pause_generation", json!({})), "/continue_generation", 200),
            (Engine::Vllm, true, ("/pause?mode=abort", Value::Null), "/resume", 200),
            (Engine::Vllm, false, ("/pause?mode=wait", Value::Null), "/resume", 503),
            (Engine::Vllm, false, ("/pause?mode=keep", Value::Null), "/resume", 200),
        ] {
            let mut config = counting_config(engine);
            config.holds_while_paused = holds;
            let server = start(config).await;
            assert_eq!(post(server.addr(), pause.0, &pause.1).await.status, 200);
            let (path, body) = ask(engine, "w", &PROMPT, 100, false);
            let (seen, ()) = tokio::join!(post(server.addr(), path, &body), async {
                if status == 200 {
                    while active(&server).await == 0 {
                        tokio::task::yield_now().await;
                    }
                    post(server.addr(), go_on, &Value::Null).await;
                }
            });
            assert_eq!(seen.status, status, "{engine:?} {}", pause.0);
        }
    });
}

#[test]
fn a_dead_server_refuses_and_comes_back_with_its_first_label() {
    block_on(async {
        for engine in ENGINES {
            let server = start(stalling_config(engine)).await;
            post(
                server.addr(),
                "/update_weight_version",
                &json!({ "new_version": "9", "abort_all_requests": false }),
            )
            .await;
            let (path, body) = ask(engine, "d", &PROMPT, 100, true);
            let mut stream = open(server.addr(), "POST", path, &body).await.unwrap();
            stream.piece().await.unwrap().unwrap();
            server.kill().await;
            assert!(stream.whole().await.is_broken);
            assert!(TcpStream::connect(server.addr()).await.is_err());
            let record = server.log().take().remove(0);
            assert_eq!((record.end, record.life), (WireEnd::Death, 0));
            server.revive().await.unwrap();
            let (path, body) = ask(engine, "d", &PROMPT, 2, false);
            let mut said = Said::default();
            said.take(engine, true, &post(server.addr(), path, &body).await.json());
            assert_eq!(said.versions, Some(json!([{ "version": "default", "start": 0, "end": 2 }])));
            server.shutdown().await;
        }
    });
}

#[test]
fn a_whole_answer_that_a_death_cuts_is_logged_as_such() {
    block_on(async {
        let server = start(stalling_config(Engine::Vllm)).await;
        let (path, body) = ask(Engine::Vllm, "d", &PROMPT, 100, false);
        let (answer, ()) = tokio::join!(open(server.addr(), "POST", path, &body), async {
            while active(&server).await == 0 {
                tokio::task::yield_now().await;
            }
            server.kill().await;
        });
        assert!(answer.is_err());
        let record = server.log().take().remove(0);
        assert_eq!((record.end, record.sent), (WireEnd::Death, 0));
    });
}

#[test]
fn a_client_that_goes_away_ends_its_generation() {
    block_on(async {
        let server = start(stalling_config(Engine::Vllm)).await;
        let (path, body) = ask(Engine::Vllm, "gone", &PROMPT, 100, true);
        let mut stream = open(server.addr(), "POST", path, &body).await.unwrap();
        stream.piece().await.unwrap().unwrap();
        drop(stream);
        server.idle().await;
        let record = server.log().take().remove(0);
        assert_eq!(record.end, WireEnd::Disconnect);
        assert!((1..3).contains(&record.sent), "{record:?}");
    });
}

#[test]
fn keys_and_modes_close_routes() {
    block_on(async {
        let mut config = counting_config(Engine::Sglang);
        config.api_key = Some("open".to_owned());
        config.admin_key = Some("sesame".to_owned());
        assert!(!format!("{config:?}").contains("sesame"));
        let server = start(config).await;
        for (method, path, key, status) in [
            ("GET", "/health", None, 200),
            ("GET", "/model_info", None, 401),
            ("GET", "/model_info", Some("open"), 200),
            ("POST", "/pause_generation", Some("open"), 401),
            ("POST", "/pause_generation", Some("sesame"), 200),
            ("GET", "/ready", Some("open"), 503),
            ("GET", "/nothing", Some("open"), 404),
        ] {
            let seen = open_with(server.addr(), method, path, &Value::Null, key).await.unwrap();
            assert_eq!(seen.status, status, "{path} {key:?}");
        }
        let mut config = counting_config(Engine::Vllm);
        config.development_mode = false;
        config.scale_out = false;
        let server = start(config).await;
        assert_eq!(get(server.addr(), "/is_paused").await.status, 404);
        let (path, body) = ask(Engine::Vllm, "x", &PROMPT, 1, false);
        assert_eq!(post(server.addr(), path, &body).await.status, 403);
    });
}
