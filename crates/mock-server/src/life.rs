//! What a server is between its start and its death.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use respool_core::PolicyVersion;
use respool_llm::{ServerManager, WeightSync};
use respool_llm_mock::{DeltaSize, FaultScript, MockConfig, MockServer};
use tokio_util::sync::CancellationToken;

use crate::MockHttpConfig;

/// An id, and a number, because ids may repeat.
type Key = (String, u64);

/// Generations, weights and requests; all of it is gone with a death.
#[derive(Debug)]
pub(crate) struct Life {
    /// How many deaths there were before.
    pub(crate) index: u32,
    pub(crate) mock: MockServer,
    /// Cancelled by death.
    pub(crate) death: CancellationToken,
    /// What the weights were called; the mock's version is the index.
    labels: Mutex<Vec<Arc<str>>>,
    /// What can be aborted.
    active: Mutex<BTreeMap<Key, CancellationToken>>,
    next_key: AtomicU64,
    /// Pauses that sent running requests back to the queue.
    retractions: AtomicU32,
    /// Whether the pause is one in which vLLM 0.33 takes no requests.
    refuses_when_paused: AtomicBool,
}

impl Life {
    pub(crate) fn new(config: &MockHttpConfig, index: u32, death: CancellationToken) -> Self {
        let mock = MockServer::new(
            Arc::clone(&config.policy),
            MockConfig {
                token_latency: config.token_latency,
                delta_size: DeltaSize::Fixed(config.tokens_per_event),
                faults: FaultScript::none(),
                version: PolicyVersion(0),
            },
        );
        Self {
            index,
            mock,
            death,
            labels: Mutex::new(vec![config.weight_label.as_str().into()]),
            active: Mutex::default(),
            next_key: AtomicU64::new(0),
            retractions: AtomicU32::new(0),
            refuses_when_paused: AtomicBool::new(false),
        }
    }

    /// What the weights of this version are called.
    pub(crate) fn label(&self, version: PolicyVersion) -> Arc<str> {
        let labels = lock(&self.labels);
        usize::try_from(version.0).ok().and_then(|index| labels.get(index).cloned()).unwrap_or_default()
    }

    /// What the weights are called now.
    pub(crate) fn current_label(&self) -> Arc<str> {
        self.label(self.mock.version())
    }

    /// Tokens sampled from now on are these weights'.
    pub(crate) async fn set_label(&self, label: &str) {
        let version = {
            let mut labels = lock(&self.labels);
            labels.push(label.into());
            PolicyVersion(labels.len() as u64 - 1)
        };
        // It cannot fail: the mock is in this process.
        let _ = self.mock.set_version(version).await;
    }

    pub(crate) async fn pause(&self, mode: WeightSync, retracts: bool) {
        if retracts {
            self.retractions.fetch_add(1, Ordering::Relaxed);
        }
        let _ = self.mock.pause(mode).await;
    }

    pub(crate) async fn go_on(&self) {
        let _ = self.mock.continue_generation().await;
    }

    pub(crate) async fn abort_all(&self) -> usize {
        let count = lock(&self.active).len();
        let _ = self.mock.abort_all().await;
        count
    }

    pub(crate) fn retractions(&self) -> u32 {
        self.retractions.load(Ordering::Relaxed)
    }

    pub(crate) fn refuses_when_paused(&self) -> bool {
        self.refuses_when_paused.load(Ordering::Relaxed)
    }

    pub(crate) fn set_refuses_when_paused(&self, refuses: bool) {
        self.refuses_when_paused.store(refuses, Ordering::Relaxed);
    }

    /// How many run, and how many wait.
    pub(crate) async fn load(&self) -> (usize, usize) {
        let running = self.mock.health().await.map_or(0, |health| health.running);
        (running, self.active_count().saturating_sub(running))
    }

    pub(crate) async fn is_paused(&self) -> bool {
        self.mock.health().await.is_ok_and(|health| health.paused)
    }

    pub(crate) fn active_count(&self) -> usize {
        lock(&self.active).len()
    }

    /// Notes a request that can be aborted; with `unique`, only if there is none of its id.
    pub(crate) fn enter(
        self: &Arc<Self>,
        id: &str,
        abort: &CancellationToken,
        unique: bool,
    ) -> Option<Active> {
        let mut active = lock(&self.active);
        if unique && active.range(from(id)).next().is_some_and(|((other, _), _)| other == id) {
            return None;
        }
        let key = (id.to_owned(), self.next_key.fetch_add(1, Ordering::Relaxed));
        active.insert(key.clone(), abort.clone());
        Some(Active { life: Arc::clone(self), key })
    }

    /// Aborts every request whose id begins so, and tells how many.
    pub(crate) fn abort_prefix(&self, prefix: &str) -> usize {
        self.abort_where(prefix, |id| id.starts_with(prefix))
    }

    /// Aborts every request of this id, and tells how many.
    pub(crate) fn abort_id(&self, id: &str) -> usize {
        self.abort_where(id, |other| other == id)
    }

    fn abort_where(&self, start: &str, is_meant: impl Fn(&str) -> bool) -> usize {
        let active = lock(&self.active);
        let meant = active.range(from(start)).take_while(|((id, _), _)| is_meant(id));
        meant.map(|(_, abort)| abort.cancel()).count()
    }
}

/// Keys of this id and after it.
fn from(id: &str) -> (Bound<Key>, Bound<Key>) {
    (Bound::Included((id.to_owned(), 0)), Bound::Unbounded)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request that can be aborted, until it is dropped.
#[derive(Debug)]
pub(crate) struct Active {
    life: Arc<Life>,
    key: Key,
}

impl Drop for Active {
    fn drop(&mut self) {
        lock(&self.life.active).remove(&self.key);
    }
}
