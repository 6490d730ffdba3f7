//! Reading trajectory records back.

use std::{
    fmt,
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

use crate::TrajectoryRecord;

/// The records of a file, in order. Empty lines are skipped; after a line that is not a record
/// the next one is read, so that one bad line does not hide the others.
pub struct Records {
    name: String,
    reader: Box<dyn BufRead + Send>,
    line: u64,
}

/// A line that is not a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file cannot be read.
    #[error("{file} cannot be read")]
    Io {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// The line is not a record.
    #[error("{file}:{line}: {field}: {reason}")]
    Invalid {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// Path of the field, as in `messages[3].content`; `.` is the whole line.
        field: String,
        /// What was found, what was expected.
        reason: String,
    },
}

impl Records {
    /// The records of a file.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Ok(Self::new(Box::new(BufReader::new(file)), name)),
            Err(source) => Err(RecordError::Io { file: name, source }),
        }
    }

    /// The records that a reader gives; `name` is for messages.
    #[must_use]
    pub fn new(reader: Box<dyn BufRead + Send>, name: impl Into<String>) -> Self {
        Self { name: name.into(), reader, line: 0 }
    }

    /// Number of the line that was read last, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    fn next_line(&mut self) -> Result<Option<Vec<u8>>, RecordError> {
        loop {
            let mut line = Vec::new();
            let read = self.reader.read_until(b'\n', &mut line);
            let read = read.map_err(|source| RecordError::Io { file: self.name.clone(), source })?;
            if read == 0 {
                return Ok(None);
            }
            self.line += 1;
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
    }

    fn parse(&self, line: &[u8]) -> Result<TrajectoryRecord, RecordError> {
        let record = serde_json::from_slice(line).map_err(|error| self.name_field(line, &error))?;
        match TrajectoryRecord::contradiction(&record) {
            None => Ok(record),
            Some((field, reason)) => Err(self.invalid(field.to_owned(), reason)),
        }
    }

    /// Parses a bad line once more, to tell where in it the error is.
    fn name_field(&self, line: &[u8], error: &serde_json::Error) -> RecordError {
        let deserializer = &mut serde_json::Deserializer::from_slice(line);
        let found: Result<TrajectoryRecord, _> = serde_path_to_error::deserialize(deserializer);
        let path = found.err().map(|error| error.path().to_string());
        self.invalid(path.unwrap_or_else(|| ".".to_owned()), reason(error))
    }

    fn invalid(&self, field: String, reason: String) -> RecordError {
        RecordError::Invalid { file: self.name.clone(), line: self.line, field, reason }
    }
}

/// What serde_json says, without its line: it saw only one.
fn reason(error: &serde_json::Error) -> String {
    let (text, column) = (error.to_string(), error.column());
    let place = format!(" at line {} column {column}", error.line());
    text.strip_suffix(&place).map_or_else(|| text.clone(), |reason| format!("{reason} (column {column})"))
}

impl Iterator for Records {
    type Item = Result<TrajectoryRecord, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_line().transpose().map(|line| line.and_then(|line| self.parse(&line)))
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("name", &self.name).field("line", &self.line).finish_non_exhaustive()
    }
}
