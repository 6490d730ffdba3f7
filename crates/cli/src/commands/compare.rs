//! `respool compare`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::bail;
use respool_format::{Comparison, compare_files};

use super::FAILED;
use crate::{args::CompareArgs, out::RunDir, screen};

/// The most differences that are shown.
const SHOWN: usize = 20;

pub(super) fn command(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let (left, right) = (file(&args.left)?, file(&args.right)?);
    let comparison = compare_files(&left, &right)?;
    let lines = lines(&comparison);
    lines.iter().take(SHOWN).for_each(|line| screen::say(line));
    if lines.len() > SHOWN {
        screen::say(&format!("… and {} more", lines.len() - SHOWN));
    }
    let Comparison { equal, differing, only_left, only_right, duplicates } = &comparison;
    screen::say(&format!(
        "{equal} equal, {} different, {} only in the first, {} only in the second, {} more than once (compared: all \
         but versions, marks, wasted tokens and timings)",
        differing.len(),
        only_left.len(),
        only_right.len(),
        duplicates.len()
    ));
    Ok(if comparison.is_equal() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

fn file(path: &Path) -> anyhow::Result<PathBuf> {
    let file = if path.is_dir() { RunDir::new(path).trajectories() } else { path.to_owned() };
    if !file.exists() {
        bail!("nothing is at {}; expected a run's directory or trajectories.jsonl", file.display());
    }
    Ok(file)
}

fn lines(comparison: &Comparison) -> Vec<String> {
    let Comparison { equal: _, differing, only_left, only_right, duplicates } = comparison;
    let differing = differing.iter().map(|(key, difference)| format!("{key}: {difference}"));
    let keys = [
        ("only in the first", only_left),
        ("only in the second", only_right),
        ("more than once", duplicates),
    ];
    let keys = keys.into_iter().flat_map(|(what, keys)| keys.iter().map(move |key| format!("{key}: {what}")));
    differing.chain(keys).collect()
}
