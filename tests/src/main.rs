//! Runs folders of test data: `respool-tests cases | scenarios | goldens [DIR] [--tokenizers DIR] [--strict]`,
//! and `respool-tests recordings [DIR] [--json]` and `engine-test --server URL [--model DIR]`.
//!
//! One line an item, one line of counts at the end; `docs/testing.md` says what each verdict means.
//!
//! *Invariant:* nothing in a folder can keep the other items from being run: what cannot be read is
//! *not understood*, a panic fails its own item, and so does an item that does not end.
#![expect(clippy::print_stderr, clippy::print_stdout, reason = "a command line tool")]

mod args;
mod cases;
mod clock;
mod engine_test;
mod goldens;
mod item;
mod json;
mod messages;
mod recordings;
mod report;
mod scenarios;
mod stub;
mod text;
mod tokenizers;
mod wire;
mod world;

use std::io;
use std::process::ExitCode;

use args::{Args, Kind};
use item::Item;
use report::{Report, Verdict};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.split_first() {
        Some((kind, rest)) if kind == "recordings" => recordings::run(rest),
        Some((kind, rest)) if kind == "engine-test" => engine_test::run(rest),
        _ => run(args).map(|good| if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the run is good.
fn run(args: Vec<String>) -> anyhow::Result<bool> {
    let args = Args::parse(args.into_iter())?;
    let mut report = Report::new(args.kind.name(), io::stdout());
    if !args.dir.is_dir() {
        let why = format!("{} is no folder", args.dir.display());
        report.item(args.kind.name(), &Verdict::Skipped(why))?;
        report.end(args.strict)?;
        return Ok(!args.strict);
    }
    let items = match args.kind {
        Kind::Cases => cases::items(&args)?,
        Kind::Scenarios => scenarios::items(&args)?,
        Kind::Goldens => goldens::items(&args)?,
    };
    for Item { id, check } in items {
        let verdict = item::run(check);
        if let Verdict::NotUnderstood(why) = &verdict {
            eprintln!("{id}: {why}");
        }
        report.item(&id, &verdict)?;
    }
    Ok(report.end(args.strict)?)
}
