//! What the tests share: servers, and a client that hides nothing.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use respool_core::Token;
use respool_llm_mock::{Encoder, Grammar, HashPolicy, ScriptPolicy, TurnWriter};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::{Engine, HttpFault, HttpFaults, MockHttpConfig, MockHttpServer, ScriptedFault, turns_by_suffix};

pub(crate) const STOP: Token = 2;
pub(crate) const ASK: [Token; 2] = [7, 8];
pub(crate) const PROMPT: [Token; 4] = [1, 3, 7, 8];

/// A server that says random things.
pub(crate) fn hash_config(engine: Engine) -> MockHttpConfig {
    let encode: Encoder = Arc::new(|text| text.bytes().map(|byte| 100 + Token::from(byte)).collect());
    let write: TurnWriter = Arc::new(|said, calls| {
        let calls = calls.iter().map(|(name, arguments)| format!("<call>{name} {arguments}</call>"));
        Some(said.to_owned() + &calls.collect::<String>())
    });
    let policy = HashPolicy::new(Grammar::new(&["calculator"], &write), &encode, STOP);
    MockHttpConfig::new(engine, Arc::new(policy), turns_by_suffix(ASK.into()), vec![STOP])
}

/// A server that says 1000 to 1049 and stops.
pub(crate) fn counting_config(engine: Engine) -> MockHttpConfig {
    let policy = ScriptPolicy::new([(1000..1050).collect()], STOP);
    MockHttpConfig::new(engine, Arc::new(policy), turns_by_suffix(ASK.into()), vec![STOP])
}

/// A server that says 1000 and 1001, and waits for an abort.
pub(crate) fn stalling_config(engine: Engine) -> MockHttpConfig {
    let fault = HttpFault::Stall { after: 2 };
    let script = vec![ScriptedFault { request: 0, fault }];
    MockHttpConfig { faults: HttpFaults { script, ..HttpFaults::default() }, ..counting_config(engine) }
}

pub(crate) async fn start(config: MockHttpConfig) -> MockHttpServer {
    MockHttpServer::bind("127.0.0.1:0".parse().unwrap(), config).await.unwrap()
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// An answer whose body comes piece by piece.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    /// Ends the connection when dropped.
    _connection: tokio::task::JoinSet<()>,
}

impl Open {
    /// The next piece; `None` at the end in good order.
    pub(crate) async fn piece(&mut self) -> Option<Result<Bytes, hyper::Error>> {
        let frame = self.body.frame().await?;
        Some(frame.map(|frame| frame.into_data().unwrap_or_default()))
    }

    pub(crate) async fn whole(mut self) -> Seen {
        let mut bytes = Vec::new();
        let mut is_broken = false;
        while let Some(piece) = self.piece().await {
            match piece {
                Ok(piece) => bytes.extend(piece),
                Err(_) => is_broken = true,
            }
        }
        Seen { status: self.status, headers: self.headers, bytes, is_broken }
    }
}

/// An answer that is over.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_broken: bool,
}

impl Seen {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or(Value::Null)
    }

    /// The events that are JSON, and whether `[DONE]` came.
    pub(crate) fn events(&self) -> (Vec<Value>, bool) {
        let text = String::from_utf8_lossy(&self.bytes);
        let data: Vec<_> = text.split("\n\n").filter_map(|event| event.strip_prefix("data: ")).collect();
        let events = data.iter().filter_map(|data| serde_json::from_str(data).ok()).collect();
        (events, data.last() == Some(&"[DONE]"))
    }
}

pub(crate) async fn open(
    addr: SocketAddr,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<Open, hyper::Error> {
    open_with(addr, method, path, body, None).await
}

pub(crate) async fn open_with(
    addr: SocketAddr,
    method: &str,
    path: &str,
    body: &Value,
    key: Option<&str>,
) -> Result<Open, hyper::Error> {
    let stream = TcpStream::connect(addr).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        let _ = connection.await;
    });
    let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
    let mut request = Request::builder().method(method).uri(path).header("host", "mock");
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let response = sender.send_request(request.body(Full::new(body)).unwrap()).await?;
    let (parts, body) = response.into_parts();
    Ok(Open { status: parts.status.as_u16(), headers: parts.headers, body, _connection: tasks })
}

pub(crate) async fn post(addr: SocketAddr, path: &str, body: &Value) -> Seen {
    open(addr, "POST", path, body).await.unwrap().whole().await
}

pub(crate) async fn get(addr: SocketAddr, path: &str) -> Seen {
    open(addr, "GET", path, &Value::Null).await.unwrap().whole().await
}

/// Where an engine generates, and what it is asked there.
pub(crate) fn ask(
    engine: Engine,
    id: &str,
    prompt: &[Token],
    max: u32,
    stream: bool,
) -> (&'static str, Value) {
    match engine {
        Engine::Sglang => (
            "/generate",
            json!({
                "rid": id, "input_ids": prompt, "stream": stream, "return_logprob": true,
                "sampling_params": { "max_new_tokens": max },
            }),
        ),
        Engine::Vllm => (
            "/inference/v1/generate",
            json!({
                "request_id": id, "token_ids": prompt, "stream": stream,
                "sampling_params": { "max_tokens": max, "logprobs": 0 },
            }),
        ),
    }
}

/// What an answer says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) tokens: Vec<u64>,
    pub(crate) logprobs: Vec<f64>,
    pub(crate) finish: Option<String>,
    pub(crate) versions: Option<Value>,
}

impl Said {
    /// Takes in an event or a whole answer.
    pub(crate) fn take(&mut self, engine: Engine, is_cumulative: bool, event: &Value) {
        if event.get("error").is_some() {
            return;
        }
        let (tokens, logprobs, finish, versions) = match engine {
            Engine::Sglang => {
                let meta = &event["meta_info"];
                let logprobs =
                    list(&meta["output_token_logprobs"]).iter().map(|entry| entry[0].clone()).collect();
                let finish = &meta["finish_reason"]["type"];
                (list(&event["output_ids"]), logprobs, finish, &meta["weight_versions"])
            }
            Engine::Vllm => {
                let choice = &event["choices"][0];
                let content = list(&choice["logprobs"]["content"]);
                let logprobs: Vec<_> = content.iter().map(|entry| entry["logprob"].clone()).collect();
                (list(&choice["token_ids"]), logprobs, &choice["finish_reason"], &choice["weight_versions"])
            }
        };
        if is_cumulative {
            self.tokens.clear();
            self.logprobs.clear();
        }
        self.tokens.extend(tokens.iter().filter_map(Value::as_u64));
        self.logprobs.extend(logprobs.iter().filter_map(Value::as_f64));
        self.finish = finish.as_str().map(str::to_owned).or_else(|| self.finish.take());
        self.versions = (!versions.is_null()).then(|| versions.clone()).or_else(|| self.versions.take());
    }
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

/// Everything that a stream said.
pub(crate) fn said(engine: Engine, is_cumulative: bool, seen: &Seen) -> Said {
    let mut said = Said::default();
    seen.events().0.iter().for_each(|event| said.take(engine, is_cumulative, event));
    said
}
