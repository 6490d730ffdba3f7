//! The one who opens and closes the worker's gate: weight syncs, and the end.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, anyhow};
use respool_core::PolicyVersion;
use respool_llm::WeightSync;
use tokio::time::MissedTickBehavior;

use super::Conditions;
use crate::{setup::Setup, stats::Stats};

/// Syncs weights as often as asked until `stop`; then interrupts every rollout. When it returns, no
/// rollout runs, and none will.
pub(super) async fn conduct(setup: &Arc<Setup>, conditions: &Conditions) -> anyhow::Result<()> {
    let result = match conditions.weight_sync_every {
        Some(every) => sync_until(setup, every, conditions).await,
        None => {
            conditions.stop.cancelled().await;
            Ok(())
        }
    };
    setup.worker.interrupt();
    setup.worker.idle().await;
    result
}

async fn sync_until(setup: &Setup, every: Duration, conditions: &Conditions) -> anyhow::Result<()> {
    let mut version = conditions.version;
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = conditions.stop.cancelled() => return Ok(()),
            _ = ticks.tick() => {}
        }
        version = PolicyVersion(version.0 + 1);
        sync(setup, version, conditions.weight_sync_mode)
            .await
            .with_context(|| format!("weight sync to version {version}"))?;
        Stats::add(&setup.stats.syncs);
    }
}

/// Stop sampling, take the new version, let everything go on. With `abort` the rollouts are
/// interrupted first, and go on from where they were.
async fn sync(setup: &Setup, version: PolicyVersion, mode: WeightSync) -> anyhow::Result<()> {
    let of = |what: &'static str| move |fault| anyhow!("{what}: {fault}");
    if mode == WeightSync::Abort {
        setup.worker.interrupt();
        setup.worker.idle().await;
    }
    let changed = match setup.servers.pause(mode).await {
        Ok(()) => setup.worker.resume(version).await.map_err(of("new version")),
        Err(fault) => Err(of("pause")(fault)),
    };
    // Every pause is followed by a continue, also one of which nobody knows whether it took effect.
    let continued = setup.servers.continue_generation().await.map_err(of("continue"));
    changed.and(continued)
}
