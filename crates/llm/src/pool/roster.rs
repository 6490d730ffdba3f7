//! Who is there, how they are, and who gets the next request: plain state, no waiting.

use std::sync::Arc;

use quick_cache::unsync::Cache;
use respool_core::{Class, Fault, PolicyVersion, RolloutId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    entry::{Entry, Member, ServerId, ServerState, ServerStatus},
    settings::{PoolSettings, after},
    vitals::Vitals,
};
use crate::{Backoff, Health, LlmServer, WeightSync, draws::Draws};

/// Everything that a pool knows. Every change is one call.
pub(crate) struct Roster {
    pub(crate) settings: Arc<PoolSettings>,
    pub(crate) entries: Vec<Entry>,
    /// Which server has a rollout's prefix cached.
    sticky: Cache<RolloutId, ServerId>,
    pub(crate) draws: Draws,
    /// Names servers and streams.
    next_id: u64,
    /// The version in force for new requests.
    pub(crate) version: PolicyVersion,
    /// Whether a version was ever set: from then on, servers that come are expected to have it.
    pub(crate) is_synced: bool,
    pub(crate) pause: Option<WeightSync>,
    /// How often the pool aborted everything.
    pub(crate) aborts: u64,
    /// Since when no server is in service.
    none_since: Option<Instant>,
}

/// What becomes of a request.
#[derive(Debug)]
pub(crate) enum Choice {
    /// It goes to this server.
    Send(Chosen),
    /// It waits for room, for the end of a pause, or for that moment.
    Wait(Option<Instant>),
    /// No server has been in service since then, or ever.
    NoServer(Option<Instant>),
}

/// A place at a server.
pub(crate) struct Chosen {
    pub(crate) member: Member,
    pub(crate) stream: u64,
    pub(crate) abort: CancellationToken,
    pub(crate) version: PolicyVersion,
    pub(crate) aborts: u64,
}

impl std::fmt::Debug for Chosen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Chosen({})", self.member.server.name())
    }
}

impl Roster {
    pub(crate) fn new(settings: Arc<PoolSettings>, seed: u64, version: PolicyVersion) -> Self {
        Self {
            sticky: Cache::new(settings.sticky_capacity.max(1)),
            settings,
            entries: Vec::new(),
            draws: Draws::new(seed),
            next_id: 0,
            version,
            is_synced: false,
            pause: None,
            aborts: 0,
            none_since: None,
        }
    }

    pub(crate) fn add(&mut self, server: Arc<dyn LlmServer>, now: Instant) -> Result<(), Fault> {
        if self.entries.iter().any(|entry| entry.name() == server.name()) {
            let name = server.name();
            return Err(Fault::terminal(format!("server {name} is in the pool already; remove it first")));
        }
        let id = ServerId(self.fresh_id());
        // Who joins after a sync may have other weights: its label is read before it is used.
        let vitals = if self.is_synced { Vitals::unknown(now) } else { Vitals::well() };
        let mut entry = Entry::new(id, server, vitals, now);
        entry.label = self.is_synced.then(|| self.version.to_string());
        self.entries.push(entry);
        Ok(())
    }

    /// Removes a server; whether it may be paused.
    pub(crate) fn remove(&mut self, name: &str) -> Option<(Member, bool)> {
        let index = self.entries.iter().position(|entry| entry.name() == name)?;
        let entry = self.entries.remove(index);
        entry.meters.outstanding.set(0.0);
        let may_be_paused = entry.may_be_paused() || self.pause.is_some();
        Some((entry.member, may_be_paused))
    }

    /// Chooses a server for a request of this rollout and takes a place there.
    pub(crate) fn choose(&mut self, rollout: RolloutId, abort: &CancellationToken, now: Instant) -> Choice {
        if let Some(wait) = self.obstacle() {
            return wait;
        }
        let free = self.with_room(now);
        let sticky = self.sticky.get(&rollout);
        let stays = free.iter().copied().find(|index| Some(&self.entries[*index].member.id) == sticky);
        match stays.or_else(|| self.least_busy(&free)) {
            Some(index) => Choice::Send(self.send(index, rollout, abort)),
            None => Choice::Wait(self.entries.iter().filter_map(|entry| entry.rest_until(now)).min()),
        }
    }

    /// Why no request can be sent now, whosever it is.
    pub(crate) fn obstacle(&self) -> Option<Choice> {
        if self.pause.is_some() {
            return Some(Choice::Wait(None));
        }
        let nobody = !self.entries.iter().any(Entry::in_service);
        nobody.then(|| Choice::NoServer(self.none_since))
    }

    /// The servers that can take a request. One that asked for a rest is left alone if another one
    /// did not.
    fn with_room(&self, now: Instant) -> Vec<usize> {
        let in_service = |entry: &&Entry| entry.in_service();
        let all_rest = self.entries.iter().filter(in_service).all(|entry| entry.rest_until(now).is_some());
        let has_room = |entry: &Entry| {
            let may_ask = all_rest || entry.rest_until(now).is_none();
            may_ask && entry.in_service() && entry.streams.len() < entry.vitals.room(&self.settings)
        };
        (0..self.entries.len()).filter(|index| has_room(&self.entries[*index])).collect()
    }

    /// One of those with the fewest streams.
    fn least_busy(&mut self, free: &[usize]) -> Option<usize> {
        let streams = |index: usize| self.entries[index].streams.len();
        let least = free.iter().map(|index| streams(*index)).min()?;
        let tied: Vec<usize> = free.iter().copied().filter(|index| streams(*index) == least).collect();
        tied.get(self.draws.below(tied.len())).copied()
    }

    fn send(&mut self, index: usize, rollout: RolloutId, abort: &CancellationToken) -> Chosen {
        let stream = self.fresh_id();
        let abort = abort.child_token();
        let entry = &mut self.entries[index];
        entry.streams.insert(stream, abort.clone());
        entry.meters.requests.increment(1);
        entry.meters.outstanding.set(entry.streams.len() as f64);
        let member = entry.member();
        self.sticky.insert(rollout, member.id);
        Chosen { member, stream, abort, version: self.version, aborts: self.aborts }
    }

    /// A stream is over, however it ended.
    pub(crate) fn release(&mut self, id: ServerId, stream: u64) {
        if let Some(entry) = self.entry(id) {
            entry.streams.remove(&stream);
            entry.meters.outstanding.set(entry.streams.len() as f64);
        }
    }

    /// A token came, or a proper end.
    pub(crate) fn succeeded(&mut self, id: ServerId) {
        let settings = Arc::clone(&self.settings);
        if let Some(entry) = self.entry(id) {
            let was = entry.state();
            entry.vitals.succeeded(&settings);
            if entry.state() == ServerState::Well && was != ServerState::Well {
                tracing::info!(server = entry.name(), "the server is well again");
            }
        }
    }

    /// A request of this rollout failed there.
    pub(crate) fn failed(&mut self, id: ServerId, rollout: RolloutId, fault: &Fault, now: Instant) {
        self.forget(rollout);
        let Some(entry) = self.entry(id) else { return };
        entry.count_failure(fault.class);
        match fault.class {
            // The request's own fault: it says nothing about the server.
            Class::Terminal => {}
            Class::Overloaded { after: wish } => {
                let rest = wish.unwrap_or(self.settings.eject_base).min(Backoff::LONGEST_WISH);
                if let Some(entry) = self.entry(id) {
                    entry.busy_until = Some(after(now, rest));
                }
            }
            Class::Transient => self.setback(id, fault, now),
        }
    }

    /// One more failure of a server. The first one makes it a suspect, which is probed at once.
    pub(crate) fn setback(&mut self, id: ServerId, fault: &Fault, now: Instant) {
        let draw = self.draws.next();
        let (settings, is_synced) = (Arc::clone(&self.settings), self.is_synced);
        let Some(entry) = self.entry(id) else { return };
        // Whoever was started anew has the weights of its start.
        entry.is_suspect |= is_synced && entry.member.server.controls().set_version;
        if entry.vitals.failed(&settings, now, draw) {
            self.was_ejected(id, fault, now);
        } else if !entry.vitals.is_ejected() {
            entry.next_visit = now;
        }
    }

    /// Takes a server out of service at once, if it is not out.
    pub(crate) fn eject(&mut self, id: ServerId, fault: &Fault, now: Instant) {
        if self.entry(id).is_some_and(|entry| !entry.vitals.is_ejected()) {
            self.prolong(id, fault, now);
        }
    }

    /// Takes a server out of service, for longer than before.
    pub(crate) fn prolong(&mut self, id: ServerId, fault: &Fault, now: Instant) {
        let draw = self.draws.next();
        let settings = Arc::clone(&self.settings);
        if let Some(entry) = self.entry(id) {
            entry.vitals.eject(&settings, now, draw);
            self.was_ejected(id, fault, now);
        }
    }

    fn was_ejected(&mut self, id: ServerId, fault: &Fault, now: Instant) {
        let Some(entry) = self.entry(id) else { return };
        if let super::vitals::Condition::Ejected { until } = entry.vitals.condition {
            entry.next_visit = until;
            entry.meters.ejections.increment(1);
            let out = until.saturating_duration_since(now);
            tracing::warn!(server = entry.name(), ?out, error = %fault, "the server is ejected");
        }
    }

    /// A rollout's next request goes wherever there is least to do.
    pub(crate) fn forget(&mut self, rollout: RolloutId) {
        self.sticky.remove(&rollout);
    }

    /// Notes since when nobody serves. To be called after each change of who does.
    pub(crate) fn settle(&mut self, now: Instant) {
        let nobody = !self.entries.iter().any(Entry::in_service);
        self.none_since = nobody.then(|| self.none_since.unwrap_or(now));
    }

    /// Generation may go on: what waits for a server starts waiting anew, who is out is looked at.
    pub(crate) fn open(&mut self, now: Instant) {
        self.pause = None;
        self.none_since = None;
        self.entries.iter_mut().for_each(|entry| entry.took_pause = false);
        for entry in self.entries.iter_mut().filter(|entry| !entry.in_service()) {
            entry.next_visit = now;
        }
    }

    pub(crate) fn entry(&mut self, id: ServerId) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.member.id == id)
    }

    pub(crate) fn outstanding(&self) -> usize {
        self.entries.iter().map(|entry| entry.streams.len()).sum()
    }

    pub(crate) fn members(&self) -> Vec<Member> {
        self.entries.iter().map(Entry::member).collect()
    }

    /// Those that have the weights that a new version labels.
    pub(crate) fn members_with_weights(&self) -> Vec<Member> {
        self.entries.iter().filter(|entry| !entry.lacks_weights).map(Entry::member).collect()
    }

    pub(crate) fn statuses(&self) -> Vec<ServerStatus> {
        self.entries.iter().map(Entry::status).collect()
    }

    pub(crate) fn health(&self) -> Health {
        Health {
            servers: self.entries.len(),
            healthy: self.entries.iter().filter(|entry| entry.in_service()).count(),
            running: self.outstanding(),
            paused: self.pause.is_some(),
        }
    }

    const fn fresh_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }
}
