//! The two clients that are compared: all of ours, and bare hyper that only drains.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use futures_util::StreamExt;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use respool_core::{
    EffectId, GenerateEvent, GenerateRequest, Logprob, PolicyVersion, RolloutId, Sampling, Token,
};
use respool_llm::{Pool, PoolSettings, ServerManager, WireIds};
use respool_llm_http::HttpServer;
use respool_stack::{GenerateCall, GenerateService};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::server::ServerProcess;

/// Tokens of a prompt.
const PROMPT: u32 = 256;

/// So many streams at once, of so many tokens each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) streams: usize,
    pub(crate) tokens: u32,
}

impl Load {
    pub(crate) fn total(self) -> u64 {
        self.streams as u64 * u64::from(self.tokens)
    }
}

pub(crate) fn request(rollout: usize, prompt: u32, max_tokens: u32) -> GenerateRequest {
    GenerateRequest {
        rollout: RolloutId(rollout as u128),
        effect: EffectId { turn: 0, slot: 0, attempt: 0 },
        prompt_ids: (0..prompt).map(|at| 1000 + at * 104_729 % 150_000).collect(),
        turn_tokens: 0,
        max_tokens,
        stop_token_ids: Arc::from([]),
        sampling: Arc::new(Sampling { ignore_eos: true, ..Sampling::default() }),
        seed: 0,
    }
}

/// Wire ids that no process has used before.
fn wire_ids() -> WireIds {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    WireIds::new(|| NEXT.fetch_add(1, Ordering::Relaxed))
}

/// All of ours, from pool to tokens.
pub(crate) struct Whole {
    pub(crate) service: GenerateService,
    _pool: Pool,
}

impl Whole {
    pub(crate) fn new(servers: &[ServerProcess]) -> Result<Self> {
        // The servers are busy with more than any real one; that is not what is measured.
        let settings = PoolSettings {
            concurrency: usize::MAX,
            probe_timeout: Duration::from_secs(60),
            eject_after: u32::MAX,
            ..PoolSettings::default()
        };
        let pool = Pool::new(settings, wire_ids(), 0, PolicyVersion(0));
        servers.iter().try_for_each(|server| anyhow::Ok(pool.add(Arc::new(server.client()?))?))?;
        Ok(Self { service: pool.generate(), _pool: pool })
    }

    /// Reads all streams at once to their ends.
    pub(crate) async fn run(&self, load: Load) -> Result<()> {
        let read = |rollout| Self::read(self.service.clone(), rollout, load.tokens);
        all((0..load.streams).map(read)).await.map(drop)
    }

    async fn read(service: GenerateService, rollout: usize, max_tokens: u32) -> Result<()> {
        let call =
            GenerateCall { request: request(rollout, PROMPT, max_tokens), abort: CancellationToken::new() };
        let mut stream = service.oneshot(call).await?;
        let (mut tokens, mut logprobs): (Vec<Token>, Vec<Logprob>) = Default::default();
        while let Some(event) = stream.next().await {
            if let GenerateEvent::Delta(delta) = event? {
                tokens.extend(delta.tokens);
                logprobs.extend(delta.logprobs);
            }
        }
        ensure!(tokens.len() == max_tokens as usize && logprobs.len() == tokens.len(), "tokens were lost");
        Ok(())
    }
}

/// Sends the same requests and drains the bodies of the answers.
#[derive(Clone)]
pub(crate) struct Bare {
    client: Client<HttpConnector, Full<Bytes>>,
    uri: http::Uri,
    bodies: HttpServer,
    ids: Arc<WireIds>,
}

impl Bare {
    pub(crate) fn new(server: &ServerProcess) -> Result<Self> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector);
        let uri = format!("{}{}", server.url, server.kind.api().path()).parse()?;
        Ok(Self { client, uri, bodies: server.client()?, ids: Arc::new(wire_ids()) })
    }

    /// Bytes of all bodies.
    pub(crate) async fn run(&self, load: Load) -> Result<u64> {
        let drain = |rollout| Self::drain(self.clone(), rollout, load.tokens);
        Ok(all((0..load.streams).map(drain)).await?.into_iter().sum())
    }

    async fn drain(self, rollout: usize, max_tokens: u32) -> Result<u64> {
        let mut body = self.open(rollout, max_tokens).await?;
        let mut bytes = 0;
        while let Some(more) = Self::next(&mut body).await? {
            bytes += more;
        }
        Ok(bytes)
    }

    /// Asks for tokens; the body of the answer.
    pub(crate) async fn open(&self, rollout: usize, max_tokens: u32) -> Result<Incoming> {
        let request = request(rollout, PROMPT, max_tokens);
        let id = self.ids.next(request.rollout, 0);
        let body = self.bodies.request_body(&request, &id, PolicyVersion(0))?;
        let request = Request::post(self.uri.clone()).header("content-type", "application/json");
        let response = self.client.request(request.body(Full::from(body))?).await?;
        ensure!(response.status().is_success(), "the server answers {}", response.status());
        Ok(response.into_body())
    }

    /// How many bytes come next.
    pub(crate) async fn next(body: &mut Incoming) -> Result<Option<u64>> {
        let frame = body.frame().await.transpose()?;
        Ok(frame.map(|frame| frame.data_ref().map_or(0, Bytes::len) as u64))
    }
}

/// Each in a task of its own, as rollouts are: one task for all would be starved by its budget.
async fn all<T: Send + 'static>(
    streams: impl Iterator<Item = impl Future<Output = Result<T>> + Send + 'static>,
) -> Result<Vec<T>> {
    let mut tasks: JoinSet<Result<T>> = streams.collect();
    let mut done = Vec::with_capacity(tasks.len());
    while let Some(ended) = tasks.join_next().await {
        done.push(ended??);
    }
    Ok(done)
}

/// What a run of one client took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) wall: f64,
    /// The client's.
    pub(crate) cpu: f64,
    /// The server's.
    pub(crate) server_cpu: f64,
}

/// Runs something and measures it. The server is idle afterwards.
pub(crate) async fn measured<T>(
    server: &mut ServerProcess,
    load: Load,
    running: impl Future<Output = Result<T>>,
) -> Result<Run> {
    let cpu = || {
        anyhow::Ok((crate::usage::cpu_seconds(std::process::id())?, crate::usage::cpu_seconds(server.id())?))
    };
    let ((client, theirs), start) = (cpu()?, Instant::now());
    running.await?;
    let wall = start.elapsed().as_secs_f64();
    let after = cpu()?;
    server.ask_settled()?;
    let sent = server.settled().context("after a run")?.sent;
    if sent != load.total() {
        bail!("the server sent {sent} tokens, expected {}", load.total());
    }
    Ok(Run { wall, cpu: after.0 - client, server_cpu: after.1 - theirs })
}
