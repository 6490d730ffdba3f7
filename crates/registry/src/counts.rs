//! P11: where every rollout is.

use std::sync::Mutex;

/// Where the rollouts of a worker are. `submitted = completed + failed + interrupted + in_flight`,
/// at all times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rollouts that were given to the worker; one that is given back counts again.
    pub submitted: u64,
    /// Handed back completed.
    pub completed: u64,
    /// Handed back failed.
    pub failed: u64,
    /// Handed back interrupted.
    pub interrupted: u64,
    /// Waiting or running.
    pub in_flight: u64,
}

/// Counts that change together.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Counts>);

impl Ledger {
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Counts) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    pub(crate) fn get(&self) -> Counts {
        self.change(|counts| *counts)
    }
}
