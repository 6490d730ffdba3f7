//! Recorded exchanges with real engines, replayed through the client: `recordings [DIR] [--json]`.
//!
//! One line a file, in the order of their paths: what the client made of the answer, the same for
//! every way of cutting it, or why the file is not replayed.

mod cuts;
mod file;
mod replay;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use self::file::{Recording, Skip};
use crate::args::shared;

/// Replays every file of a folder.
///
/// # Errors
/// If the arguments are not understood, or the folder cannot be read.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let Args { dir, is_json, is_strict } = parse(args)?;
    if !dir.is_dir() {
        println!("recordings skipped ({} is no folder)", dir.display());
        return Ok(if is_strict { ExitCode::FAILURE } else { ExitCode::SUCCESS });
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (mut replayed, mut skipped, mut differing) = (0, 0, 0);
    for path in files(&dir)? {
        let name = path.strip_prefix(&dir).unwrap_or(&path).display().to_string();
        let (line, is_same) = match Recording::read(&path, &name) {
            Ok(recording) => {
                replayed += 1;
                runtime.block_on(replay::replay(&recording))?
            }
            Err(Skip(why)) => {
                skipped += 1;
                (json!({ "skipped": why }), true)
            }
        };
        differing += u32::from(!is_same);
        println!("{}", if is_json { as_json(&name, line) } else { as_text(&name, &line) });
    }
    if !is_json {
        println!(
            "recordings: {replayed} replayed, {skipped} skipped, {differing} read differently when cut otherwise"
        );
    }
    Ok(if differing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Args {
    dir: PathBuf,
    is_json: bool,
    /// Whether a folder that is not there is a failure.
    is_strict: bool,
}

const USAGE: &str = "expected: recordings [DIR] [--json] [--strict]";

fn parse(args: &[String]) -> Result<Args> {
    let (mut dir, mut is_json, mut is_strict) = (None, false, false);
    for arg in args {
        match arg.as_str() {
            "--json" => is_json = true,
            "--strict" => is_strict = true,
            option if option.starts_with('-') => bail!("unknown option {option:?}, {USAGE}"),
            folder if dir.is_none() => dir = Some(PathBuf::from(folder)),
            surplus => bail!("{surplus:?} is a second folder, {USAGE}"),
        }
    }
    Ok(Args { dir: dir.unwrap_or_else(|| shared().join("recordings")), is_json, is_strict })
}

/// All JSON files below a folder, sorted.
fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn as_json(name: &str, line: Value) -> String {
    let mut whole = json!({ "file": name });
    if let (Value::Object(whole), Value::Object(line)) = (&mut whole, line) {
        whole.extend(line);
    }
    whole.to_string()
}

fn as_text(name: &str, line: &Value) -> String {
    let text = |key: &str| line.get(key).and_then(Value::as_str);
    if let Some(why) = text("skipped") {
        return format!("{name} skipped ({why})");
    }
    if let Some(why) = text("differs") {
        return format!("{name} DIFFERS: {why}");
    }
    let tokens = line.get("token_ids").and_then(Value::as_array).map_or(0, Vec::len);
    let end = match (text("finish"), text("error")) {
        (Some(finish), None) => finish.to_owned(),
        (_, Some(error)) => format!("{error}: {}", text("message").unwrap_or_default()),
        (None, None) => "no end".to_owned(),
    };
    format!("{name} {tokens} tokens, {end}")
}
