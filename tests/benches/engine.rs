//! What a turn costs: `cargo xtask bench engine [--workload FILE] [--tokenizers DIR] [--rollouts N]`.
//!
//! Many rollouts at once on a server without latency, everything else real: template, tokenization
//! of tool messages, decoding and reading of turns, tool calls, trajectory records (made, not
//! written). CPU time is the whole process's, so it counts what other threads do. The same run also
//! measures the bare library calls that every turn needs, as a baseline.
#![expect(clippy::print_stdout, reason = "a command line tool")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use respool_core::{
    AgentLoopOutput, CallOutcome, Chat, Dialect, JsonText, Limits, Message, Replay, Role, RolloutId,
    RolloutSpec, SessionPolicy, Token, ToolRequest, ToolResult, ToolSpec,
};
use respool_dialect::{Clock, DialectOptions, HfDialect};
use respool_driver::{AgentLoop, Services, Settings};
use respool_format::TrajectoryRecord;
use respool_llm::ServerManager;
use respool_llm_mock::{DeltaSize, MockConfig, MockServer, ScriptPolicy};
use respool_registry::{AgentLoopRegistry, AgentLoopWorker, Work};
use respool_stack::ToolService;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The reference's CPU time a turn in milliseconds: as it is, and with one loop object shared by
/// all rollouts, which flatters it.
const REFERENCE_MS: [(&str, f64); 2] = [("as it is", 1.4), ("one shared loop object", 0.62)];

#[derive(Deserialize)]
struct Workload {
    messages: Vec<WireMessage>,
    tools: Vec<Box<RawValue>>,
    tool_answer: String,
    turns: Vec<Vec<Token>>,
}

#[derive(Deserialize)]
struct WireMessage {
    role: String,
    content: String,
}

struct Args {
    workload: PathBuf,
    tokenizer: PathBuf,
    rollouts: usize,
}

fn main() -> Result<()> {
    let args = args()?;
    if !args.workload.is_file() || !args.tokenizer.is_dir() {
        println!("bench engine: skipped (no {} or {})", args.workload.display(), args.tokenizer.display());
        return Ok(());
    }
    let workload: Workload = serde_json::from_str(&std::fs::read_to_string(&args.workload)?)?;
    let dialect = Arc::new(load(&args.tokenizer)?);
    let baseline = baseline(&workload, &dialect)?;
    println!("library baseline: {:.1} µs a turn (decode a turn, encode a tool message)", baseline * 1e6);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    for delta in [4096, 16] {
        let cpu = runtime.block_on(run(&workload, &dialect, args.rollouts, delta))?;
        let size = if delta == 16 { "deltas of 16" } else { "whole turns" };
        println!("{size}: {:.1} µs CPU a turn, {:.2} x the library baseline", cpu * 1e6, cpu / baseline);
        for (name, reference) in REFERENCE_MS {
            println!(
                "    {:.0} x the reference's turns per CPU-second ({name}: {reference} ms)",
                reference / 1e3 / cpu
            );
        }
    }
    Ok(())
}

fn args() -> Result<Args> {
    let mut workload = PathBuf::from("../shared/bench/workload_8x128.json");
    let mut tokenizers = PathBuf::from("../shared/tokenizers");
    let mut rollouts = 1024;
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--workload" => workload = value()?.into(),
            "--tokenizers" => tokenizers = value()?.into(),
            "--rollouts" => rollouts = value()?.parse().context("--rollouts")?,
            _ => bail!("unknown argument {word:?}"),
        }
    }
    // A bench runs in its package's folder; paths are meant from the workspace's.
    let from_root = |path: PathBuf| if path.is_absolute() { path } else { Path::new("..").join(path) };
    Ok(Args { workload: from_root(workload), tokenizer: from_root(tokenizers).join("qwen3"), rollouts })
}

fn load(folder: &Path) -> Result<HfDialect> {
    let options = DialectOptions {
        tool_format: "hermes".to_owned(),
        ..DialectOptions::new(Clock::from_unix_seconds(0))
    };
    Ok(HfDialect::load(folder, options)?)
}

/// CPU seconds a turn of N rollouts at once.
async fn run(workload: &Workload, dialect: &Arc<HfDialect>, rollouts: usize, delta: u32) -> Result<f64> {
    let stop = *dialect.stop_tokens().first().context("the dialect has no stop token")?;
    let policy = ScriptPolicy::new(workload.turns.clone(), stop);
    let config = MockConfig { delta_size: DeltaSize::Fixed(delta), ..MockConfig::default() };
    let servers = Arc::new(MockServer::new(Arc::new(policy), config));
    let answer = workload.tool_answer.clone();
    let tools = tower::service_fn(move |_: ToolRequest| {
        let result = ToolResult::text(CallOutcome::Ok, answer.as_str());
        async move { Ok(result) }
    });
    let services = Services { tools: ToolService::new(tools), ..Services::generate_only(servers.generate()) };
    let agent_loop = AgentLoop::new(Arc::<HfDialect>::clone(dialect), services, Settings::default());
    let worker = AgentLoopWorker::new(AgentLoopRegistry::builtin(agent_loop), servers, rollouts, None);
    let spec = spec(workload)?;
    let work = || {
        (0..rollouts as u128)
            .map(|id| Work::New(Arc::new(RolloutSpec { id: RolloutId(id), ..spec.clone() })))
            .collect()
    };
    worker.run_all(work()).await; // warm up
    let (start, cpu) = (Instant::now(), cpu_seconds()?);
    let outcomes = worker.run_all(work()).await;
    let mut turns = 0;
    let mut bytes = 0;
    for outcome in outcomes {
        let AgentLoopOutput::Completed(trajectory) = outcome.output? else {
            bail!("a rollout did not complete")
        };
        turns += trajectory.data.assistant_turns;
        let mut line = Vec::new();
        TrajectoryRecord::from(&*trajectory).write_line(&mut line)?;
        bytes += line.len();
    }
    let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds()? - cpu);
    println!(
        "{rollouts} rollouts, {turns} turns, {bytes} bytes of records: {:.0} turns/s",
        f64::from(turns) / wall
    );
    Ok(cpu / f64::from(turns))
}

fn spec(workload: &Workload) -> Result<RolloutSpec> {
    let messages = workload.messages.iter().map(|message| {
        let role = Role::from_name(&message.role).with_context(|| format!("role {:?}", message.role))?;
        Ok(Message::new(role, message.content.as_str()))
    });
    let mut spec = RolloutSpec::new(RolloutId(0), "bench", messages.collect::<Result<_>>()?);
    let schema = workload.tools.first().context("the workload has no tool")?;
    spec.tools = vec![ToolSpec {
        name: "noop".to_owned(),
        schema: JsonText::new(schema.get())?,
        replay: Replay::Pure,
        session: SessionPolicy::default(),
    }];
    spec.limits = Limits { response_length: 1 << 20, ..Limits::default() };
    Ok(spec)
}

/// Seconds that the library needs for a turn: its text, and the tokens of a tool message.
fn baseline(workload: &Workload, dialect: &HfDialect) -> Result<f64> {
    let turn = workload.turns.first().context("the workload has no turns")?;
    let messages = [Message::new(Role::User, workload.tool_answer.as_str())];
    let chat = Chat { messages: &messages, tools: &[], template_args: &JsonText::empty_object() };
    let text = dialect.decode(&dialect.encode_chat(&chat)?.tokens);
    let rounds = 2000;
    let start = Instant::now();
    let mut sum = 0;
    for _ in 0..rounds {
        sum += dialect.decode(std::hint::black_box(turn)).len();
        sum += dialect.encode_text(std::hint::black_box(&text))?.len();
    }
    std::hint::black_box(sum);
    Ok(start.elapsed().as_secs_f64() / f64::from(rounds))
}

/// CPU time of this process, all threads, user and system.
fn cpu_seconds() -> Result<f64> {
    let tasks = std::fs::read_dir("/proc/self/task").context("this benchmark needs Linux")?;
    let mut nanoseconds = 0.0;
    for task in tasks {
        let stat = std::fs::read_to_string(task?.path().join("schedstat"))?;
        nanoseconds += stat.split(' ').next().unwrap_or_default().parse::<f64>()?;
    }
    Ok(nanoseconds / 1e9)
}
