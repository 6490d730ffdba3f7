//! The journal: the events of a rollout, in order, one envelope after the other.

use respool_core::Event;
use serde::{Deserialize, Serialize};

use crate::{
    DecodeError,
    envelope::{self, Kind},
    error::Invalid,
    v1::{self, Mirror},
};

/// One event that a rollout took.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalEntry {
    /// Its place: one more than that of the entry before it.
    pub seq: u64,
    /// What happened.
    pub event: Event,
}

/// The readable beginning of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// All entries before the first unreadable byte.
    pub entries: Vec<JournalEntry>,
    /// How many bytes they take; the file may be cut there and appended to.
    pub good_bytes: usize,
    /// Why reading stopped before the end. [`DecodeError::is_torn`] is what a crash during an
    /// append leaves; anything else is damage.
    pub stopped: Option<DecodeError>,
}

/// The payload. A later minor version may append fields, here and nowhere else.
#[derive(Serialize, Deserialize)]
struct Payload {
    seq: u64,
    event: v1::Event,
}

/// The bytes of an entry; a journal is such bytes one after the other.
#[must_use]
pub fn encode_entry(entry: &JournalEntry) -> Vec<u8> {
    let JournalEntry { seq, event } = entry;
    let payload = Payload { seq: *seq, event: Mirror::store(event) };
    envelope::seal(Kind::JournalEntry, &crate::to_postcard(&payload))
}

/// The entry at the start of the bytes, and how many of them it takes. Total, as
/// [`decode`](crate::decode) is.
///
/// # Errors
/// If they do not begin with a whole, undamaged entry of a known version.
pub fn decode_entry(bytes: &[u8]) -> Result<(JournalEntry, usize), DecodeError> {
    let opened = envelope::open(Kind::JournalEntry, bytes)?;
    let Payload { seq, event } = crate::from_postcard(Kind::JournalEntry, &opened)?;
    let event = event.load().map_err(|error| error.within("event"))?;
    Ok((JournalEntry { seq, event }, opened.len))
}

/// Reads entries up to the end, or up to the first one that is not whole or not in sequence.
#[must_use]
pub fn read_journal(bytes: &[u8]) -> Journal {
    let mut journal = Journal { entries: Vec::new(), good_bytes: 0, stopped: None };
    while journal.good_bytes < bytes.len() {
        let next = decode_entry(&bytes[journal.good_bytes..]).and_then(|found| follows(&journal, found));
        match next {
            Ok((entry, len)) => {
                journal.entries.push(entry);
                journal.good_bytes += len;
            }
            Err(error) => {
                journal.stopped = Some(error);
                break;
            }
        }
    }
    journal
}

fn follows(journal: &Journal, found: (JournalEntry, usize)) -> Result<(JournalEntry, usize), DecodeError> {
    match journal.entries.last() {
        Some(last) if last.seq.checked_add(1) != Some(found.0.seq) => {
            let reason = format!("found {} after {}, expected one more", found.0.seq, last.seq);
            Err(Invalid::new("seq", reason).into())
        }
        _ => Ok(found),
    }
}

#[cfg(test)]
mod tests;
