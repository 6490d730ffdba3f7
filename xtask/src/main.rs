//! The project's own commands: `cargo xtask ci` and what it consists of.
//!
//! Links no crate of ours, so that it builds in seconds and works while they do not: it starts
//! `cargo`, and the runner binary of `tests/`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

mod ci;
mod command;
mod fuzz;
mod layers;
mod templates;

use std::process::ExitCode;

use anyhow::{Result, bail};
use command::cargo;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  ci [STEP] [--full] [--strict]
      everything that has to be green, cheapest first, or one step of it
      --full    adds the long runs
      --strict  test data that is absent or not understood is a failure (also with CI=true)
  layers
      the arrows between crates are those of the design
  cases | scenarios | goldens [DIR] [--tokenizers DIR] [--strict]
      runs a folder of test data; DIR is ../shared/KIND by default
  recordings [DIR] [--json]
      replays recorded exchanges with engines through the client; DIR is ../shared/recordings by default
  engine-test --server URL [ARGS..]
      runs the whole client suite against a real server (docs/engines.md says how to start one)
  fuzz [SECONDS] [TARGET]
      fuzzes the decoders of what servers send and the readers of tool calls, so long each
      [default: 60 and 120], or those whose names begin so; needs a C++ compiler
  bench [engine|dialect|http] [ARGS..]
      runs a benchmark
  embedded
      makes the embedded dialect's files again";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.split_first() {
        Some((command, rest)) => dispatch(command, rest),
        None => Err(anyhow::anyhow!("{USAGE}\n\n{}", ci::usage())),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: &str, rest: &[String]) -> Result<ExitCode> {
    match command {
        // Its table says what failed, and its last line is the count of steps.
        "ci" => return Ok(if ci::run(rest)? { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
        "layers" => layers::run()?,
        "cases" | "scenarios" | "goldens" | "recordings" | "engine-test" => command::runner(command, rest)?,
        "fuzz" => fuzz::run(rest.first().map(String::as_str), rest.get(1).map_or("", String::as_str))?,
        "bench" => bench(rest)?,
        "embedded" => {
            cargo(["run", "--release", "-p", "respool-dialect", "--example", "make_embedded"]).run()?;
        }
        "help" | "--help" | "-h" => println!("{USAGE}\n\n{}", ci::usage()),
        _ => bail!("unknown command {command:?}\n\n{USAGE}\n\n{}", ci::usage()),
    }
    Ok(ExitCode::SUCCESS)
}

/// Benchmarks are bench targets of the package `respool-tests`.
fn bench(rest: &[String]) -> Result<()> {
    let (name, args) = match rest.split_first() {
        Some((name, args)) if !name.starts_with('-') => (name.as_str(), args),
        _ => ("engine", rest),
    };
    cargo(["bench", "-p", "respool-tests", "--bench", name, "--"]).args(args).run()
}
