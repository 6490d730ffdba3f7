//! What all clones of a pool share: the roster behind one lock, and who is told of its changes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use respool_core::PolicyVersion;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{entry::ServerId, meters::set_waiting, roster::Roster, settings::PoolSettings};
use crate::WireIds;

pub(crate) struct Shared {
    pub(crate) settings: Arc<PoolSettings>,
    pub(crate) ids: Arc<WireIds>,
    state: Mutex<State>,
    /// Rises with every pause, continue and version, so that a stream can tell without the lock
    /// that nothing has changed.
    epoch: AtomicU64,
    /// A stream ended, or a pause did.
    pub(crate) settled: Notify,
    /// The probe loop has something to look at.
    pub(crate) look: Arc<Notify>,
    /// One pause, continue or version at a time.
    pub(crate) sync: tokio::sync::Mutex<()>,
    /// Ends the probe loop.
    _gone: DropGuard,
}

pub(crate) struct State {
    pub(crate) roster: Roster,
    /// Requests that wait, first come first served; only the first one may choose.
    pub(crate) queue: BTreeMap<u64, Arc<Notify>>,
    /// The epoch of the last change of version without a pause.
    changed_unpaused: u64,
}

/// The weights in force, as a stream sees them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Era {
    pub(crate) epoch: u64,
    pub(crate) version: PolicyVersion,
    pub(crate) is_paused: bool,
    /// The epoch of the last change of version without a pause.
    pub(crate) changed_unpaused: u64,
    /// How often the pool aborted everything.
    pub(crate) aborts: u64,
}

impl Shared {
    pub(crate) fn new(
        settings: PoolSettings,
        ids: WireIds,
        seed: u64,
        version: PolicyVersion,
        gone: &CancellationToken,
    ) -> Self {
        let settings = Arc::new(settings);
        let roster = Roster::new(Arc::clone(&settings), seed, version);
        Self {
            settings,
            ids: Arc::new(ids),
            state: Mutex::new(State { roster, queue: BTreeMap::new(), changed_unpaused: 0 }),
            epoch: AtomicU64::new(0),
            settled: Notify::new(),
            look: Arc::default(),
            sync: tokio::sync::Mutex::default(),
            _gone: gone.clone().drop_guard(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the roster.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Roster) -> T) -> T {
        read(&self.lock().roster)
    }

    /// Changes the roster and tells everybody whom it may concern.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Roster, Instant) -> T) -> T {
        let now = Instant::now();
        let mut state = self.lock();
        let before = (state.roster.pause, state.roster.version);
        let changed = change(&mut state.roster, now);
        state.roster.settle(now);
        if before != (state.roster.pause, state.roster.version) {
            let epoch = self.epoch.fetch_add(1, Ordering::Release) + 1;
            if before.1 != state.roster.version && state.roster.pause.is_none() {
                state.changed_unpaused = epoch;
            }
        }
        state.wake_first();
        drop(state);
        self.settled.notify_waiters();
        self.look.notify_one();
        changed
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(crate) fn era(&self) -> Era {
        let state = self.lock();
        Era {
            epoch: self.epoch(),
            version: state.roster.version,
            is_paused: state.roster.pause.is_some(),
            changed_unpaused: state.changed_unpaused,
            aborts: state.roster.aborts,
        }
    }
}

impl State {
    pub(crate) fn wake_first(&self) {
        if let Some(first) = self.queue.values().next() {
            first.notify_one();
        }
    }

    /// Everybody who waits is to look again.
    pub(crate) fn wake_all(&self) {
        self.queue.values().for_each(|waiting| waiting.notify_one());
    }
}

/// A place at a server, given back when it is dropped: at the stream's end, or with the stream.
pub(crate) struct Slot {
    pub(crate) shared: Arc<Shared>,
    pub(crate) server: ServerId,
    pub(crate) stream: u64,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.roster.release(self.server, self.stream);
        state.wake_first();
        drop(state);
        self.shared.settled.notify_waiters();
    }
}

/// A place in the queue, given up when it is dropped.
pub(crate) struct Place<'a> {
    shared: &'a Shared,
    pub(crate) number: u64,
    pub(crate) woken: Arc<Notify>,
    /// How often the pool had aborted everything when this one came.
    pub(crate) aborts: u64,
}

impl<'a> Place<'a> {
    /// Behind everybody who waits.
    pub(crate) fn last(shared: &'a Shared) -> Self {
        let woken = Arc::new(Notify::new());
        let mut state = shared.lock();
        let number = state.queue.keys().next_back().map_or(0, |last| last + 1);
        state.queue.insert(number, Arc::clone(&woken));
        set_waiting(state.queue.len());
        let aborts = state.roster.aborts;
        drop(state);
        Self { shared, number, woken, aborts }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.queue.remove(&self.number);
        set_waiting(state.queue.len());
        state.wake_first();
    }
}
