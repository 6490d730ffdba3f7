//! What the way over HTTP costs: `cargo xtask bench http [ARGS]`.
//!
//! Mock servers run in processes of their own, one core at most each; the client has one thread.
//! In the same run, a bare hyper client sends the same requests to the same servers and only
//! drains the answers: it is the baseline. Nothing here is asserted about time.
//!
//! | argument | meaning |
//! |---|---|
//! | `--quick` | everything smaller, in less than a minute |
//! | `--only throughput`, `encode` or `crowd` | one part |
//! | `--tokens N` | tokens of a run of the throughput (default 400,000) |
//! | `--rounds N` | runs of each client, taken in turn (default 7) |
//! | `--streams N` | streams of the crowd (default 10,000) |
//! | `--pace DURATION` | time for one token of the crowd (default 100ms) |
#![expect(clippy::print_stdout, reason = "a command line tool")]

mod client;
mod crowd;
mod encode;
mod server;
mod throughput;
mod usage;

use std::time::Duration;

use anyhow::{Context, Result, bail};

struct Args {
    is_quick: bool,
    only: Option<String>,
    tokens: u64,
    rounds: usize,
    streams: usize,
    pace: Duration,
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let Some((server::SERVE, rest)) = words.split_first().map(|(word, rest)| (word.as_str(), rest)) {
        return server::serve(rest);
    }
    let args = args(words)?;
    let is_asked = |part: &str| args.only.as_deref().is_none_or(|only| only == part);
    if let Ok(load) = std::fs::read_to_string("/proc/loadavg") {
        println!("load before: {}", load.trim());
    }
    if is_asked("encode") {
        encode::run()?;
    }
    if is_asked("throughput") {
        throughput::run(&args, &runtime()?)?;
    }
    if is_asked("crowd") {
        crowd::run(&args)?;
    }
    Ok(())
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

fn args(words: Vec<String>) -> Result<Args> {
    let is_quick = words.iter().any(|word| word == "--quick");
    let (tokens, rounds, streams) = if is_quick { (50_000, 3, 2_000) } else { (400_000, 7, 10_000) };
    let mut args = Args { is_quick, only: None, tokens, rounds, streams, pace: Duration::from_millis(100) };
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--quick" => {}
            "--only" => args.only = Some(part(value()?)?),
            "--tokens" => args.tokens = value()?.parse().context("--tokens")?,
            "--rounds" => args.rounds = value()?.parse::<usize>().context("--rounds")?.max(1),
            "--streams" => args.streams = value()?.parse::<usize>().context("--streams")?.max(1),
            "--pace" => args.pace = humantime::parse_duration(&value()?).context("--pace")?,
            _ => bail!("unknown argument {word:?}"),
        }
    }
    Ok(args)
}

fn part(name: String) -> Result<String> {
    match name.as_str() {
        "encode" | "throughput" | "crowd" => Ok(name),
        _ => bail!("--only is {name:?}, expected encode, throughput or crowd"),
    }
}
