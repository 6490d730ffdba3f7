//! What earlier processes of a run have written.

use std::{
    collections::HashSet,
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use anyhow::{Context, anyhow};
use respool_format::FailureRecord;
use serde::de::DeserializeOwned;

use crate::{
    names::Key,
    out::RunDir,
    summary::{Facts, Summary},
};

/// What is on disk.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// Rollouts that have a trajectory or a failure.
    pub(super) ended: HashSet<Key>,
    /// Lines of rows that have a failure.
    pub(super) bad_lines: HashSet<u64>,
    pub(super) failed: Vec<FailureRecord>,
    pub(super) summary: Summary,
    /// The newest policy version.
    pub(super) version: u64,
}

impl Before {
    /// Reads the files, whose last lines are whole.
    pub(super) fn read(dir: &RunDir) -> anyhow::Result<Self> {
        let mut before = Self::default();
        each_line(&dir.trajectories(), |facts: Facts| {
            before.version = before.version.max(facts.param_version_end.unwrap_or_default());
            if before.ended.insert(facts.key()) {
                before.summary.add(&facts);
            }
        })?;
        each_line(&dir.failures(), |failure: FailureRecord| {
            match (&failure.task_id, failure.sample_index, failure.line) {
                (Some(task_id), Some(sample), _) => {
                    before.ended.insert(Key { task_id: task_id.clone(), sample });
                }
                (_, None, Some(line)) => {
                    before.bad_lines.insert(line);
                }
                _ => {}
            }
            before.failed.push(failure);
        })?;
        Ok(before)
    }
}

fn each_line<T: DeserializeOwned>(path: &Path, mut take: impl FnMut(T)) -> anyhow::Result<()> {
    let name = path.display();
    let mut reader = BufReader::new(File::open(path).with_context(|| format!("cannot read {name}"))?);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        if reader.read_until(b'\n', &mut line).with_context(|| format!("cannot read {name}"))? == 0 {
            break;
        }
        if !line.trim_ascii().is_empty() {
            take(serde_json::from_slice(&line).map_err(|error| anyhow!("{name}:{number}: {error}"))?);
        }
    }
    Ok(())
}
