//! What is running for a rollout, by the name of the effect.

use std::{
    collections::BTreeMap,
    fmt,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use respool_core::{EffectId, EffectKind, Event};
use respool_engine::Wanted;
use tokio_util::sync::CancellationToken;

/// The name of something that runs.
pub(crate) type Key = (EffectKind, EffectId);

/// Gives the events of one effect, then ends.
pub(crate) type Events = Pin<Box<dyn Stream<Item = Event> + Send>>;

struct Work {
    events: Events,
    abort: Option<CancellationToken>,
}

/// A few things that run at once. Dropping it drops them all.
#[derive(Default)]
pub(crate) struct Running {
    work: BTreeMap<Key, Work>,
}

impl Running {
    pub(crate) fn launch(&mut self, key: Key, events: Events, abort: Option<CancellationToken>) {
        self.work.insert(key, Work { events, abort });
    }

    pub(crate) fn contains(&self, key: Key) -> bool {
        self.work.contains_key(&key)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.work.is_empty()
    }

    /// Drops what is not wanted any more.
    pub(crate) fn keep_wanted(&mut self, wanted: &Wanted<'_>) {
        self.retain(|key| wanted.effects().any(|wanted| wanted == key));
    }

    fn retain(&mut self, wanted: impl Fn(Key) -> bool) {
        self.work.retain(|key, work| {
            let keep = wanted(*key);
            if !keep && let Some(abort) = &work.abort {
                abort.cancel();
            }
            keep
        });
    }

    /// Drops everything.
    pub(crate) fn drop_all(&mut self) {
        self.retain(|_| false);
    }

    /// Tells everything that can be aborted gracefully to stop; it may still give events.
    pub(crate) fn abort_gracefully(&self) {
        self.work.values().filter_map(|work| work.abort.as_ref()).for_each(CancellationToken::cancel);
    }

    /// The next event of anything that runs; waits for ever if nothing runs.
    pub(crate) async fn next(&mut self) -> Event {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        let mut ended = None;
        for (key, work) in &mut self.work {
            match work.events.as_mut().poll_next(cx) {
                Poll::Ready(Some(event)) => return Poll::Ready(event),
                Poll::Ready(None) => ended = Some(*key),
                Poll::Pending => continue,
            }
            break;
        }
        match ended {
            // An effect ends with an event that makes the engine want something else, so that it
            // is dropped before this; looking again is only right, never needed.
            Some(key) => {
                self.work.remove(&key);
                self.poll_next(cx)
            }
            None => Poll::Pending,
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.work.keys()).finish()
    }
}
