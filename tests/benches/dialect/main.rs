//! What reading and writing a model's turns costs: `cargo xtask bench dialect [parsers|turns]
//! [--tokenizers DIR]`.
//!
//! `parsers` reads turns of 1 KB, 100 KB and 10 MB in every tool-call format; `turns` takes what one
//! turn of a rollout needs of template and tokenizer. Both stand beside what a bare library needs
//! in the same run.
#![expect(clippy::print_stdout, reason = "a command line tool")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

mod parsers;
mod turns;

fn main() -> Result<()> {
    let (mut only, mut tokenizers) = (None, PathBuf::from("../shared/tokenizers"));
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        match word.as_str() {
            "parsers" | "turns" => only = Some(word),
            "--tokenizers" => tokenizers = words.next().context("--tokenizers needs a folder")?.into(),
            _ => bail!("unknown argument {word:?}; known are parsers, turns and --tokenizers DIR"),
        }
    }
    let asked = |part: &str| only.as_deref().is_none_or(|only| only == part);
    if asked("parsers") {
        parsers::run()?;
    }
    if asked("turns") {
        // A bench runs in its package's folder; paths are meant from the workspace's.
        turns::run(&Path::new("..").join(tokenizers))?;
    }
    Ok(())
}

/// Seconds of one run: the best of several that take a while together.
fn seconds(mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    let begin = Instant::now();
    for round in 0.. {
        if round >= 3 && begin.elapsed() > Duration::from_millis(60) {
            break;
        }
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    black_box(best)
}
