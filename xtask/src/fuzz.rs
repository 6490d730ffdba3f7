//! Fuzzing: libFuzzer on the decoders of what servers send, and on the readers of tool calls.
//!
//! Coverage comes from LLVM's own pass, so that the pinned compiler does, and nothing has to be
//! installed but a C++ compiler.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::command::{Shown, cargo, root};

/// What makes the compiler count which edges a run takes.
const COVERAGE: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Fuzzes every target whose name begins so, for so many seconds or for its own time. What breaks
/// one is in `fuzz/artifacts/TARGET/`.
///
/// # Errors
/// If no target is named so, one does not build, or something breaks it.
pub(crate) fn run(seconds: Option<&str>, name: &str) -> Result<()> {
    if let Some(seconds) = seconds.filter(|seconds| seconds.parse::<u32>().is_err()) {
        bail!("{seconds:?} is no number of seconds");
    }
    let fuzz = root()?.join("fuzz");
    let mut targets = targets(&fuzz.join("fuzz_targets"))?;
    targets.retain(|target| target.starts_with(name));
    ensure!(!targets.is_empty(), "no target in fuzz/fuzz_targets is named {name:?}");
    for target in targets {
        let seconds = seconds.unwrap_or_else(|| default_seconds(&target));
        let (corpus, found, artifacts) = (
            fuzz.join("corpus").join(&target),
            fuzz.join("target").join("found").join(&target),
            fuzz.join("artifacts").join(&target),
        );
        for folder in [&found, &artifacts] {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        // New inputs go to the first folder; the committed corpus is the second.
        let inputs = [found.display().to_string(), corpus.display().to_string()];
        let limits = [
            format!("-max_total_time={seconds}"),
            format!("-artifact_prefix={}/", artifacts.display()),
            "-timeout=10".to_owned(),
        ];
        let manifest = fuzz.join("Cargo.toml").display().to_string();
        let host = host()?;
        let build =
            ["run", "--release", "--manifest-path", &manifest, "--target", &host, "--bin", &target, "--"];
        let run = cargo(build).args(&inputs).args(&limits);
        run.env("RUSTFLAGS", COVERAGE)
            .env("CARGO_TARGET_DIR", &fuzz.join("target").display().to_string())
            .run()?;
    }
    Ok(())
}

/// The readers of turns have more states than the decoders.
fn default_seconds(target: &str) -> &'static str {
    if target.starts_with("turn_") { "120" } else { "60" }
}

/// Names of the files of targets.
fn targets(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        names.extend(path.file_stem().and_then(|name| name.to_str()).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// The compiler's own target. With a target named, build scripts are not instrumented.
fn host() -> Result<String> {
    let text = Shown::new("rustc", ["-vV"]).output()?;
    let text = String::from_utf8(text).context("rustc -vV is no text")?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc -vV does not tell its host")
}
