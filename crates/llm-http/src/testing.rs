//! A server for tests: it reads requests and writes the bytes that a script says.

use std::sync::{Arc, Mutex};

use respool_core::{
    EffectId, GenerateEvent, GenerateFinish, GenerateRequest, PolicyVersion, RolloutId, Sampling,
};
use respool_llm::{ServerCall, WireIds};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{Api, ClientStream, HttpConfig, HttpServer, HttpSettings};

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// What the server does with a connection.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Writes.
    Write(Vec<u8>),
    /// Waits until a request was seen whose path contains this.
    Await(&'static str),
    /// Closes the connection so that the other side sees an error.
    Reset,
    /// Holds the connection until the other side closes it.
    Hang,
}

#[derive(Default)]
struct Log {
    seen: Mutex<Vec<Seen>>,
    changed: Notify,
}

/// A running test server.
pub(crate) struct TestServer {
    pub(crate) url: String,
    log: Arc<Log>,
}

impl TestServer {
    pub(crate) async fn start(script: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (log, script) = (Arc::new(Log::default()), Arc::new(script));
        let server = Self { url, log: log.clone() };
        let accept = async move {
            while let Ok((connection, _)) = listener.accept().await {
                let serve = serve(connection, log.clone(), script.clone());
                drop(tokio::runtime::Handle::current().spawn(serve));
            }
        };
        drop(tokio::runtime::Handle::current().spawn(accept));
        server
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.log.seen.lock().unwrap().clone()
    }

    /// The first request whose path contains this, when it has come.
    pub(crate) async fn saw(&self, path: &str) -> Seen {
        saw(&self.log, path).await
    }

    pub(crate) fn client(&self, api: Api, settings: HttpSettings) -> HttpServer {
        let (model, vocab_size) = (Some("m".to_owned()), Some(1000));
        let config = HttpConfig { model, vocab_size, ..HttpConfig::new(&self.url, api) };
        HttpServer::new(config, settings).unwrap()
    }
}

async fn saw(log: &Log, path: &str) -> Seen {
    loop {
        let changed = log.changed.notified();
        let found = log.seen.lock().unwrap().iter().find(|seen| seen.path.contains(path)).cloned();
        match found {
            Some(seen) => return seen,
            None => changed.await,
        }
    }
}

/// Connections serve one request each.
async fn serve(connection: TcpStream, log: Arc<Log>, script: Arc<impl Fn(&Seen) -> Vec<Step>>) {
    let mut connection = BufReader::new(connection);
    let Some(seen) = read_request(&mut connection).await else { return };
    log.seen.lock().unwrap().push(seen.clone());
    log.changed.notify_waiters();
    for step in script(&seen) {
        match step {
            Step::Write(bytes) => {
                let _ = connection.write_all(&bytes).await;
                let _ = connection.flush().await;
            }
            Step::Await(path) => drop(saw(&log, path).await),
            Step::Reset => {
                // Closed with a promise of more, as a chunked answer's end is missing.
                return;
            }
            Step::Hang => drop(connection.read(&mut [0; 1]).await),
        }
    }
}

async fn read_request(connection: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if connection.read_line(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let length = head
        .to_lowercase()
        .lines()
        .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    connection.read_exact(&mut body).await.ok()?;
    let mut words = head.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    Some(Seen { method, path, body: serde_json::from_slice(&body).unwrap_or_default(), head })
}

/// The head of an event stream that ends with its connection.
pub(crate) fn stream_head() -> Step {
    Step::Write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec())
}

/// The head of an event stream in chunks, of which one with these bytes comes and no last one.
pub(crate) fn broken_chunk(bytes: &str) -> Step {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    Step::Write(format!("{head}{:x}\r\n{bytes}\r\n", bytes.len()).into_bytes())
}

pub(crate) fn write(text: &str) -> Step {
    Step::Write(text.as_bytes().to_vec())
}

/// A whole answer.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n");
    vec![write(&head), write(body)]
}

pub(crate) fn json(body: &str) -> Vec<Step> {
    answer("200 OK", "content-type: application/json\r\n", body)
}

/// A call whose wire ids end in 0, 1, 2, ...
pub(crate) fn call(prompt_ids: &[u32]) -> ServerCall {
    let nonce = std::sync::atomic::AtomicU64::new(0);
    let request = GenerateRequest {
        rollout: RolloutId(7),
        effect: EffectId { turn: 1, slot: 0, attempt: 0 },
        prompt_ids: prompt_ids.to_vec(),
        turn_tokens: 0,
        max_tokens: 16,
        stop_token_ids: Arc::from([2]),
        sampling: Arc::new(Sampling::default()),
        seed: 0,
    };
    let ids = WireIds::new(move || nonce.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    ServerCall { request, abort: CancellationToken::new(), version: PolicyVersion(4), ids: Arc::new(ids) }
}

/// All that a stream gave.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) tokens: Vec<u32>,
    pub(crate) versions: Vec<u64>,
    pub(crate) spans: Vec<(u32, u32, u64)>,
    pub(crate) is_uncertain: bool,
    pub(crate) logprobs: Vec<respool_core::Logprob>,
    /// The finish, or the kind of the error.
    pub(crate) end: String,
}

pub(crate) async fn outcome(mut stream: ClientStream) -> Outcome {
    use futures_util::StreamExt;
    let mut outcome = Outcome::default();
    while let Some(item) = stream.next().await {
        match item {
            Ok(GenerateEvent::Delta(delta)) => {
                outcome.versions.extend(vec![delta.version.0; delta.tokens.len()]);
                outcome.tokens.extend(delta.tokens);
                outcome.logprobs.extend(delta.logprobs);
            }
            Ok(GenerateEvent::Versions { spans, uncertain }) => {
                outcome.is_uncertain = uncertain;
                outcome.spans = spans.iter().map(|span| (span.start, span.len, span.version.0)).collect();
            }
            Ok(GenerateEvent::Ended(finish)) => outcome.end = finish_name(&finish),
            Err(error) => outcome.end = error.kind().to_string(),
        }
    }
    outcome
}

fn finish_name(finish: &GenerateFinish) -> String {
    format!("{finish:?}").to_lowercase()
}
