//! Snapshots: all that a rollout is, as bytes.

use respool_core as core;
use serde::{Deserialize, Serialize};

use crate::{
    DecodeError,
    envelope::{self, Kind},
    error::Invalid,
    v1::{self, Mirror},
};

mod check;

/// All that a rollout is, and what it must be resumed with.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// All of it, but for its phase.
    pub data: core::AgentData,
    /// Its phase.
    pub state: core::AgentState,
    /// What it ran with.
    pub fingerprints: Fingerprints,
}

/// What a rollout ran with. One that is resumed with anything else may come out differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprints {
    /// Tokenizer, template and tool-call format.
    pub dialect: core::Fingerprint,
    /// The tools and what they declare.
    pub tools: core::Fingerprint,
    /// The loop and its options.
    pub agent_loop: core::Fingerprint,
}

/// The payload. A later minor version may append fields, here and nowhere else.
#[derive(Serialize, Deserialize)]
struct Payload {
    fingerprints: FingerprintsV1,
    data: v1::AgentData,
    state: v1::AgentState,
}

#[derive(Serialize, Deserialize)]
struct FingerprintsV1 {
    dialect: v1::Fingerprint,
    tools: v1::Fingerprint,
    agent_loop: v1::Fingerprint,
}

impl Mirror<Fingerprints> for FingerprintsV1 {
    fn store(fingerprints: &Fingerprints) -> Self {
        let Fingerprints { dialect, tools, agent_loop } = fingerprints;
        let [dialect, tools, agent_loop] = [dialect, tools, agent_loop].map(Mirror::store);
        Self { dialect, tools, agent_loop }
    }

    fn load(self) -> Result<Fingerprints, Invalid> {
        let Self { dialect, tools, agent_loop } = self;
        Ok(Fingerprints { dialect: dialect.load()?, tools: tools.load()?, agent_loop: agent_loop.load()? })
    }
}

/// The bytes of a snapshot.
#[must_use]
pub fn encode(snapshot: &Snapshot) -> Vec<u8> {
    let Snapshot { data, state, fingerprints } = snapshot;
    encode_parts(data, state, fingerprints)
}

/// As [`encode`], from parts that live elsewhere.
#[must_use]
pub fn encode_parts(
    data: &core::AgentData,
    state: &core::AgentState,
    fingerprints: &Fingerprints,
) -> Vec<u8> {
    let payload = Payload {
        fingerprints: Mirror::store(fingerprints),
        data: Mirror::store(data),
        state: Mirror::store(state),
    };
    envelope::seal(Kind::Snapshot, &crate::to_postcard(&payload))
}

/// The snapshot that the bytes hold. Total: no input panics, and none asks for more memory than a
/// multiple of its own length.
///
/// # Errors
/// If they are not exactly one whole, undamaged snapshot of a known version whose values fit
/// together.
pub fn decode(bytes: &[u8]) -> Result<Snapshot, DecodeError> {
    let opened = envelope::open(Kind::Snapshot, bytes)?;
    if opened.len < bytes.len() {
        let extra = (bytes.len() - opened.len) as u64;
        return Err(DecodeError::TrailingBytes { expected: opened.len as u64, extra });
    }
    let Payload { fingerprints, data, state } = crate::from_postcard(Kind::Snapshot, &opened)?;
    let data = data.load().map_err(|error| error.within("data"))?;
    let state = state.load().map_err(|error| error.within("state"))?;
    check::data(&data).map_err(|error| error.within("data"))?;
    check::state(&state, &data.transcript).map_err(|error| error.within("state"))?;
    Ok(Snapshot { data, state, fingerprints: fingerprints.load()? })
}

#[cfg(test)]
mod tests;
