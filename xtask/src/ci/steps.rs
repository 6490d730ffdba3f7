//! The steps, cheapest first.

use anyhow::{Context, Result, bail};

use super::{Asked, Outcome, families};
use crate::command::{self, Shown, cargo, works};
use crate::layers;

/// One step.
pub(super) struct Step {
    /// How it is asked for.
    pub(super) name: &'static str,
    /// What it shows.
    pub(super) about: &'static str,
    /// Whether it runs only with `--full`.
    pub(super) long: bool,
    /// Runs it.
    pub(super) run: fn(&Asked) -> Result<Outcome>,
}

/// How many cases each property gets in the long tests.
const LONG_CASES: &str = "10000";
/// The oldest toolchain that must do: `rust-version` of the workspace.
const MSRV: &str = "1.90";

const fn step(name: &'static str, about: &'static str, run: fn(&Asked) -> Result<Outcome>) -> Step {
    Step { name, about, long: false, run }
}

const fn long(name: &'static str, about: &'static str, run: fn(&Asked) -> Result<Outcome>) -> Step {
    Step { name, about, long: true, run }
}

/// All steps in the order in which they run.
pub(super) const STEPS: &[Step] = &[
    step("format", "every file is as rustfmt writes it", format),
    step("layers", "the arrows between crates are those of the design", layers),
    step("clippy", "no warning in any target", clippy),
    step("alone", "every crate builds without the others' features", alone),
    step("features", "TLS builds without a warning", features),
    step("msrv", "it builds with the oldest toolchain that must do", msrv),
    step("docs", "the documentation builds without a warning", docs),
    step("tests", "unit, property and end-to-end tests", tests),
    step("doctests", "the examples in the documentation", doctests),
    step("cases", "../shared/cases", |asked| data("cases", asked)),
    step("goldens", "../shared/goldens", |asked| data("goldens", asked)),
    step("scenarios", "../shared/scenarios", |asked| data("scenarios", asked)),
    step("recordings", "../shared/recordings, however they are cut", |asked| data("recordings", asked)),
    step("families", "whole rollouts of every model family in ../shared/tokenizers", families::run),
    long("long-tests", "the tests again, optimized, with many more cases a property", long_tests),
    long("fuzz", "decoders of what servers send, a minute each; readers of tool calls, two", fuzz),
    long("templates", "real chat templates, as Python renders them (needs python3 and PyPI)", templates),
    long("verify", "resume equivalence of the default configuration, many cases", verify),
];

fn format(_: &Asked) -> Result<Outcome> {
    needs("cargo", &["fmt", "--version"], "rustup component add rustfmt")?;
    cargo(["fmt", "--all", "--check"]).run()?;
    Ok(Outcome::Passed)
}

fn layers(_: &Asked) -> Result<Outcome> {
    layers::run()?;
    Ok(Outcome::Passed)
}

fn clippy(_: &Asked) -> Result<Outcome> {
    needs("cargo", &["clippy", "--version"], "rustup component add clippy")?;
    cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]).run()?;
    Ok(Outcome::Passed)
}

/// Each package by itself: what it forgot to ask for, nobody else's features hide.
fn alone(_: &Asked) -> Result<Outcome> {
    for package in layers::packages()? {
        cargo(["check", "--quiet", "-p", &package]).run().context("a crate does not build alone")?;
    }
    Ok(Outcome::Passed)
}

/// Optional features, which nothing else turns on.
fn features(_: &Asked) -> Result<Outcome> {
    cargo(["clippy", "-p", "respool-cli", "--features", "tls", "--", "-D", "warnings"]).run()?;
    Ok(Outcome::Passed)
}

fn msrv(_: &Asked) -> Result<Outcome> {
    let toolchain = format!("+{MSRV}");
    if !works("cargo", &[&toolchain, "--version"]) {
        let hint = format!("no toolchain {MSRV}; to have it: rustup toolchain install {MSRV}");
        return Ok(Outcome::Skipped(hint));
    }
    Shown::new("cargo", [toolchain.as_str(), "check", "--workspace"]).run()?;
    Ok(Outcome::Passed)
}

fn docs(_: &Asked) -> Result<Outcome> {
    cargo(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings").run()?;
    Ok(Outcome::Passed)
}

fn tests(_: &Asked) -> Result<Outcome> {
    if works("cargo", &["nextest", "--version"]) {
        cargo(["nextest", "run", "--workspace", "--no-fail-fast"]).run()?;
    } else {
        cargo(["test", "--workspace", "--all-targets", "--no-fail-fast"]).run()?;
    }
    Ok(Outcome::Passed)
}

fn doctests(_: &Asked) -> Result<Outcome> {
    cargo(["test", "--workspace", "--doc"]).run()?;
    Ok(Outcome::Passed)
}

fn data(kind: &str, asked: &Asked) -> Result<Outcome> {
    let strict: &[String] = if asked.strict { &["--strict".to_owned()] } else { &[] };
    command::runner(kind, strict)?;
    Ok(Outcome::Passed)
}

fn long_tests(_: &Asked) -> Result<Outcome> {
    let tests = cargo(["test", "--release", "--workspace", "--all-targets", "--no-fail-fast"]);
    tests.env("PROPTEST_CASES", LONG_CASES).run()?;
    Ok(Outcome::Passed)
}

fn fuzz(_: &Asked) -> Result<Outcome> {
    crate::fuzz::run(None, "")?;
    Ok(Outcome::Passed)
}

fn templates(_: &Asked) -> Result<Outcome> {
    needs("python3", &["-m", "venv", "--help"], "apt-get install python3-venv")?;
    crate::templates::run()?;
    Ok(Outcome::Passed)
}

fn verify(_: &Asked) -> Result<Outcome> {
    cargo(["run", "--release", "-p", "respool-cli", "--", "verify", "--cases", LONG_CASES]).run()?;
    Ok(Outcome::Passed)
}

fn needs(program: &str, args: &[&str], hint: &str) -> Result<()> {
    if !works(program, args) {
        bail!("`{program} {}` does not work; to install it: {hint}", args.join(" "));
    }
    Ok(())
}
