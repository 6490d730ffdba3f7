//! Names of requests on the wire.

use std::fmt;

use respool_core::RolloutId;

/// Makes the id of each request that is sent: `{rollout}-{turn}-{nonce}` in hex.
///
/// The width is fixed, because an engine may take an abort's id as a prefix; the nonce is fresh
/// for every send, because an engine refuses an id that it has seen.
pub struct WireIds {
    nonce: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl WireIds {
    /// Ids with nonces from this generator: entropy in production, a counter in tests.
    #[must_use]
    pub fn new(nonce: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self { nonce: Box::new(nonce) }
    }

    /// The id of a request that is about to be sent.
    #[must_use]
    pub fn next(&self, rollout: RolloutId, turn: u32) -> String {
        format!("{rollout}-{turn:08x}-{:016x}", (self.nonce)())
    }
}

impl fmt::Debug for WireIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireIds").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
