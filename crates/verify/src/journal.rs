//! What a rollout records, and the place in it at which a cut is due.

use std::sync::{Mutex, PoisonError};

use respool_core::{Event, RolloutId};
use respool_driver::{Checkpoint, CheckpointFuture};
use tokio::sync::Notify;

/// Keeps the events of one request, and tells when so many have come.
#[derive(Debug)]
pub(crate) struct Journal {
    due: usize,
    reached: Notify,
    events: Mutex<Vec<(Event, bool)>>,
}

impl Journal {
    /// One that tells after `due` events.
    pub(crate) fn new(due: usize) -> Self {
        Self { due, reached: Notify::new(), events: Mutex::new(Vec::new()) }
    }

    pub(crate) async fn reached(&self) {
        self.reached.notified().await;
    }

    /// The events that a crash has left: the last `lost` are gone, but for durable ones.
    pub(crate) fn left(&self, lost: usize) -> Vec<Event> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for _ in 0..lost {
            let _lost = events.pop_if(|(_, durable)| !*durable);
        }
        events.into_iter().map(|(event, _)| event).collect()
    }

    fn push(&self, event: &Event, durable: bool) -> usize {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.push((event.clone(), durable));
        events.len()
    }
}

impl Checkpoint for Journal {
    fn append<'a>(&'a self, _: RolloutId, _: u64, event: &'a Event, durable: bool) -> CheckpointFuture<'a> {
        Box::pin(async move {
            if self.push(event, durable) == self.due {
                self.reached.notify_one();
                // Whoever waits for this moment gets it before the rollout goes on.
                tokio::task::yield_now().await;
            }
            Ok(())
        })
    }
}
