//! `[run]`: what the flags of `respool run` say too; a flag wins.

use std::{num::NonZeroU32, time::Duration};

use respool_llm::WeightSync;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// What the flags of `respool run` say too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RunSection {
    /// Rollouts of each task.
    pub(crate) n: Option<NonZeroU32>,
    /// Rollouts at a time.
    pub(crate) concurrency: Option<NonZeroU32>,
    pub(crate) seed: Option<u64>,
    #[serde(serialize_with = "humantime_serde::serialize", deserialize_with = "over_zero")]
    pub(crate) weight_sync_every: Option<Duration>,
    /// What happens to running generations during a weight update.
    pub(crate) weight_sync_mode: Option<SyncMode>,
    /// The loop of rows without `agent_name`.
    pub(crate) default_agent_loop: Option<String>,
    /// How long an interrupt waits for running tools.
    #[serde(with = "humantime_serde")]
    pub(crate) tool_interrupt_deadline: Option<Duration>,
    /// How long a generation may give nothing before it counts as broken.
    #[serde(serialize_with = "humantime_serde::serialize", deserialize_with = "over_zero")]
    pub(crate) stream_timeout: Option<Duration>,
}

fn over_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    match humantime_serde::deserialize(deserializer)? {
        Some(Duration::ZERO) => Err(D::Error::custom("found 0s, expected a time over zero")),
        duration => Ok(duration),
    }
}

/// What happens to running generations during a weight update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SyncMode {
    /// They end, and are asked for again afterwards.
    #[default]
    Abort,
    /// They are held, and go on with the new weights.
    Keep,
    /// They end by themselves first.
    Drain,
}

impl From<SyncMode> for WeightSync {
    fn from(mode: SyncMode) -> Self {
        match mode {
            SyncMode::Abort => Self::Abort,
            SyncMode::Keep => Self::Keep,
            SyncMode::Drain => Self::Drain,
        }
    }
}
