//! A server in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use respool_core::{Fault, PolicyVersion, RolloutId};
use respool_llm::{ControlFuture, Health, ServerManager, WeightSync};
use respool_stack::{GenerateCall, GenerateService, GenerateStream};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::generation::Generation;
use crate::{FaultScript, Policy, ServerFault};

/// How many tokens come at a time: from 1 to 4096, other numbers count as the nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaSize {
    /// Always so many.
    Fixed(u32),
    /// From 1 to `max`, drawn from the seed and the request.
    Random {
        /// Decides, together with rollout, turn and attempt.
        seed: u64,
        /// The most tokens.
        max: u32,
    },
}

/// How a mock server behaves.
#[derive(Clone, Debug, PartialEq)]
pub struct MockConfig {
    /// Time for one token, at most an hour. Zero: as fast as possible, without timers.
    pub token_latency: Duration,
    /// How many tokens come at a time: from 1 to 4096, other numbers count as the nearest.
    pub delta_size: DeltaSize,
    /// What goes wrong.
    pub faults: FaultScript,
    /// The version at the start.
    pub version: PolicyVersion,
}

impl Default for MockConfig {
    /// As fast as possible, eight tokens at a time, no faults, version 0.
    fn default() -> Self {
        Self {
            token_latency: Duration::ZERO,
            delta_size: DeltaSize::Fixed(8),
            faults: FaultScript::none(),
            version: PolicyVersion(0),
        }
    }
}

/// A server in this process: a policy, a pace, faults, a version, and pauses. Clones are the same
/// server.
#[derive(Clone, Debug)]
pub struct MockServer {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    policy: Arc<dyn Policy>,
    config: MockConfig,
    control: watch::Sender<Control>,
    /// One token for each generation that was let in and has not ended.
    running: TaskTracker,
    /// Requests so far, by rollout; kept only for a fault script that asks.
    requests: Mutex<HashMap<RolloutId, u32>>,
}

/// What all generations of a server obey.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Control {
    pub(crate) version: PolicyVersion,
    pub(crate) pause: Option<WeightSync>,
    /// Rises when everything is to be aborted.
    pub(crate) aborts: u64,
}

impl MockServer {
    /// A server with this policy.
    #[must_use]
    pub fn new(policy: Arc<dyn Policy>, config: MockConfig) -> Self {
        let control = Control { version: config.version, pause: None, aborts: 0 };
        let running = TaskTracker::new();
        running.close(); // so that waiting for it ends when nothing runs
        let shared = Shared {
            policy,
            config,
            control: watch::Sender::new(control),
            running,
            requests: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Starts one generation, with this fault instead of what the configuration has for it.
    ///
    /// # Errors
    /// If the fault refuses the request, or the policy cannot answer it.
    pub fn start(&self, call: GenerateCall, fault: Option<ServerFault>) -> Result<GenerateStream, Fault> {
        self.shared.start(call, fault)
    }

    /// Waits until nothing runs: every generation that was let in has ended.
    pub async fn idle(&self) {
        self.shared.running.wait().await;
    }

    fn control(&self, change: impl FnOnce(&mut Control)) {
        self.shared.control.send_modify(change);
    }
}

impl Shared {
    fn start_by_script(&self, call: GenerateCall) -> Result<GenerateStream, Fault> {
        let index = if self.config.faults.counts_requests() { self.count(call.request.rollout) } else { 0 };
        let fault = self.config.faults.fault(&call.request, index);
        self.start(call, fault)
    }

    fn start(&self, call: GenerateCall, fault: Option<ServerFault>) -> Result<GenerateStream, Fault> {
        if let Some(ServerFault::Overload { retry_after }) = fault {
            return Err(Fault::overloaded(retry_after, "mock server: too many requests (fault script)"));
        }
        let cursor = self.policy.start(&call.request)?;
        let (control, running) = (self.control.subscribe(), self.running.clone());
        Ok(Generation::new(call, cursor, fault, &self.config, control, running).into_stream())
    }

    /// The index of a new request among its rollout's.
    fn count(&self, rollout: RolloutId) -> u32 {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let count = requests.entry(rollout).or_default();
        *count += 1;
        *count - 1
    }
}

impl ServerManager for MockServer {
    fn generate(&self) -> GenerateService {
        let shared = Arc::clone(&self.shared);
        GenerateService::new(tower::service_fn(move |call| std::future::ready(shared.start_by_script(call))))
    }

    fn version(&self) -> PolicyVersion {
        self.shared.control.borrow().version
    }

    fn set_version(&self, version: PolicyVersion) -> ControlFuture<'_, ()> {
        async move {
            self.control(|control| control.version = version);
            Ok(())
        }
        .boxed()
    }

    fn pause(&self, mode: WeightSync) -> ControlFuture<'_, ()> {
        async move {
            self.control(|control| {
                control.pause = Some(mode);
                control.aborts += u64::from(mode == WeightSync::Abort);
            });
            if mode == WeightSync::Drain {
                self.idle().await;
            }
            Ok(())
        }
        .boxed()
    }

    fn continue_generation(&self) -> ControlFuture<'_, ()> {
        async move {
            self.control(|control| control.pause = None);
            Ok(())
        }
        .boxed()
    }

    fn abort_all(&self) -> ControlFuture<'_, ()> {
        async move {
            self.control(|control| control.aborts += 1);
            Ok(())
        }
        .boxed()
    }

    fn health(&self) -> ControlFuture<'_, Health> {
        async move {
            let paused = self.shared.control.borrow().pause.is_some();
            Ok(Health { servers: 1, healthy: 1, running: self.shared.running.len(), paused })
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
