//! `failures.jsonl`: rows that could not be used and rollouts that could not go on.

use std::io;

use respool_core::{Failure, RolloutSpec};
use serde::{Deserialize, Serialize};

use crate::record::write_line;

/// One row or rollout that failed. What does not apply is null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRecord {
    /// The task, as far as it is known.
    pub task_id: Option<String>,
    /// Which sample of it; null where the whole row failed.
    pub sample_index: Option<u32>,
    /// The task file.
    pub file: Option<String>,
    /// Line of the row in it, from 1.
    pub line: Option<u64>,
    /// The field that is wrong.
    pub field: Option<String>,
    /// Which part failed, by its stable name.
    pub kind: String,
    /// `transient`, `overloaded` or `terminal`: whether running it again may help.
    pub class: String,
    /// What was found, what was expected, what to do.
    pub reason: String,
}

impl FailureRecord {
    /// The record of a rollout that could not go on; where its row came from is added by who knows.
    #[must_use]
    pub fn new(spec: &RolloutSpec, failure: &Failure) -> Self {
        let Failure { kind, class, message } = failure;
        Self {
            task_id: Some(spec.task_id.clone()),
            sample_index: Some(spec.sample_index),
            file: None,
            line: None,
            field: None,
            kind: kind.as_str().to_owned(),
            class: class.name().to_owned(),
            reason: message.clone(),
        }
    }

    /// Writes the record as one line, in one write.
    ///
    /// # Errors
    /// What the writer fails with.
    pub fn write_line(&self, writer: &mut dyn io::Write) -> io::Result<()> {
        write_line(self, writer)
    }
}
