//! What a pool knows of one server.

use std::{collections::HashMap, fmt, sync::Arc};

use respool_core::{Class, PolicyVersion};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    meters::Meters,
    vitals::{Condition, Vitals},
};
use crate::LlmServer;

/// Names a server of a pool; a server that is removed and added again is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ServerId(pub(crate) u64);

/// A server to be called, apart from the roster's lock.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) id: ServerId,
    pub(crate) server: Arc<dyn LlmServer>,
    /// Held for each control call, so that no late payment undoes a pause.
    pub(crate) turn: Arc<tokio::sync::Mutex<()>>,
    /// Cancelled when the server is removed.
    pub(crate) gone: CancellationToken,
    /// Whether it was ejected when this was made.
    pub(crate) is_out: bool,
}

/// Control calls of which nobody knows whether they arrived, and which are to be made again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owed {
    pub(crate) resume: bool,
    pub(crate) version: bool,
}

/// How a server of a [`Pool`](crate::Pool) is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerState {
    /// In service.
    Well,
    /// In service again, with at most so many streams for now.
    Returning {
        /// The most streams.
        room: usize,
    },
    /// Out of service until a probe succeeds.
    Ejected,
    /// Out of service until a control call whose outcome is not known was made again.
    Owed,
    /// Out of service because its weights are not the expected ones, until a version is set.
    Stale,
    /// Out of service, after a failure, until it shows that its weights are still the expected ones: it
    /// may have been started anew.
    Suspect,
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Well => f.write_str("well"),
            Self::Returning { room } => write!(f, "returning ({room} streams)"),
            Self::Ejected => f.write_str("ejected"),
            Self::Owed => f.write_str("owed a control call"),
            Self::Stale => f.write_str("stale weights"),
            Self::Suspect => f.write_str("to show its weights"),
        }
    }
}

/// A server of a [`Pool`](crate::Pool), for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStatus {
    /// Its name.
    pub name: String,
    /// How it is.
    pub state: ServerState,
    /// Streams that are open.
    pub outstanding: usize,
    /// Failures since its last success.
    pub failures: u32,
    /// The label of its weights, as far as known.
    pub label: Option<String>,
}

/// One server: who it is, what runs there, how it is.
pub(crate) struct Entry {
    pub(crate) member: Member,
    /// The abort signals of the streams that are open there.
    pub(crate) streams: HashMap<u64, CancellationToken>,
    pub(crate) vitals: Vitals,
    /// It said that it has too much to do until then.
    pub(crate) busy_until: Option<Instant>,
    pub(crate) owed: Owed,
    /// The label that its weights have, as far as known.
    pub(crate) label: Option<String>,
    pub(crate) is_stale: bool,
    /// Whether an update of its weights failed, or nobody knows: only its own label shows that it has them.
    pub(crate) lacks_weights: bool,
    /// Whether it may have been started anew since its label was read.
    pub(crate) is_suspect: bool,
    /// Whether it answered the pause that stands.
    pub(crate) took_pause: bool,
    pub(crate) next_visit: Instant,
    pub(crate) is_visited: bool,
    pub(crate) meters: Meters,
}

impl Entry {
    pub(crate) fn new(id: ServerId, server: Arc<dyn LlmServer>, vitals: Vitals, now: Instant) -> Self {
        let meters = Meters::new(server.name());
        let member =
            Member { id, server, turn: Arc::default(), gone: CancellationToken::new(), is_out: false };
        Self {
            member,
            streams: HashMap::new(),
            vitals,
            busy_until: None,
            owed: Owed::default(),
            label: None,
            is_stale: false,
            lacks_weights: false,
            is_suspect: false,
            took_pause: false,
            next_visit: now,
            is_visited: false,
            meters,
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.member.server.name()
    }

    pub(crate) fn member(&self) -> Member {
        Member { is_out: self.vitals.is_ejected(), ..self.member.clone() }
    }

    pub(crate) const fn state(&self) -> ServerState {
        match self.vitals.condition {
            _ if self.is_stale || self.lacks_weights => ServerState::Stale,
            _ if self.owed.resume || self.owed.version => ServerState::Owed,
            Condition::Ejected { .. } => ServerState::Ejected,
            _ if self.is_suspect => ServerState::Suspect,
            Condition::Returning { room } => ServerState::Returning { room },
            Condition::Well => ServerState::Well,
        }
    }

    pub(crate) const fn in_service(&self) -> bool {
        matches!(self.state(), ServerState::Well | ServerState::Returning { .. })
    }

    /// The end of the rest that it asked for.
    pub(crate) fn rest_until(&self, now: Instant) -> Option<Instant> {
        self.busy_until.filter(|until| *until > now)
    }

    pub(crate) fn status(&self) -> ServerStatus {
        ServerStatus {
            name: self.name().to_owned(),
            state: self.state(),
            outstanding: self.streams.len(),
            failures: self.vitals.failures,
            label: self.label.clone(),
        }
    }

    /// Reads the label that the server gave against what it is expected to be: the version in
    /// force, or what it was before. Under any other label its weights are not known, and it serves
    /// nobody until a version is set. Whether that is news.
    pub(crate) fn read_label(&mut self, found: String, in_force: PolicyVersion) -> bool {
        let is_current = found == in_force.to_string();
        let was_stale = self.is_stale;
        if is_current {
            self.owed.version = false;
            self.lacks_weights = false;
        }
        self.is_stale = !is_current && self.label.as_ref().is_some_and(|expected| *expected != found);
        if !self.is_stale {
            self.label = Some(found);
        }
        self.is_stale && !was_stale
    }

    /// The server took this version: what was known before does not count any more.
    pub(crate) fn took_version(&mut self, version: PolicyVersion) {
        self.is_stale = false;
        self.lacks_weights = false;
        self.is_suspect = false;
        self.owed.version = false;
        self.label = Some(version.to_string());
    }

    /// Nobody knows whether the version arrived. If the server took part in the sync it may have the
    /// weights, and is told again; else it is expected to show the label by itself, or is stale.
    pub(crate) fn missed_version(&mut self, version: PolicyVersion) {
        if self.took_pause || self.in_service() {
            self.owed.version = true;
        } else {
            self.label = Some(version.to_string());
        }
    }

    /// A version is in force that cannot be told to this server: its label means nothing now.
    pub(crate) fn forget_label(&mut self) {
        self.label = None;
        self.is_stale = false;
    }

    /// An update to this version failed, or nobody knows: the label is not set for it.
    pub(crate) fn missed_update(&mut self, version: PolicyVersion) {
        self.lacks_weights = true;
        self.label = Some(version.to_string());
    }

    /// Whether it may be paused, by us.
    pub(crate) const fn may_be_paused(&self) -> bool {
        self.took_pause || self.owed.resume
    }

    pub(crate) fn count_failure(&self, class: Class) {
        self.meters.failed(class);
    }
}
