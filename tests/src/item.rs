//! Items: reading them one by one, running them so that one cannot harm the next.

use std::any::Any;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::report::Verdict;

/// One thing to check.
pub(crate) struct Item {
    /// Its name in the report.
    pub(crate) id: String,
    /// How it is checked.
    pub(crate) check: Check,
}

/// A check, ready to run.
pub(crate) type Check = Box<dyn FnOnce() -> Verdict + Send>;

/// No item takes a tenth of this; one that takes longer hangs.
const TIME_LIMIT: Duration = Duration::from_secs(60);

impl Item {
    /// An item with its check.
    pub(crate) fn new(id: impl Into<String>, check: impl FnOnce() -> Verdict + Send + 'static) -> Self {
        Self { id: id.into(), check: Box::new(check) }
    }

    /// An item whose verdict is known.
    pub(crate) fn known(id: impl Into<String>, verdict: Verdict) -> Self {
        Self::new(id, move || verdict)
    }
}

/// Runs a check on a thread of its own: a panic fails it, and so does taking longer than a minute.
pub(crate) fn run(check: Check) -> Verdict {
    run_within(check, TIME_LIMIT)
}

fn run_within(check: Check, limit: Duration) -> Verdict {
    let (sender, receiver) = mpsc::channel();
    let running = thread::Builder::new().spawn(move || {
        // The receiver is gone only if we took too long; then nobody wants the verdict.
        let _ = sender.send(check());
    });
    let thread = match running {
        Ok(thread) => thread,
        Err(error) => return Verdict::Skipped(format!("no thread to run it: {error}")),
    };
    match receiver.recv_timeout(limit) {
        Ok(verdict) => verdict,
        Err(mpsc::RecvTimeoutError::Timeout) => Verdict::Fail(format!("it did not end within {limit:?}")),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let panic = thread.join().err();
            Verdict::Fail(format!("it panicked: {}", panic_text(panic.as_deref())))
        }
    }
}

fn panic_text(panic: Option<&(dyn Any + Send)>) -> &str {
    let text = panic.and_then(|panic| {
        panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied())
    });
    text.unwrap_or("without a message")
}

/// The JSON files of a folder, by name.
///
/// # Errors
/// If the folder cannot be read.
pub(crate) fn json_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let in_dir = || format!("cannot read the folder {}", dir.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).with_context(in_dir)? {
        let path = entry.with_context(in_dir)?.path();
        if path.is_file() && path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// A file's name without its extension.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The text of a file, or why it is not understood.
pub(crate) fn read(path: &Path) -> Result<String, Verdict> {
    fs::read_to_string(path)
        .map_err(|error| Verdict::NotUnderstood(format!("cannot read {}: {error}", path.display())))
}

/// An item of a list, or why it is not understood.
pub(crate) fn parse<'de, T: Deserialize<'de>>(json: &'de str) -> Result<T, Verdict> {
    serde_json::from_str(json).map_err(|error| Verdict::NotUnderstood(error.to_string()))
}

/// The id of an item, or its place where it has none.
pub(crate) fn id_of(raw: &RawValue, file: &str, index: usize) -> String {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    let named: Result<Named, _> = serde_json::from_str(raw.get());
    named.map_or_else(|_| format!("{file}#{index}"), |named| named.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_fails_its_own_item() {
        let verdict = run(Box::new(|| panic!("gone {}", 1)));
        assert_eq!(verdict, Verdict::Fail("it panicked: gone 1".to_owned()));
        assert_eq!(run(Box::new(|| Verdict::Pass)), Verdict::Pass);
    }

    #[test]
    fn an_item_that_hangs_fails() {
        let (keep, never) = mpsc::channel::<()>();
        let check: Check = Box::new(move || {
            let _ = never.recv();
            Verdict::Pass
        });
        assert!(matches!(run_within(check, Duration::from_millis(1)), Verdict::Fail(_)));
        drop(keep);
    }

    #[test]
    fn an_item_without_an_id_is_named_by_its_place() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).expect("json");
        assert_eq!(id_of(&raw(r#"{"id": "TP-01"}"#), "tool_parser", 0), "TP-01");
        assert_eq!(id_of(&raw(r#"{"id": 7}"#), "tool_parser", 3), "tool_parser#3");
        assert_eq!(id_of(&raw("[]"), "tool_parser", 4), "tool_parser#4");
    }
}
