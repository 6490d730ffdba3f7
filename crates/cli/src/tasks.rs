//! The task file: one JSON row a line, as the reference's datasets have them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::Context;
use sha2::{Digest, Sha256};

mod columns;
mod message;
mod row;

pub(crate) use row::Row;

/// A task file, read.
#[derive(Debug)]
pub(crate) struct TaskFile {
    pub(crate) path: PathBuf,
    /// Of the whole file, in hex.
    pub(crate) sha256: String,
    pub(crate) tasks: Vec<Task>,
    pub(crate) bad: Vec<BadRow>,
    /// Columns that nobody reads.
    pub(crate) ignored: Ignored,
}

/// One row that can be run.
#[derive(Debug)]
pub(crate) struct Task {
    /// Its name, unique in the file.
    pub(crate) id: String,
    /// Its line, from 1.
    pub(crate) line: u64,
    pub(crate) row: Row,
}

/// A row that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadRow {
    pub(crate) task_id: Option<String>,
    pub(crate) line: u64,
    pub(crate) field: Option<String>,
    pub(crate) reason: String,
}

/// What was ignored, with how often and where first.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ignored(BTreeMap<String, (u64, u64)>);

impl Ignored {
    pub(crate) fn add(&mut self, what: impl Into<String>, line: u64) {
        self.0.entry(what.into()).or_insert((0, line)).0 += 1;
    }

    /// One line each.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(what, (count, line))| match count {
            1 => format!("ignored {what} (line {line})"),
            _ => format!("ignored {what} ({count} rows, first in line {line})"),
        })
    }
}

impl TaskFile {
    /// Reads the first `limit` rows. A bad row costs no other row anything.
    pub(crate) fn read(path: &Path, limit: Option<u64>) -> anyhow::Result<Self> {
        let bytes =
            std::fs::read(path).with_context(|| format!("cannot read the task file {}", path.display()))?;
        Ok(Self::of_bytes(path, &bytes, limit))
    }

    /// As [`Self::read`], from its content.
    pub(crate) fn of_bytes(path: &Path, bytes: &[u8], limit: Option<u64>) -> Self {
        let mut file = Self {
            path: path.to_owned(),
            sha256: Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect(),
            tasks: Vec::new(),
            bad: Vec::new(),
            ignored: Ignored::default(),
        };
        file.read_rows(bytes, limit.unwrap_or(u64::MAX));
        file
    }

    fn read_rows(&mut self, bytes: &[u8], limit: u64) {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes); // a byte order mark
        let lines = (1_u64..).zip(text.split(|byte| *byte == b'\n'));
        let rows = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
        let mut seen = BTreeMap::new();
        for (line, text) in rows.take(usize::try_from(limit).unwrap_or(usize::MAX)) {
            match Row::parse(text, line, &mut self.ignored) {
                Ok((id, row)) => match seen.entry(id) {
                    std::collections::btree_map::Entry::Vacant(place) => {
                        self.tasks.push(Task { id: place.key().clone(), line, row });
                        place.insert(line);
                    }
                    std::collections::btree_map::Entry::Occupied(place) => {
                        self.bad.push(duplicate(place.key(), *place.get(), line));
                    }
                },
                Err(bad) => self.bad.push(bad),
            }
        }
    }
}

fn duplicate(id: &str, first: u64, line: u64) -> BadRow {
    BadRow {
        task_id: Some(id.to_owned()),
        line,
        field: Some("task_id".to_owned()),
        reason: format!(
            "lines {first} and {line} are both task {id:?}, expected different names; line {first} is run"
        ),
    }
}

#[cfg(test)]
mod tests;
