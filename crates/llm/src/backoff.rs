//! How long to wait before asking again.

use std::time::Duration;

use respool_core::Class;

use crate::draws::Draws;

/// Jittered exponential delays, as a pure value: whoever retries sleeps.
///
/// The `n`-th retry waits between half and all of `base · 2ⁿ`, at most `max`; where in between is
/// drawn from a seed, so that rollouts which failed together do not come back together. A server
/// that said how long to wait is given that long, up to [`Self::LONGEST_WISH`], plus up to `base`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    base: Duration,
    max: Duration,
}

impl Backoff {
    /// No server can ask for more: a rollout must not hang on a mistaken header.
    pub const LONGEST_WISH: Duration = Duration::from_secs(300);

    /// Delays from `base` to `max`. A `max` under `base` holds.
    #[must_use]
    pub const fn new(base: Duration, max: Duration) -> Self {
        Self { base, max }
    }

    /// How long to wait before the retry with this index (from 0) after a failure of this class.
    /// `None` if the class does not allow a retry.
    #[must_use]
    pub fn delay(&self, retry: u32, class: Class, seed: u64) -> Option<Duration> {
        let jitter = unit(seed, retry);
        match class {
            Class::Terminal => None,
            Class::Overloaded { after: Some(after) } => {
                let extra = self.base.min(self.max).mul_f64(jitter);
                Some(after.min(Self::LONGEST_WISH).saturating_add(extra))
            }
            Class::Transient | Class::Overloaded { after: None } => {
                let factor = 2_u32.checked_pow(retry).unwrap_or(u32::MAX);
                let full = self.base.saturating_mul(factor).min(self.max);
                Some(full / 2 + (full / 2).mul_f64(jitter))
            }
        }
    }
}

impl Default for Backoff {
    /// From 100 ms to 10 s.
    fn default() -> Self {
        Self::new(Duration::from_millis(100), Duration::from_secs(10))
    }
}

/// A number in `0.0 .. 1.0` from the seed and the retry: the draw with that index.
fn unit(seed: u64, retry: u32) -> f64 {
    Draws::new(seed.wrapping_add(u64::from(retry).wrapping_mul(Draws::STEP))).unit()
}

#[cfg(test)]
mod tests;
