//! What a pool can be told.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// Settings of a [`Pool`](crate::Pool). Durations are texts such as `500ms` or `5min`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PoolSettings {
    /// The most streams that are open at one server; further requests wait. 0 counts as 1.
    pub concurrency: usize,
    /// For how many rollouts the pool remembers which server has their prefix cached. The least
    /// used ones are forgotten, which costs a server a prefill and nothing else. 0 counts as 1.
    pub sticky_capacity: usize,
    /// So many failures in a row eject a server. 0 counts as 1.
    pub eject_after: u32,
    /// How long a server is out the first time; each further time, and each failed probe, doubles it.
    #[serde(with = "humantime_serde")]
    pub eject_base: Duration,
    /// The longest that a server is out before it is probed again.
    #[serde(with = "humantime_serde")]
    pub eject_max: Duration,
    /// The time between two probes of a server that is well.
    #[serde(with = "humantime_serde")]
    pub probe_interval: Duration,
    /// How long a probe may take, and a control call to a server that is out.
    #[serde(with = "humantime_serde")]
    pub probe_timeout: Duration,
    /// How long a control call (pause, continue, version, abort) may take before its outcome counts
    /// as unknown.
    #[serde(with = "humantime_serde")]
    pub control_timeout: Duration,
    /// How long a server may take to load weights from a folder.
    #[serde(with = "humantime_serde")]
    pub update_timeout: Duration,
    /// How long a request waits while no server is in service, before it fails as transient. Waiting
    /// for room or for the end of a pause has no limit.
    #[serde(with = "humantime_serde")]
    pub wait_for_server: Duration,
    /// How long one stream may take in all, pauses included; none by default. One that takes longer
    /// ends as transient, with what has arrived.
    #[serde(with = "humantime_serde", skip_serializing_if = "Option::is_none")]
    pub total_timeout: Option<Duration>,
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            concurrency: 512,
            sticky_capacity: 100_000,
            eject_after: 3,
            eject_base: Duration::from_secs(1),
            eject_max: Duration::from_secs(60),
            probe_interval: Duration::from_secs(5),
            probe_timeout: Duration::from_secs(5),
            control_timeout: Duration::from_secs(60),
            update_timeout: Duration::from_secs(600),
            wait_for_server: Duration::from_secs(300),
            total_timeout: None,
        }
    }
}

impl PoolSettings {
    /// A probe loop that spins helps nobody.
    const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

    pub(crate) fn probe_interval(&self) -> Duration {
        self.probe_interval.max(Self::SHORTEST_INTERVAL)
    }
}

/// That long after a moment; a limit beyond what the clock can tell is none.
pub(crate) fn after(moment: Instant, limit: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(365 * 24 * 3600);
    moment + limit.min(FAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_they_are_written() {
        let settings =
            PoolSettings { total_timeout: Some(Duration::from_secs(90)), ..PoolSettings::default() };
        for settings in [settings, PoolSettings::default()] {
            let text = serde_json::to_string(&settings).unwrap();
            assert_eq!(serde_json::from_str::<PoolSettings>(&text).unwrap(), settings, "{text}");
        }
        let one = serde_json::from_str::<PoolSettings>(r#"{"eject_base": "250ms"}"#).unwrap();
        assert_eq!(one, PoolSettings { eject_base: Duration::from_millis(250), ..PoolSettings::default() });
        assert!(serde_json::from_str::<PoolSettings>(r#"{"eject_bass": "250ms"}"#).is_err());
    }

    #[test]
    fn no_limit_is_too_long() {
        assert!(after(Instant::now(), Duration::MAX) > Instant::now());
    }
}
