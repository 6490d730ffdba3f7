//! Where the events of a rollout go, so that they outlive the process.

use std::{fmt, future::Future, pin::Pin};

use respool_core::{Event, Fault, RolloutId};

/// What [`Checkpoint::append`] gives.
pub type CheckpointFuture<'a> = Pin<Box<dyn Future<Output = Result<(), Fault>> + Send + 'a>>;

/// Takes the accepted events of rollouts, in order. A snapshot and the events after it give the
/// present state.
pub trait Checkpoint: Send + Sync + fmt::Debug {
    /// Appends an event. `seq` counts from 0 within one request, which begins with what the request
    /// starts from. Where `durable` is set, the event and all before it must be on disk when this
    /// returns; else soon after.
    fn append<'a>(
        &'a self,
        rollout: RolloutId,
        seq: u64,
        event: &'a Event,
        durable: bool,
    ) -> CheckpointFuture<'a>;
}
