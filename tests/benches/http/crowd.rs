//! Very many streams at once: memory, stalls, and an interrupt of all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures_util::StreamExt;
use respool_core::{GenerateEvent, GenerateFinish};
use respool_stack::{GenerateCall, GenerateService};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::Args;
use crate::client::{Bare, Whole, request};
use crate::server::{Kind, ServerProcess, Settled};
use crate::usage::{cpu_seconds, resident_bytes};

const SERVERS: usize = 4;
const PROMPT: u32 = 256;
/// No stream comes so far.
const MAX_TOKENS: u32 = 30_000;

/// What the readers of all streams tell.
struct Watch {
    streams: usize,
    started: AtomicUsize,
    all_started: Notify,
    is_steady: AtomicBool,
    /// In nanoseconds.
    longest_gap: AtomicU64,
    tokens: AtomicU64,
}

type Readers = JoinSet<Result<()>>;

pub(crate) fn run(args: &Args) -> Result<()> {
    crate::usage::allow_files(args.streams)?;
    for kind in [Kind::Vllm, Kind::Incremental] {
        println!(
            "\n{} streams of {} at {SERVERS} processes, {:?} a token",
            args.streams,
            kind.name(),
            args.pace
        );
        let servers = (0..SERVERS).map(|_| ServerProcess::start(kind, args.pace));
        // A runtime takes its connections with it: none of them is freed while others are counted.
        ours(args, &crate::runtime()?, &mut servers.collect::<Result<Vec<_>>>()?)?;
        let servers = (0..SERVERS).map(|_| ServerProcess::start(kind, args.pace));
        bare(args, &crate::runtime()?, &servers.collect::<Result<Vec<_>>>()?)?;
    }
    Ok(())
}

fn ours(args: &Args, runtime: &Runtime, servers: &mut [ServerProcess]) -> Result<()> {
    let whole = {
        let _entered = runtime.enter();
        Whole::new(servers)?
    };
    let (watch, interrupt, resident) =
        (Watch::new(args.streams), CancellationToken::new(), resident_bytes()?);
    let mut readers: Readers = {
        let _entered = runtime.enter();
        let read =
            |rollout| read(whole.service.clone(), rollout, interrupt.child_token(), Arc::clone(&watch));
        (0..args.streams).map(read).collect()
    };
    let heap = open(runtime, &mut readers, &watch)?;
    let resident = resident_bytes()?.saturating_sub(resident) as f64 / args.streams as f64;
    println!(
        "  memory a stream: {:.1} KB resident (less where memory is used again), {:.1} KB of heap",
        resident / 1024.0,
        heap / 1024.0
    );
    steady(args, runtime, &mut readers, &watch, servers)?;

    servers.iter_mut().try_for_each(ServerProcess::ask_settled)?;
    let start = Instant::now();
    interrupt.cancel();
    let told = start.elapsed();
    runtime.block_on(async {
        while let Some(ended) = readers.join_next().await {
            ended??;
        }
        anyhow::Ok(())
    })?;
    let closed = start.elapsed();
    let settled = settled(runtime, servers)?;
    let theirs = settled.iter().map(|settled| settled.after).max().unwrap_or_default();
    let sent: u64 = settled.iter().map(|settled| settled.sent).sum();
    let wasted = sent.checked_sub(watch.tokens.load(Relaxed)).context("more tokens were read than sent")?;
    println!("  interrupt: all told after {told:.1?}, last stream closed after {closed:.1?}");
    println!(
        "    the servers themselves were done after {theirs:.1?}: {:.2} x",
        closed.as_secs_f64() / theirs.as_secs_f64()
    );
    println!(
        "    tokens sent {sent}, read {}, wasted {wasted} ({:.4} %)",
        watch.tokens.load(Relaxed),
        wasted as f64 * 100.0 / sent as f64
    );
    Ok(())
}

/// What the servers tell; their own polling is 1 ms fine. Meanwhile connections go on to be closed.
fn settled(runtime: &Runtime, servers: &mut [ServerProcess]) -> Result<Vec<Settled>> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| sender.send(servers.iter_mut().map(ServerProcess::settled).collect()));
        runtime.block_on(receiver)
    })?
}

fn bare(args: &Args, runtime: &Runtime, servers: &[ServerProcess]) -> Result<()> {
    let clients = servers.iter().map(Bare::new).collect::<Result<Vec<_>>>()?;
    let watch = Watch::new(args.streams);
    let drain = |rollout: usize| drain(clients[rollout % clients.len()].clone(), rollout, Arc::clone(&watch));
    let mut readers: Readers = {
        let _entered = runtime.enter();
        (0..args.streams).map(drain).collect()
    };
    let heap = open(runtime, &mut readers, &watch)?;
    println!("  bare hyper: {:.1} KB of heap a stream", heap / 1024.0);
    steady(args, runtime, &mut readers, &watch, servers)
}

/// Waits until every stream gave its first tokens. Bytes of the heap a stream.
fn open(runtime: &Runtime, readers: &mut Readers, watch: &Watch) -> Result<f64> {
    let (start, mut opened) = (Instant::now(), Ok(()));
    let counts = allocation_counter::measure(|| {
        opened = runtime.block_on(async {
            tokio::select! {
                ended = readers.join_next() => early(ended),
                () = watch.all_started.notified() => Ok(()),
            }
        });
    });
    opened?;
    println!("  all of them gave a token after {:.1?}", start.elapsed());
    Ok(counts.bytes_current as f64 / watch.streams as f64)
}

/// Reads on for a while.
fn steady(
    args: &Args,
    runtime: &Runtime,
    readers: &mut Readers,
    watch: &Watch,
    servers: &[ServerProcess],
) -> Result<()> {
    let cpu = || {
        let theirs: Result<f64> = servers.iter().map(|server| cpu_seconds(server.id())).sum();
        anyhow::Ok((cpu_seconds(std::process::id())?, theirs?))
    };
    let duration = Duration::from_secs(if args.is_quick { 3 } else { 10 });
    // The backlog of the beginning first.
    for is_steady in [false, true] {
        watch.is_steady.store(is_steady, Relaxed);
        let (tokens, (ours, theirs), start) = (watch.tokens.load(Relaxed), cpu()?, Instant::now());
        runtime.block_on(async {
            tokio::select! {
                ended = readers.join_next() => early(ended),
                () = tokio::time::sleep(duration) => Ok(()),
            }
        })?;
        let (after, seconds) = (cpu()?, start.elapsed().as_secs_f64());
        let rate = (watch.tokens.load(Relaxed) - tokens) as f64 / seconds;
        let wanted = watch.streams as f64 / args.pace.as_secs_f64();
        if is_steady {
            println!(
                "  steady: {rate:.0} tokens/s, {:.1} % of the pace; longest gap between two tokens of a stream {:.1?}, {:.1} x the pace",
                rate * 100.0 / wanted,
                watch.longest_gap(),
                watch.longest_gap().as_secs_f64() / args.pace.as_secs_f64()
            );
            let micros = |cpu: f64| cpu * 1e6 / (rate * seconds);
            println!(
                "    CPU a token: {:.2} µs client, {:.2} µs servers",
                micros(after.0 - ours),
                micros(after.1 - theirs)
            );
        }
    }
    watch.is_steady.store(false, Relaxed);
    Ok(())
}

fn early(ended: Option<Result<Result<()>, JoinError>>) -> Result<()> {
    match ended.transpose()? {
        Some(Err(error)) => Err(error),
        Some(Ok(())) | None => bail!("a stream ended early"),
    }
}

async fn drain(client: Bare, rollout: usize, watch: Arc<Watch>) -> Result<()> {
    let mut body = client.open(rollout, MAX_TOKENS).await?;
    let mut reading = Reading::new(watch);
    while Bare::next(&mut body).await?.is_some() {
        reading.took(1);
    }
    bail!("a stream ended early")
}

async fn read(
    service: GenerateService,
    rollout: usize,
    abort: CancellationToken,
    watch: Arc<Watch>,
) -> Result<()> {
    let call = GenerateCall { request: request(rollout, PROMPT, MAX_TOKENS), abort: abort.clone() };
    let mut stream = service.oneshot(call).await?;
    let mut reading = Reading::new(watch);
    while let Some(event) = stream.next().await {
        match event? {
            GenerateEvent::Delta(delta) => reading.took(delta.tokens.len()),
            GenerateEvent::Ended(GenerateFinish::Abort) if abort.is_cancelled() => return Ok(()),
            GenerateEvent::Ended(finish) => bail!("a stream ended with {finish:?}"),
            GenerateEvent::Versions { .. } => {}
        }
    }
    bail!("a stream broke off")
}

/// One stream.
struct Reading {
    watch: Arc<Watch>,
    last: Option<Instant>,
}

impl Reading {
    fn new(watch: Arc<Watch>) -> Self {
        Self { watch, last: None }
    }

    fn took(&mut self, tokens: usize) {
        let (watch, now) = (&self.watch, Instant::now());
        watch.tokens.fetch_add(tokens as u64, Relaxed);
        match self.last.replace(now) {
            None => watch.has_started(),
            Some(last) if watch.is_steady.load(Relaxed) => {
                watch.longest_gap.fetch_max((now - last).as_nanos() as u64, Relaxed);
            }
            Some(_) => {}
        }
    }
}

impl Watch {
    fn new(streams: usize) -> Arc<Self> {
        Arc::new(Self {
            streams,
            started: AtomicUsize::new(0),
            all_started: Notify::new(),
            is_steady: AtomicBool::new(false),
            longest_gap: AtomicU64::new(0),
            tokens: AtomicU64::new(0),
        })
    }

    fn has_started(&self) {
        if self.started.fetch_add(1, Relaxed) + 1 == self.streams {
            self.all_started.notify_one();
        }
    }

    fn longest_gap(&self) -> Duration {
        Duration::from_nanos(self.longest_gap.load(Relaxed))
    }
}
