//! The health of one server, as a pure state machine.

use tokio::time::Instant;

use super::settings::{PoolSettings, after};
use crate::Backoff;

/// Whether a server takes requests, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// As many as its concurrency allows.
    Well,
    /// None before it was probed, which is not before `until`.
    Ejected { until: Instant },
    /// It came back: at most `room` streams. Each success adds one, which doubles them per round.
    Returning { room: usize },
}

/// Condition and counts of one server.
#[derive(Clone, Debug)]
pub(crate) struct Vitals {
    pub(crate) condition: Condition,
    /// Failures since the last success.
    pub(crate) failures: u32,
    /// Ejections and failed probes since it was last well: the exponent of the next one's length.
    setbacks: u32,
}

impl Vitals {
    pub(crate) const fn well() -> Self {
        Self { condition: Condition::Well, failures: 0, setbacks: 0 }
    }

    /// Not used before the first probe.
    pub(crate) const fn unknown(now: Instant) -> Self {
        Self { condition: Condition::Ejected { until: now }, failures: 0, setbacks: 0 }
    }

    pub(crate) const fn is_ejected(&self) -> bool {
        matches!(self.condition, Condition::Ejected { .. })
    }

    /// The most streams that it may have open.
    pub(crate) fn room(&self, settings: &PoolSettings) -> usize {
        match self.condition {
            Condition::Well => settings.concurrency.max(1),
            Condition::Returning { room } => room.min(settings.concurrency.max(1)),
            Condition::Ejected { .. } => 0,
        }
    }

    /// A token came, or a proper end. What was sent before an ejection proves nothing.
    pub(crate) fn succeeded(&mut self, settings: &PoolSettings) {
        self.failures = 0;
        if let Condition::Returning { room } = &mut self.condition {
            *room += 1;
            if *room >= settings.concurrency {
                *self = Self::well();
            }
        }
    }

    /// A request or a probe failed; whether that ejects it now.
    pub(crate) fn failed(&mut self, settings: &PoolSettings, now: Instant, draw: u64) -> bool {
        self.failures = self.failures.saturating_add(1);
        let ejects = match self.condition {
            Condition::Well => self.failures >= settings.eject_after,
            Condition::Returning { .. } => true,
            Condition::Ejected { .. } => false,
        };
        if ejects {
            self.eject(settings, now, draw);
        }
        ejects
    }

    /// Out from now on, for longer each time.
    pub(crate) fn eject(&mut self, settings: &PoolSettings, now: Instant, draw: u64) {
        let backoff = Backoff::new(settings.eject_base, settings.eject_max);
        let out = backoff.delay(self.setbacks, respool_core::Class::Transient, draw).unwrap_or_default();
        self.setbacks = self.setbacks.saturating_add(1);
        self.condition = Condition::Ejected { until: after(now, out) };
    }

    /// An ejected server is well again as far as a probe can tell.
    pub(crate) fn come_back(&mut self) {
        if self.is_ejected() {
            self.failures = 0;
            self.condition = Condition::Returning { room: 1 };
        }
    }
}

#[cfg(test)]
mod tests;
