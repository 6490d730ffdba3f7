//! `[policy]`: the embedded policy that generates, and how it misbehaves.

use std::{num::NonZeroU32, time::Duration};

use respool_llm_mock::{DeltaSize, FaultRates, FaultScript};
use serde::{Deserialize, Serialize};

use super::limits::number;

/// Which policy generates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PolicyKind {
    /// Replays the reference solution in `extra_info.answer`.
    #[default]
    Teacher,
    /// Says random things.
    Hash,
}

/// The embedded policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PolicySection {
    pub(crate) kind: PolicyKind,
    /// Share of the teacher's final answers that are wrong.
    #[serde(deserialize_with = "number::share")]
    pub(crate) error_rate: Option<f32>,
    /// Time for one token.
    #[serde(with = "humantime_serde")]
    pub(crate) token_latency: Option<Duration>,
    /// Tokens that come at a time.
    pub(crate) delta_size: Option<NonZeroU32>,
    pub(crate) faults: FaultsSection,
}

/// Shares of requests that meet a fault.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FaultsSection {
    #[serde(deserialize_with = "number::share")]
    latency: Option<f32>,
    #[serde(deserialize_with = "number::share")]
    stall: Option<f32>,
    #[serde(deserialize_with = "number::share")]
    abort: Option<f32>,
    #[serde(deserialize_with = "number::share")]
    disconnect: Option<f32>,
    #[serde(deserialize_with = "number::share")]
    overload: Option<f32>,
}

impl PolicySection {
    pub(crate) fn delta_size(&self) -> DeltaSize {
        DeltaSize::Fixed(self.delta_size.map_or(8, NonZeroU32::get))
    }
}

impl FaultsSection {
    /// The faults, drawn from the run's seed.
    pub(crate) fn script(&self, seed: u64) -> anyhow::Result<FaultScript> {
        if *self == Self::default() {
            return Ok(FaultScript::none());
        }
        let rate = |share: Option<f32>| f64::from(share.unwrap_or_default());
        let rates = FaultRates {
            latency: rate(self.latency),
            stall: rate(self.stall),
            abort: rate(self.abort),
            disconnect: rate(self.disconnect),
            overload: rate(self.overload),
        };
        let FaultRates { latency, stall, abort, disconnect, overload } = rates;
        let sum = latency + stall + abort + disconnect + overload;
        if sum > 1.0 + f64::from(f32::EPSILON) * 5.0 {
            anyhow::bail!("policy.faults: the shares are {sum:.3} together, expected at most 1");
        }
        Ok(FaultScript::none().random(seed, rates))
    }
}
