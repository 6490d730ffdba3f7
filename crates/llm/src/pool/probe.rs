//! The loop that looks at every server: probes, labels, and calls that are owed.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::{StreamExt, stream::FuturesUnordered};
use respool_core::{Class, Fault, PolicyVersion};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    entry::Member,
    roster::Roster,
    settings::{PoolSettings, after},
    shared::Shared,
    vitals::Condition,
};
use crate::LlmServer;

/// A server whose time has come.
pub(crate) struct Visit {
    member: Member,
    /// Whether its weights are to be looked at: it was away, or is suspected.
    reads_label: bool,
}

/// What a server that answered its probe is owed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dues {
    pub(crate) resume: bool,
    pub(crate) version: Option<PolicyVersion>,
}

impl Roster {
    /// Takes the visits that are due, and says when the next one is. Nobody is visited during a
    /// pause: labels change then, and nothing that is owed may be paid.
    pub(crate) fn due_visits(&mut self, now: Instant) -> (Vec<Visit>, Option<Instant>) {
        if self.pause.is_some() {
            return (Vec::new(), None);
        }
        let (mut visits, is_synced) = (Vec::new(), self.is_synced);
        let interval = self.settings.probe_interval();
        for entry in self.entries.iter_mut().filter(|entry| !entry.is_visited && entry.next_visit <= now) {
            entry.is_visited = true;
            // Whatever happens meanwhile may want the next visit sooner.
            entry.next_visit = after(now, interval);
            let is_sure = entry.in_service() && entry.label.is_some() && entry.vitals.failures == 0;
            let reads_label = is_synced || !is_sure;
            visits.push(Visit { member: entry.member(), reads_label });
        }
        let waiting = self.entries.iter().filter(|entry| !entry.is_visited);
        (visits, waiting.map(|entry| entry.next_visit).min())
    }

    /// A server answered its probe, with the label that its weights have if that was asked. What is
    /// to be done before it serves; `None` during a pause, which decides about it first.
    pub(crate) fn answered(&mut self, member: &Member, label: Option<String>) -> Option<Dues> {
        let version = self.version;
        if self.pause.is_some() {
            return None;
        }
        let entry = self.entry(member.id)?;
        let expected = entry.label.clone();
        entry.is_suspect = false;
        if let Some(found) = label
            && entry.read_label(found.clone(), version)
        {
            tracing::warn!(
                server = entry.name(),
                found,
                expected = expected.unwrap_or_default(),
                in_force = version.0,
                "the server has other weights than expected: it stays out until a version is set"
            );
        }
        let tells = entry.owed.version && !entry.is_stale;
        Some(Dues { resume: entry.owed.resume, version: tells.then_some(version) })
    }

    /// A server was paid what it was owed.
    pub(crate) fn paid(&mut self, member: &Member, dues: Dues) {
        let Some(entry) = self.entry(member.id) else { return };
        entry.owed.resume &= !dues.resume;
        if let Some(version) = dues.version {
            entry.took_version(version);
        }
        if entry.vitals.is_ejected() && !entry.owed.resume && !entry.owed.version {
            entry.vitals.come_back();
            if entry.in_service() {
                tracing::info!(server = entry.name(), "the server is back, with little room at first");
            }
        }
    }

    /// A probe failed, or a payment: one more setback. A suspect is out then, whatever its count.
    fn missed(&mut self, member: &Member, Missed { fault, is_sure }: &Missed, now: Instant) {
        let Some(entry) = self.entry(member.id) else { return };
        entry.count_failure(fault.class);
        let is_suspect = entry.vitals.failures > 0;
        if entry.vitals.is_ejected() || (is_suspect && *is_sure) {
            self.prolong(member.id, fault, now);
        } else {
            self.setback(member.id, fault, now);
        }
    }

    fn visited(&mut self, member: &Member, now: Instant) {
        let Some(entry) = self.entry(member.id) else { return };
        entry.is_visited = false;
        if let Condition::Ejected { until } = entry.vitals.condition
            && until > now
        {
            entry.next_visit = until;
        }
    }
}

/// Runs until the pool is gone. It holds no pool: only servers, for as long as a visit takes.
pub(crate) async fn run(pool: Weak<Shared>, look: Arc<Notify>, gone: CancellationToken) {
    let mut visits = FuturesUnordered::new();
    loop {
        let Some(shared) = pool.upgrade() else { return };
        let (due, next) = shared.lock().roster.due_visits(Instant::now());
        drop(shared);
        visits.extend(due.into_iter().map(|due| visit(pool.clone(), due)));
        let next = next.unwrap_or_else(|| after(Instant::now(), Duration::MAX));
        tokio::select! {
            () = gone.cancelled() => return,
            () = look.notified() => {}
            Some(()) = visits.next() => {}
            () = tokio::time::sleep_until(next) => {}
        }
    }
}

/// Who refuses to say how it is (a router without that route, a wrong key) is there all the same.
async fn probe(member: &Member) -> Result<(), Fault> {
    match member.server.probe().await {
        Err(fault) if fault.class == Class::Terminal => Ok(()),
        answer => answer,
    }
}

/// Probes a server, looks at its weights, pays what it is owed.
async fn visit(pool: Weak<Shared>, Visit { member, reads_label }: Visit) {
    let Some(settings) = pool.upgrade().map(|shared| Arc::clone(&shared.settings)) else { return };
    let result = match in_time(settings.probe_timeout, "a probe", probe(&member)).await {
        Ok(()) => settle_up(&pool, &settings, &member, reads_label).await,
        Err(missed) => Err(missed),
    };
    let Some(shared) = pool.upgrade() else { return };
    shared.change(|roster, now| {
        if let Err(missed) = result {
            roster.missed(&member, &missed, now);
        }
        roster.visited(&member, now);
    });
}

/// A visit that failed.
struct Missed {
    fault: Fault,
    /// Whether the server answered, or nobody was there: being late may have other reasons.
    is_sure: bool,
}

impl From<Fault> for Missed {
    fn from(fault: Fault) -> Self {
        Self { fault, is_sure: true }
    }
}

async fn in_time<T>(
    limit: Duration,
    what: &str,
    call: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Missed> {
    match tokio::time::timeout(limit, call).await {
        Ok(result) => Ok(result?),
        Err(_) => {
            let fault = Fault::transient(format!("no answer to {what} within {limit:?}"));
            Err(Missed { fault, is_sure: false })
        }
    }
}

/// In the server's turn: a version or a pause that comes now comes after the label was judged and
/// what is owed was paid.
async fn settle_up(
    pool: &Weak<Shared>,
    settings: &PoolSettings,
    member: &Member,
    reads_label: bool,
) -> Result<(), Missed> {
    let _turn = member.turn.lock().await;
    let server = member.server.as_ref();
    let label = async { if reads_label { label_of(server).await } else { Ok(None) } };
    let label = in_time(settings.probe_timeout, "a question for its weights", label).await?;
    let Some(shared) = pool.upgrade() else { return Ok(()) };
    let Some(dues) = shared.change(|roster, _| roster.answered(member, label)) else { return Ok(()) };
    drop(shared);
    let pay = async {
        if let Some(version) = dues.version {
            server.set_version(version).await?;
        }
        if dues.resume { server.continue_generation().await } else { Ok(()) }
    };
    in_time(settings.probe_timeout, "a call that is owed", pay).await?;
    if let Some(shared) = pool.upgrade() {
        shared.change(|roster, _| roster.paid(member, dues));
    }
    Ok(())
}

async fn label_of(server: &dyn LlmServer) -> Result<Option<String>, Fault> {
    match server.weight_label().await {
        Ok(label) => Ok(Some(label)),
        // It has no such call: nothing is known about its weights, and nothing expected.
        Err(fault) if !fault.class.may_retry() => Ok(None),
        Err(fault) => Err(fault),
    }
}
