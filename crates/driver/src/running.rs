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
use respool_stack::{Waste, wasted};
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
    /// Aborted generations whose turn ended before their stream did: an engine tells versions last.
    lingering: Vec<(EffectId, Events)>,
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

    /// Drops what is not wanted any more. Aborted generations linger.
    pub(crate) fn keep_wanted(&mut self, wanted: &Wanted<'_>) {
        let is_wanted = |key: Key| wanted.effects().any(|wanted| wanted == key);
        if self.work.keys().all(|key| is_wanted(*key)) {
            return;
        }
        for (key, Work { events, abort }) in std::mem::take(&mut self.work) {
            if is_wanted(key) {
                self.work.insert(key, Work { events, abort });
            } else if let Some(abort) = abort {
                abort.cancel();
                self.lingering.push((key.1, events));
            }
        }
    }

    /// Drops everything.
    pub(crate) fn drop_all(&mut self) {
        self.abort_gracefully();
        self.work.clear();
        self.lingering.clear();
    }

    /// The generations that were aborted and have not ended yet.
    pub(crate) fn lingering(&self) -> impl Iterator<Item = EffectId> {
        self.lingering.iter().map(|(effect, _)| *effect)
    }

    /// The next labels that a lingering generation tells; `None` when none lingers.
    pub(crate) async fn next_labels(&mut self) -> Option<Event> {
        poll_fn(|cx| match self.poll_lingering(cx) {
            None if !self.lingering.is_empty() => Poll::Pending,
            labels => Poll::Ready(labels),
        })
        .await
    }

    /// Labels, if a lingering generation tells some now. Its tokens come too late.
    fn poll_lingering(&mut self, cx: &mut Context<'_>) -> Option<Event> {
        let mut index = 0;
        while let Some((_, events)) = self.lingering.get_mut(index) {
            match events.as_mut().poll_next(cx) {
                Poll::Ready(Some(event @ Event::Versions { .. })) => return Some(event),
                Poll::Ready(Some(Event::Sampled { delta, .. })) => {
                    wasted(Waste::AfterEnd, delta.tokens.len())
                }
                Poll::Ready(Some(_)) => {}
                Poll::Ready(None) => drop(self.lingering.swap_remove(index)),
                Poll::Pending => index += 1,
            }
        }
        None
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
        if let Some(labels) = self.poll_lingering(cx) {
            return Poll::Ready(labels);
        }
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
