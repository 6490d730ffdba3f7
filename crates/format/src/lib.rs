//! Versioned bytes of rollouts: snapshots, journal events and trajectory records.
//!
//! *Snapshots* ([`encode`], [`decode`]) hold all that a rollout is; *journal entries*
//! ([`encode_entry`], [`read_journal`]) hold what happened to it; both are postcard in an envelope
//! with magic, version and checksum. *Trajectory records* ([`TrajectoryRecord`]) are what trainers
//! read: one JSON object a line. `docs/snapshot.md` and `docs/trajectory.md` describe them.
//!
//! It is deliberately not a store (it says nothing of where bytes go) and it does not step
//! anything: a decoded rollout is as it was when it was encoded.
//!
//! *Invariant:* `decode(encode(x)) = x` by bits, and no input makes decoding panic or return
//! something else than what was encoded. The types written are mirrors of core's, converted field
//! by field, so that a new field in core does not compile here until its bytes are decided.
//!
//! ```
//! use std::sync::Arc;
//! use respool_core::{AgentData, AgentState, RolloutId, RolloutSpec};
//! use respool_format::{Fingerprints, Snapshot, decode, encode};
//!
//! let spec = RolloutSpec::new(RolloutId(7), "gsm8k/0", Vec::new());
//! let data = AgentData::new(Arc::new(spec));
//! let snapshot = Snapshot { data, state: AgentState::Pending, fingerprints: Fingerprints::default() };
//! let bytes = encode(&snapshot);
//! assert_eq!(decode(&bytes)?, snapshot);
//! assert!(decode(&bytes[..bytes.len() - 1]).is_err_and(|error| error.is_torn()));
//! # Ok::<(), respool_format::DecodeError>(())
//! ```

mod compare;
mod envelope;
mod error;
mod failure;
mod journal;
mod postcard_io;
mod read;
mod record;
mod snapshot;
mod v1;

pub use compare::{Comparison, RecordKey, compare_files, record_eq};
pub use error::DecodeError;
pub use failure::FailureRecord;
pub use journal::{Journal, JournalEntry, decode_entry, encode_entry, read_journal};
pub use read::{RecordError, Records};
pub use record::{
    FunctionRecord, MarkRecord, MessageRecord, MetricsRecord, PartRecord, RecordContent, SamplingRecord,
    TemplateChangeRecord, ToolCallRecord, ToolMetricsRecord, TrajectoryRecord, UrlRecord,
};
pub use snapshot::{Fingerprints, Snapshot, decode, encode, encode_parts};

pub(crate) use postcard_io::{from_postcard, to_postcard};

#[cfg(test)]
mod arbitrary;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod samples;
