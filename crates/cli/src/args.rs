//! The command line as it is typed: no defaults that a file may give, nothing resolved.

use std::{net::SocketAddr, num::NonZeroUsize, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::config::{PolicyKind, SyncMode};

mod dialect;

pub(crate) use dialect::{DialectArgs, DialectCommand, RenderArgs};

/// Runs multi-turn, tool-calling LLM rollouts that can be interrupted at any token.
#[derive(Debug, Parser)]
#[command(name = "respool", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run every task of a file, `n` rollouts each, and write trajectories.
    ///
    /// Ctrl-C leaves every rollout where it is and writes snapshots; `respool resume DIR` goes on.
    /// Exit code: 0 if all succeeded, 1 if some failed, 2 for a wrong argument or configuration,
    /// 130 if interrupted.
    Run(RunArgs),
    /// Finish a run: what was interrupted, and what was never started.
    Resume(ResumeArgs),
    /// Show trajectories or a snapshot as a person wants to read them.
    Inspect(InspectArgs),
    /// Compare two trajectory files: everything but versions, marks and timings.
    Compare(CompareArgs),
    /// Check that rollouts of a configuration survive every interrupt unchanged.
    Verify(VerifyArgs),
    /// Ask LLM servers for a few tokens, and say what they are and what they lack.
    ///
    /// Exit code: 0 if all are fit for use, 1 if one is not.
    Check(CheckArgs),
    /// Look at how a model folder reads and writes.
    #[command(subcommand)]
    Dialect(DialectCommand),
    /// An HTTP server that speaks as SGLang or vLLM does, without a GPU: for tests of trainers.
    MockServer(MockServerArgs),
}

/// `respool run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Task file: one JSON row a line.
    pub(crate) tasks: PathBuf,
    /// Directory for the output; it must not hold a run yet.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Configuration; without it `respool.toml` beside the task file, if there is one.
    #[arg(long, value_name = "FILE", env = "RESPOOL_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Rollouts of each task [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), env = "RESPOOL_N")]
    pub(crate) n: Option<u32>,
    /// Model folder with tokenizer and chat template; without it the built-in dialect.
    #[arg(long, value_name = "DIR", env = "RESPOOL_MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// Which policy generates where there are no servers [default: teacher].
    #[arg(long, value_enum, env = "RESPOOL_POLICY")]
    pub(crate) policy: Option<PolicyKind>,
    #[command(flatten)]
    pub(crate) servers: ServerArgs,
    /// Use only the first rows of the task file.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Seed of the run [default: 0].
    #[arg(long, env = "RESPOOL_SEED")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
}

/// How fast, never what comes out.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PaceArgs {
    /// Rollouts at a time [default: 64].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), env = "RESPOOL_CONCURRENCY")]
    pub(crate) concurrency: Option<u32>,
    /// Time that the policy takes for one token, as in `5ms` [default: 5ms].
    #[arg(long, value_name = "DURATION", value_parser = duration, env = "RESPOOL_TOKEN_LATENCY")]
    pub(crate) token_latency: Option<Duration>,
    /// Simulate weight updates: so often everything is interrupted, the version rises, everything
    /// resumes.
    #[arg(long, value_name = "DURATION", value_parser = positive_duration, env = "RESPOOL_WEIGHT_SYNC_EVERY")]
    pub(crate) weight_sync_every: Option<Duration>,
    /// What happens to running generations meanwhile [default: abort].
    #[arg(long, value_enum, env = "RESPOOL_WEIGHT_SYNC_MODE")]
    pub(crate) weight_sync_mode: Option<SyncMode>,
}

/// `respool resume`.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run's directory.
    pub(crate) dir: PathBuf,
    /// Go on although the task file, the dialect, the tools or the loop are not the run's.
    #[arg(long)]
    pub(crate) force: bool,
    /// Where the task file is now, if it was moved.
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) servers: ServerArgs,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
}

/// Which servers generate.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ServerArgs {
    /// Base URLs of LLM servers; without them those of the configuration.
    #[arg(long = "server", value_name = "URL[,URL...]", value_delimiter = ',', env = "RESPOOL_SERVERS")]
    pub(crate) urls: Vec<String>,
    /// What they are [default: auto].
    #[arg(long, value_enum, env = "RESPOOL_ENGINE")]
    pub(crate) engine: Option<EngineName>,
}

/// `respool inspect`.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// `trajectories.jsonl`, a snapshot (`.snap`), or a run's directory.
    pub(crate) path: PathBuf,
    /// Only this task.
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,
    /// Only this sample.
    #[arg(long, value_name = "K")]
    pub(crate) sample: Option<u32>,
    /// Show at most so many.
    #[arg(long, value_name = "N")]
    pub(crate) first: Option<NonZeroUsize>,
    /// One JSON object a line, for machines.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also show every token with its id, version and log-probability.
    #[arg(long)]
    pub(crate) tokens: bool,
    /// Model folder that decodes the tokens; without it the run's own, as `run.json` says.
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
}

/// `respool compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// A trajectory file, or a run's directory.
    pub(crate) left: PathBuf,
    /// Another one.
    pub(crate) right: PathBuf,
}

/// `respool verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Configuration; without it `respool.toml` here, if there is one.
    #[arg(long, value_name = "FILE", env = "RESPOOL_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// How many schedules of interrupts are tried [default: 200, with servers 20].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) cases: Option<u32>,
    /// Seed of what is tried.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Model folder with tokenizer and chat template; without it the configuration's, or the built-in
    /// dialect.
    #[arg(long, value_name = "DIR", env = "RESPOOL_MODEL")]
    pub(crate) model: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) servers: ServerArgs,
}

/// `respool check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Configuration; without it `respool.toml` here, if there is one.
    #[arg(long, value_name = "FILE", env = "RESPOOL_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Model folder that the servers should serve: they have to tokenize as it does, where they lend
    /// their tokenizer, and to sample ids of its vocabulary.
    #[arg(long, value_name = "DIR", env = "RESPOOL_MODEL")]
    pub(crate) model: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) servers: ServerArgs,
    /// One JSON object a server, for machines.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `respool mock-server`.
#[derive(Debug, Args)]
pub(crate) struct MockServerArgs {
    /// Whose wire format it speaks.
    #[arg(long, value_enum)]
    pub(crate) engine: MockEngine,
    /// Where it listens; port 0 is a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) addr: SocketAddr,
    /// Which policy generates.
    #[arg(long, value_enum, default_value = "hash")]
    pub(crate) policy: PolicyKind,
    /// Task file whose solutions the teacher replays; it finds the task by its prompt.
    #[arg(long, value_name = "FILE", required_if_eq("policy", "teacher"))]
    pub(crate) tasks: Option<PathBuf>,
    /// Model folder with tokenizer and chat template; without it the built-in dialect.
    #[arg(long, value_name = "DIR", env = "RESPOOL_MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// What goes wrong, and when (TOML, or JSON by the name).
    #[arg(long, value_name = "FILE")]
    pub(crate) faults: Option<PathBuf>,
    /// Time for one token, as in `5ms`; 0s is as fast as it can.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5ms")]
    pub(crate) token_latency: Duration,
}

/// What a server is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EngineName {
    /// Found out by asking.
    #[default]
    Auto,
    /// SGLang.
    Sglang,
    /// vLLM.
    Vllm,
}

/// What the mock server speaks as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MockEngine {
    /// SGLang.
    Sglang,
    /// vLLM.
    Vllm,
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|error| format!("{error}; expected a duration such as 5ms, 1s or 2m"))
}

fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("expected a duration over zero".to_owned()),
        positive => Ok(positive),
    }
}

#[cfg(test)]
mod tests;
