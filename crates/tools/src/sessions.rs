//! All sessions: who has which, leases, and releasing each exactly once.
//!
//! Whoever takes a session out of the table releases it, and it can be taken out once.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use respool_core::{RolloutId, ToolRequest};
use tokio::{
    runtime::Handle,
    sync::oneshot,
    task::{AbortHandle, JoinSet},
    time::{Instant, sleep_until},
};

use crate::{ToolSession, session::Session};

pub(crate) struct Sessions {
    lease: Duration,
    patience: Duration,
    rollouts: Mutex<HashMap<RolloutId, Rollout>>,
    /// Releases and lease timers. Dropping the table aborts them, and drops what they held.
    tasks: Mutex<JoinSet<()>>,
}

#[derive(Default)]
struct Rollout {
    /// By index of the tool.
    sessions: BTreeMap<usize, Arc<Session>>,
    /// Tools whose first session could not be created: there is none that could have been lost.
    never_created: BTreeSet<usize>,
    lease: Option<Lease>,
}

struct Lease {
    ends: Instant,
    timer: AbortHandle,
}

/// The end of one release.
pub(crate) type Released = oneshot::Receiver<Result<(), String>>;

impl Sessions {
    pub(crate) fn new(lease: Duration, patience: Duration) -> Self {
        Self { lease, patience, rollouts: Mutex::default(), tasks: Mutex::default() }
    }

    /// How many are held.
    pub(crate) fn len(&self) -> usize {
        lock(&self.rollouts).values().map(|rollout| rollout.sessions.len()).sum()
    }

    /// The session of that rollout and tool. A rollout that calls is running again: its lease ends.
    pub(crate) fn find(&self, rollout: RolloutId, tool: usize) -> Option<Arc<Session>> {
        let mut rollouts = lock(&self.rollouts);
        let rollout = rollouts.get_mut(&rollout)?;
        rollout.end_lease();
        rollout.sessions.get(&tool).cloned()
    }

    /// Adds a session, unless another call was faster.
    pub(crate) fn adopt(
        &self,
        request: &ToolRequest,
        tool: usize,
        session: Box<dyn ToolSession>,
    ) -> Arc<Session> {
        let mut rollouts = lock(&self.rollouts);
        let rollout = rollouts.entry(request.rollout).or_default();
        rollout.end_lease();
        let first = rollout.never_created.contains(&tool);
        let session = || Arc::new(Session::new(request, tool, first, session));
        Arc::clone(rollout.sessions.entry(tool).or_insert_with(session))
    }

    /// Keeps the sessions of a rollout until a lease from now on ends. Again: renews it.
    pub(crate) fn keep(self: &Arc<Self>, id: RolloutId) {
        let mut rollouts = lock(&self.rollouts);
        let Some(rollout) = rollouts.get_mut(&id) else { return };
        rollout.end_lease();
        let ends = Instant::now() + self.lease;
        let table = Arc::downgrade(self);
        let timer = self.spawn(&Handle::current(), async move {
            sleep_until(ends).await;
            if let Some(table) = table.upgrade() {
                table.release_overdue(id);
            }
        });
        rollout.lease = Some(Lease { ends, timer });
    }

    fn release_overdue(&self, id: RolloutId) {
        let mut rollouts = lock(&self.rollouts);
        let lease = rollouts.get(&id).and_then(|rollout| rollout.lease.as_ref());
        // It may have been renewed while this timer was on its way.
        let overdue = lease.is_some_and(|lease| lease.ends <= Instant::now());
        let taken = if overdue { rollouts.remove(&id) } else { None };
        drop(rollouts);
        taken.into_iter().for_each(|rollout| drop(self.let_go(rollout)));
    }

    /// Releases the sessions of a rollout. Calls that run in them end as cancelled.
    pub(crate) fn release(&self, id: RolloutId) -> Vec<Released> {
        let taken = lock(&self.rollouts).remove(&id);
        taken.map(|rollout| self.let_go(rollout)).unwrap_or_default()
    }

    /// Releases everything.
    pub(crate) fn release_all(&self) -> Vec<Released> {
        let taken = std::mem::take(&mut *lock(&self.rollouts));
        taken.into_values().flat_map(|rollout| self.let_go(rollout)).collect()
    }

    /// Waits for every release that is under way, also those that nobody else waits for.
    pub(crate) async fn settled(&self) {
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        while tasks.join_next().await.is_some() {}
    }

    fn let_go(&self, mut rollout: Rollout) -> Vec<Released> {
        rollout.end_lease();
        let sessions = rollout.sessions.into_values();
        sessions
            .map(|session| {
                session.over.cancel();
                self.release_later(session)
            })
            .collect()
    }

    /// Takes out a session whose creation did not succeed. The call that tried holds it alone, so
    /// no other call runs in it; those that wait for it look for another one.
    pub(crate) fn give_up(&self, session: &Arc<Session>, had_none_before: bool) {
        let mut rollouts = lock(&self.rollouts);
        let Some(rollout) = rollouts.get_mut(&session.rollout) else { return };
        let same = rollout.sessions.get(&session.tool).is_some_and(|held| Arc::ptr_eq(held, session));
        if !same {
            return;
        }
        rollout.sessions.remove(&session.tool);
        if had_none_before {
            rollout.never_created.insert(session.tool);
        }
        drop(rollouts);
        drop(self.release_later(Arc::clone(session)));
    }

    /// Releases in a task, so that no dropped future can stop it half-way.
    fn release_later(&self, session: Arc<Session>) -> Released {
        let (done, released) = oneshot::channel();
        let patience = self.patience;
        let runtime = session.runtime.clone();
        self.spawn(&runtime, async move {
            let result = session.release(patience).await;
            if let Err(reason) = &result {
                tracing::warn!("{reason}");
            }
            // Nobody waits for the release at a lease's end.
            drop(done.send(result));
        });
        released
    }

    fn spawn(&self, runtime: &Handle, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(task, runtime)
    }
}

impl Rollout {
    fn end_lease(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.timer.abort();
        }
    }
}

/// Nothing that can panic runs under these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
