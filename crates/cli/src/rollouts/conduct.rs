//! The one who opens and closes the worker's gate: weight syncs, and the end.

use std::{sync::Arc, time::Duration};

use anyhow::anyhow;
use respool_core::{Fault, PolicyVersion};
use respool_llm::WeightSync;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::Conditions;
use crate::{screen, setup::Setup, stats::Stats};

/// Syncs weights as often as asked until `stop`; then interrupts every rollout. When it returns, no
/// rollout runs, none will, and no server is paused.
pub(super) async fn conduct(
    setup: &Arc<Setup>,
    conditions: &Conditions,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let result = match conditions.weight_sync_every {
        Some(every) => sync_until(setup, every, conditions, stop).await,
        None => {
            stop.cancelled().await;
            Ok(())
        }
    };
    setup.worker.interrupt();
    setup.worker.idle().await;
    result
}

async fn sync_until(
    setup: &Setup,
    every: Duration,
    conditions: &Conditions,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let mut version = conditions.version;
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            _ = ticks.tick() => {}
        }
        let next = PolicyVersion(version.0 + 1);
        match sync(setup, next, conditions.weight_sync_mode, stop).await {
            Ok(is_done) => {
                version = next;
                if is_done {
                    Stats::add(&setup.stats.syncs);
                }
            }
            // A server that is away is no reason to end a run: it comes back, and so does the next sync.
            Err(fault) if fault.class.may_retry() => {
                screen::warn(&format!(
                    "weight sync to version {next}: {fault}; it is tried again at the next one"
                ));
                setup.worker.go_on();
            }
            Err(fault) => return Err(anyhow!("weight sync to version {next}: {fault}")),
        }
    }
}

/// Stop sampling, take the new version, let everything go on; whether it came to its end before
/// `stop`. With `abort` the rollouts are interrupted first, and go on from where they were.
async fn sync(
    setup: &Setup,
    version: PolicyVersion,
    mode: WeightSync,
    stop: &CancellationToken,
) -> Result<bool, Fault> {
    if mode == WeightSync::Abort {
        setup.worker.interrupt();
        setup.worker.idle().await;
    }
    let changed = tokio::select! {
        biased;
        // What is drained may take its time: nobody waits for that who wants to leave.
        () = stop.cancelled() => Ok(false),
        paused = setup.servers.pause(mode) => match paused {
            Ok(()) => setup.worker.resume(version).await.map(|()| true).map_err(|fault| during("new version", fault)),
            Err(fault) => Err(during("pause", fault)),
        },
    };
    // Every pause is followed by a continue, also one of which nobody knows whether it took effect.
    match (changed, setup.servers.continue_generation().await) {
        // What the pool could not tell a server, it tells it when it comes back.
        (changed, Err(fault)) if fault.class.may_retry() => {
            screen::warn(&format!("continue: {fault}"));
            changed
        }
        (changed, Ok(())) => changed,
        (Ok(_), Err(fault)) => Err(during("continue", fault)),
        (Err(error), Err(fault)) => Err(during(&format!("{error}; and continue"), fault)),
    }
}

fn during(what: &str, fault: Fault) -> Fault {
    Fault { message: format!("{what}: {}", fault.message), ..fault }
}
