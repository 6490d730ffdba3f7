//! Whole rollouts of every model family whose tokenizer is at hand.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::{Asked, Outcome};
use crate::command::{Shown, cargo};

/// A folder of model folders.
const TOKENIZERS: &str = "../shared/tokenizers";
/// Where the runs go.
const RUNS: &str = "target/families";
/// Tasks whose solutions the teacher knows.
const EXAMPLE: &str = "examples/gsm8k";

/// Both embedded policies speak for every family, and resume equivalence holds for it.
pub(super) fn run(asked: &Asked) -> Result<Outcome> {
    if !Path::new(TOKENIZERS).is_dir() {
        let skipped = format!("no folder {TOKENIZERS}");
        return Ok(if asked.strict { Outcome::Failed(skipped) } else { Outcome::Skipped(skipped) });
    }
    let folders = model_folders(Path::new(TOKENIZERS))?;
    if folders.is_empty() {
        bail!("{TOKENIZERS} holds no folder with a tokenizer.json");
    }
    for folder in folders {
        family(&folder).with_context(|| format!("model folder {}", folder.display()))?;
    }
    Ok(Outcome::Passed)
}

fn family(folder: &Path) -> Result<()> {
    let model = folder.display().to_string();
    for policy in ["teacher", "hash"] {
        let out = Path::new(RUNS).join(folder.file_name().unwrap_or_default()).join(policy);
        if out.exists() {
            fs::remove_dir_all(&out).with_context(|| format!("cannot remove {}", out.display()))?;
        }
        let (tasks, out) = (format!("{EXAMPLE}/tasks.jsonl"), out.display().to_string());
        let args = ["run", &tasks, "--out", &out, "--model", &model, "--policy", policy];
        respool(&[&args[..], &["--limit", "4", "--n", "2", "--token-latency", "0ms"]].concat()).run()?;
    }
    let config = format!("{EXAMPLE}/respool.toml");
    respool(&["verify", "--config", &config, "--model", &model, "--cases", "20"]).run()
}

fn respool(args: &[&str]) -> Shown {
    let cargo_run = ["run", "--quiet", "-p", "respool-cli", "--"];
    cargo(cargo_run.into_iter().chain(args.iter().copied()))
}

fn model_folders(parent: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(parent).with_context(|| format!("cannot read {}", parent.display()))? {
        let path = entry?.path();
        if path.join("tokenizer.json").is_file() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}
