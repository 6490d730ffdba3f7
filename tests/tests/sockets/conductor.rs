//! What happens to servers and weights while rollouts run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use respool_core::{Fault, PolicyVersion};
use respool_llm::{ServerManager as _, WeightSync};
use respool_llm_mock::Draw;
use respool_registry::AgentLoopWorker;
use tokio_util::sync::CancellationToken;

use crate::fleet::{AWAY, Fleet};

/// How long a worker may take to become idle before somebody looks after the servers.
const PATIENCE: Duration = Duration::from_millis(200);

/// What may happen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Happenings {
    pub(crate) modes: &'static [WeightSync],
    /// Servers die and return, are removed and added.
    pub(crate) deaths: bool,
    /// Versions without a pause, aborts of everything.
    pub(crate) unannounced: bool,
}

/// Makes things happen, one after the other, until it is stopped.
pub(crate) struct Conductor<'a> {
    pub(crate) fleet: &'a Fleet,
    pub(crate) worker: &'a AgentLoopWorker,
    pub(crate) happenings: Happenings,
    pub(crate) draw: Draw,
    pub(crate) version: u64,
    /// How often what happened.
    pub(crate) counts: BTreeMap<String, usize>,
}

impl Conductor<'_> {
    pub(crate) async fn conduct(&mut self, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            self.wait(stop).await;
            match self.draw.below(100) {
                0..25 => self.sync_worker().await,
                25..60 => self.sync_pool().await,
                60..66 if self.happenings.unannounced => self.change_unpaused().await,
                66..74 if self.happenings.unannounced => {
                    let aborted = self.fleet.pool.abort_all().await;
                    self.count("abort all", &aborted);
                }
                74..90 if self.happenings.deaths => self.let_one_die(stop).await,
                90..100 if self.happenings.deaths => self.let_one_leave(stop).await,
                _ => {}
            }
        }
    }

    fn count(&mut self, what: &str, result: &Result<(), Fault>) {
        let name = if result.is_ok() { what.to_owned() } else { format!("{what} (failed)") };
        *self.counts.entry(name).or_default() += 1;
    }

    /// Some tokens later; or soon, where none come.
    async fn wait(&mut self, stop: &CancellationToken) {
        let tokens = 1 + self.draw.below(600) as u64;
        tokio::select! {
            () = self.fleet.ledger.more(tokens) => {}
            () = tokio::time::sleep(Duration::from_millis(40)) => {}
            () = stop.cancelled() => {}
        }
    }

    fn mode(&mut self) -> WeightSync {
        self.happenings.modes[self.draw.below(self.happenings.modes.len())]
    }

    /// As `respool run` does it: every rollout is left, then the weights change.
    async fn sync_worker(&mut self) {
        let mode = self.mode();
        self.worker.interrupt();
        while tokio::time::timeout(PATIENCE, self.worker.idle()).await.is_err() {
            // Turns that may not be cut wait for a server, and servers with the weights of their start
            // for a version.
            if self.fleet.pool.health().await.is_ok_and(|health| health.healthy == 0) {
                self.revive_all().await;
                self.version += 1;
                let set = self.fleet.pool.set_version(PolicyVersion(self.version)).await;
                self.count("version for stale servers", &set);
            }
        }
        let paused = self.fleet.pool.pause(mode).await;
        self.version += 1;
        let mut resumed = self.worker.resume(PolicyVersion(self.version)).await;
        let both = if paused.is_ok() { resumed.clone() } else { paused };
        self.count(&format!("worker sync, {mode:?}"), &both);
        let continued = self.fleet.pool.continue_generation().await;
        self.count("continue", &continued);
        while resumed.is_err() {
            // Everybody was dead. Nobody goes on before a server is back.
            self.revive_all().await;
            self.version += 1;
            resumed = self.worker.resume(PolicyVersion(self.version)).await;
        }
    }

    /// Without telling the rollouts.
    async fn sync_pool(&mut self) {
        let mode = self.mode();
        let paused = self.fleet.pool.pause(mode).await;
        let mut synced = paused;
        if synced.is_ok() {
            self.version += 1;
            synced = self.fleet.pool.set_version(PolicyVersion(self.version)).await;
        }
        self.count(&format!("pool sync, {mode:?}"), &synced);
        let continued = self.fleet.pool.continue_generation().await;
        self.count("continue", &continued);
    }

    async fn change_unpaused(&mut self) {
        self.version += 1;
        let changed = self.fleet.pool.set_version(PolicyVersion(self.version)).await;
        self.count("version without a pause", &changed);
    }

    fn one(&mut self) -> usize {
        self.draw.below(self.fleet.houses.len())
    }

    async fn let_one_die(&mut self, stop: &CancellationToken) {
        let index = self.one();
        self.fleet.kill(index).await;
        self.count("death", &Ok(()));
        if self.draw.below(3) == 0 {
            let other = self.one();
            self.fleet.kill(other).await;
        }
        if self.draw.below(2) == 0 {
            self.sync_pool().await;
        }
        self.wait(stop).await;
        // Nobody starts a server anew before its clients can see that it is gone.
        tokio::time::sleep(AWAY).await;
        self.revive_all().await;
    }

    async fn revive_all(&mut self) {
        for index in 0..self.fleet.houses.len() {
            self.fleet.revive(index).await;
        }
    }

    async fn let_one_leave(&mut self, stop: &CancellationToken) {
        let watched = self.fleet.houses[self.draw.below(self.fleet.houses.len())].watched.clone();
        assert!(self.fleet.pool.remove(respool_llm::LlmServer::name(&watched)), "it is in the pool");
        self.count("removal", &Ok(()));
        self.wait(stop).await;
        self.fleet.pool.add(Arc::new(watched)).unwrap();
    }
}
