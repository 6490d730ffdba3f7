//! Many servers behind one service.

mod admission;
mod broadcast;
mod control;
mod entry;
mod label;
mod meters;
mod probe;
mod roster;
mod settings;
mod shared;
mod stream;
mod vitals;

use std::{fmt, sync::Arc};

use futures_util::FutureExt;
use respool_core::{Fault, PolicyVersion};
use respool_stack::GenerateService;
use tokio_util::sync::CancellationToken;

pub use entry::{ServerState, ServerStatus};
pub use settings::PoolSettings;

use self::shared::Shared;
use crate::{ControlFuture, Health, LlmServer, ServerManager, WeightSync, WireIds};

/// Many LLM servers behind one service: a request goes, once, to the server that knows its rollout,
/// else to the one with the fewest streams. Clones are the same pool.
///
/// **Health.** A server is ejected after a few failures in a row, or as soon as one failure is
/// followed by a failed probe (a refused connection is found so at once). It is out for longer each
/// time, then probed, and comes back slowly: one stream first, twice as many with each round of
/// successes. A refusal of a request (a terminal fault) is no failure of the server.
///
/// **Weights.** Who comes back, or joins after a version was set, is asked for the label of its
/// weights. If that is neither the version in force nor what it was before, the server stays out
/// until [`ServerManager::set_version`] succeeds on it. After a failure a server is asked for it too,
/// before it is used again: it may have been started anew.
///
/// **Weight syncs.** During a pause requests wait in the pool, in every mode, whatever the engine
/// would do with them. A control call succeeds if one server did what was asked and none refused
/// it; a refused pause is undone. A server of which nobody knows whether it did is out until the
/// call was made again. A pause that fails leaves the pool unpaused; one that is dropped stands
/// until [`ServerManager::continue_generation`].
///
/// **Aborts.** `Ended(Abort)` is given only where the caller or the pool asked for it. An abort that
/// nobody asked for is a transient fault.
///
/// Metrics: `respool_server_outstanding`, `respool_server_requests_total`,
/// `respool_server_failures_total` (with `class`), `respool_server_ejections_total`, each with the
/// label `server`, and `respool_pool_waiting`.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<Shared>,
}

impl Pool {
    /// An empty pool. `seed` decides ties and jitter, `version` is in force for new requests.
    ///
    /// # Panics
    /// Outside a tokio runtime, in which the probe loop runs until the pool and its streams are
    /// gone.
    #[must_use]
    pub fn new(settings: PoolSettings, ids: WireIds, seed: u64, version: PolicyVersion) -> Self {
        let gone = CancellationToken::new();
        let shared = Arc::new(Shared::new(settings, ids, seed, version, &gone));
        let probes = probe::run(Arc::downgrade(&shared), Arc::clone(&shared.look), gone);
        #[expect(clippy::disallowed_methods, reason = "holds no rollout's state: health may be lost")]
        drop(tokio::spawn(probes));
        Self { shared }
    }

    /// Adds a server, at any time. Requests that wait may go to it at once.
    ///
    /// # Errors
    /// If the pool has a server of that name.
    pub fn add(&self, server: Arc<dyn LlmServer>) -> Result<(), Fault> {
        self.shared.change(|roster, now| roster.add(server, now))
    }

    /// Removes a server, at any time. Its streams end as broken, so that their rollouts go on
    /// elsewhere. Whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        let Some((member, may_be_paused)) = self.shared.change(|roster, _| roster.remove(name)) else {
            return false;
        };
        member.gone.cancel();
        if may_be_paused {
            // Nobody would end its pause any more.
            let limit = self.shared.settings.control_timeout;
            #[expect(clippy::disallowed_methods, reason = "holds a server, which is nobody's any more")]
            drop(tokio::spawn(async move {
                let _continued = tokio::time::timeout(limit, member.server.continue_generation()).await;
            }));
        }
        true
    }

    /// How each server is, for people.
    #[must_use]
    pub fn servers(&self) -> Vec<ServerStatus> {
        self.shared.read(|roster| roster.statuses())
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("servers", &self.servers()).finish_non_exhaustive()
    }
}

impl ServerManager for Pool {
    fn generate(&self) -> GenerateService {
        let shared = Arc::clone(&self.shared);
        GenerateService::new(tower::service_fn(move |call| stream::generate(Arc::clone(&shared), call)))
    }

    fn version(&self) -> PolicyVersion {
        self.shared.read(|roster| roster.version)
    }

    fn set_version(&self, version: PolicyVersion) -> ControlFuture<'_, ()> {
        self.shared.set_version(version).boxed()
    }

    fn pause(&self, mode: WeightSync) -> ControlFuture<'_, ()> {
        self.shared.pause(mode).boxed()
    }

    fn continue_generation(&self) -> ControlFuture<'_, ()> {
        self.shared.continue_generation().boxed()
    }

    fn abort_all(&self) -> ControlFuture<'_, ()> {
        self.shared.abort_all().boxed()
    }

    fn health(&self) -> ControlFuture<'_, Health> {
        async move { Ok(self.shared.read(|roster| roster.health())) }.boxed()
    }
}

#[cfg(test)]
mod tests;
