use serde_json::{Value, json};

use crate::testing::{PROMPT, Seen, ask, block_on, counting_config, get, open, post, said, start};
use crate::{BadLogprob, Engine, HttpFault, HttpFaults, MockHttpServer, ScriptedFault, WireEnd, WireRecord};

const ENGINES: [Engine; 2] = [Engine::Sglang, Engine::Vllm];

/// What a server with this fault sends, or `None` where there was no answer, and its log.
async fn meet(engine: Engine, fault: HttpFault, stream: bool) -> (Option<Seen>, Vec<WireRecord>) {
    let server = server_with(engine, fault).await;
    let (path, body) = ask(engine, "f", &PROMPT, 100, stream);
    let seen = match open(server.addr(), "POST", path, &body).await {
        Ok(open) => Some(open.whole().await),
        Err(_) => None,
    };
    server.idle().await;
    (seen, server.log().take())
}

async fn server_with(engine: Engine, fault: HttpFault) -> MockHttpServer {
    let mut config = counting_config(engine);
    config.faults = HttpFaults { script: vec![ScriptedFault { request: 0, fault }], ..HttpFaults::default() };
    start(config).await
}

/// How a stream ended, as its client sees it.
#[derive(Debug, PartialEq)]
struct Ending {
    tokens: usize,
    finish: Option<&'static str>,
    is_done: bool,
    is_broken: bool,
    log: WireEnd,
}

#[test]
fn a_stream_breaks_off_as_its_fault_says_after_so_many_tokens() {
    block_on(async {
        for engine in ENGINES {
            let after = 5;
            let fault_end = |is_done, is_broken| Ending {
                tokens: 5,
                finish: None,
                is_done,
                is_broken,
                log: WireEnd::Fault,
            };
            for (fault, expected) in [
                (HttpFault::Reset { after }, fault_end(false, true)),
                (HttpFault::Close { after }, fault_end(false, false)),
                (HttpFault::Truncate { after }, fault_end(false, true)),
                (HttpFault::Garbage { after }, fault_end(false, true)),
                (HttpFault::ErrorEvent { after }, fault_end(true, false)),
                (HttpFault::Die { after, back_after: None }, fault_end(false, true)),
                (
                    HttpFault::Abort { after },
                    Ending {
                        tokens: 5,
                        finish: Some("abort"),
                        is_done: true,
                        is_broken: false,
                        log: WireEnd::Abort,
                    },
                ),
            ] {
                let (seen, log) = meet(engine, fault, true).await;
                let seen = seen.unwrap();
                let said = said(engine, engine == Engine::Sglang, &seen);
                let found = Ending {
                    tokens: said.tokens.len(),
                    finish: said.finish.as_deref().map(|_| "abort"),
                    is_done: seen.events().1,
                    is_broken: seen.is_broken,
                    log: log[0].end,
                };
                assert_eq!(found, expected, "{engine:?} {fault:?}");
                assert_eq!(log[0].sent, 5, "{engine:?} {fault:?}");
            }
        }
    });
}

#[test]
fn a_whole_answer_breaks_too() {
    block_on(async {
        for engine in ENGINES {
            for (fault, status) in [
                (HttpFault::Reset { after: 5 }, None),
                (HttpFault::Close { after: 5 }, None),
                (HttpFault::Garbage { after: 5 }, Some(200)),
                (HttpFault::ErrorEvent { after: 5 }, Some(500)),
                (HttpFault::Abort { after: 5 }, Some(200)),
                (HttpFault::Reset { after: 500 }, Some(200)),
            ] {
                let (seen, _) = meet(engine, fault, false).await;
                assert_eq!(seen.map(|seen| seen.status), status, "{engine:?} {fault:?}");
            }
        }
    });
}

#[test]
fn refusals_say_how_long_to_wait() {
    block_on(async {
        for engine in ENGINES {
            for (status, seconds) in [(429, Some(2)), (503, None), (500, None)] {
                let retry_after = seconds.map(std::time::Duration::from_secs);
                let (seen, log) = meet(engine, HttpFault::Status { status, retry_after }, true).await;
                let seen = seen.unwrap();
                let header = seen.headers.get("retry-after").map(|value| value.to_str().unwrap().to_owned());
                assert_eq!((seen.status, header), (status, seconds.map(|seconds| seconds.to_string())));
                assert!(seen.json()["error"]["message"].is_string());
                assert!(log.is_empty());
            }
        }
    });
}

#[test]
fn a_stalled_stream_ends_when_it_is_aborted() {
    block_on(async {
        let server = server_with(Engine::Sglang, HttpFault::Stall { after: 0 }).await;
        let (path, body) = ask(Engine::Sglang, "s", &PROMPT, 100, true);
        let stream = open(server.addr(), "POST", path, &body).await.unwrap();
        let loads = get(server.addr(), "/v1/loads").await.json();
        assert_eq!(loads["loads"][0]["num_waiting_reqs"], 1);
        post(server.addr(), "/abort_request", &json!({ "rid": "s" })).await;
        let (events, is_done) = stream.whole().await.events();
        let finish = &events[0]["meta_info"]["finish_reason"];
        assert_eq!(finish["message"], "Abort in waiting queue");
        assert!(is_done && events[0]["meta_info"]["prompt_tokens"].is_null());
    });
}

/// The log-probability entries of a whole answer: value and id.
fn entries(engine: Engine, answer: &Value) -> Vec<(Value, Value)> {
    let entry = |entry: &Value| match engine {
        Engine::Sglang => (entry[0].clone(), entry[1].clone()),
        Engine::Vllm => (entry["logprob"].clone(), entry["token_id"].clone()),
    };
    let list = match engine {
        Engine::Sglang => &answer["meta_info"]["output_token_logprobs"],
        Engine::Vllm => &answer["choices"][0]["logprobs"]["content"],
    };
    list.as_array().unwrap().iter().map(entry).collect()
}

#[test]
fn wrong_data_is_wrong_where_the_fault_says() {
    block_on(async {
        for engine in ENGINES {
            let whole = async |fault| meet(engine, fault, false).await.0.unwrap();
            let tokens = |answer: &Value| match engine {
                Engine::Sglang => answer["output_ids"].as_array().unwrap().len(),
                Engine::Vllm => answer["choices"][0]["token_ids"].as_array().unwrap().len(),
            };
            let wrong_id = whole(HttpFault::WrongIds { after: 3 }).await.json();
            let shown: Vec<_> = entries(engine, &wrong_id).into_iter().map(|(_, id)| id).collect();
            assert_eq!(shown[2..5], [json!(1002), json!(1002), json!(1004)]);

            let null = HttpFault::BadLogprob { after: 3, value: BadLogprob::Null };
            assert_eq!(entries(engine, &whole(null).await.json())[3].0, Value::Null);
            for (value, text) in [(BadLogprob::Nan, "NaN"), (BadLogprob::NegativeInfinity, "-Infinity")] {
                let seen = whole(HttpFault::BadLogprob { after: 3, value }).await;
                assert!(String::from_utf8(seen.bytes).unwrap().contains(text));
            }
            let extra = whole(HttpFault::ExtraLogprob { after: 3 }).await.json();
            assert_eq!((entries(engine, &extra).len(), tokens(&extra)), (52, 51));
            let twice = whole(HttpFault::RepeatLast).await.json();
            assert_eq!((entries(engine, &twice).len(), tokens(&twice)), (52, 52));
        }
    });
}

#[test]
fn a_server_that_died_of_a_request_comes_back() {
    block_on(async {
        let back_after = Some(std::time::Duration::ZERO);
        let server = server_with(Engine::Vllm, HttpFault::Die { after: 0, back_after }).await;
        let (path, body) = ask(Engine::Vllm, "x", &PROMPT, 3, false);
        assert!(open(server.addr(), "POST", path, &body).await.is_err());
        loop {
            // Until the old life is gone, and the new one there.
            match tokio::net::TcpStream::connect(server.addr()).await {
                Ok(_) => match open(server.addr(), "POST", path, &body).await {
                    Ok(seen) => break assert_eq!(seen.status, 200),
                    Err(_) => tokio::task::yield_now().await,
                },
                Err(_) => tokio::task::yield_now().await,
            }
        }
        server.idle().await;
        assert_eq!(server.log().records().last().unwrap().life, 1);
    });
}
