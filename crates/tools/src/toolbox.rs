//! The tools of a run, and the services that run them.

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use respool_core::{Fault, Fingerprint, SessionAction, SessionRequest, ToolRequest, ToolSpec};
use respool_stack::{SessionService, ToolService};
use tower::{service_fn, util::BoxCloneSyncService};

use crate::{
    Tool,
    call::{Registered, Shared},
    sessions::{Released, Sessions},
    spec,
};

/// How long a call may take, by default.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the sessions of an interrupted rollout are kept, by default.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(600);
/// How long a release waits for running calls, and again for the tool, by default.
pub const DEFAULT_RELEASE_TIMEOUT: Duration = Duration::from_secs(5);

/// The tools of a run, in prompt order. Clones share sessions.
///
/// Sessions that are still held when the last clone and the last service are dropped are dropped
/// with them, without `release`; [`Toolbox::close`] releases them.
#[derive(Clone)]
pub struct Toolbox {
    shared: Arc<Shared>,
}

impl Toolbox {
    /// A toolbox to fill.
    #[must_use]
    pub fn builder() -> ToolboxBuilder {
        ToolboxBuilder {
            tools: Vec::new(),
            timeout: DEFAULT_TIMEOUT,
            lease: DEFAULT_LEASE,
            release_timeout: DEFAULT_RELEASE_TIMEOUT,
        }
    }

    /// The specs of all tools, in order.
    #[must_use]
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.shared.tools.iter().map(|known| known.tool.spec().clone()).collect()
    }

    /// Changes with every name, schema, replay class, session policy, and with their order.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        spec::fingerprint(self.shared.tools.iter().map(|known| known.tool.spec()))
    }

    /// How many sessions are held: also of interrupted rollouts, until their lease ends.
    #[must_use]
    pub fn open_sessions(&self) -> usize {
        self.shared.sessions.len()
    }

    /// Runs calls. It never fails: what goes wrong is in the result (R6). It wants a tokio runtime
    /// with time. Dropping the future cancels the call; a session that it was creating is released.
    #[must_use]
    pub fn service(&self) -> ToolService {
        let shared = Arc::clone(&self.shared);
        BoxCloneSyncService::new(service_fn(move |request: ToolRequest| {
            let call = Arc::clone(&shared).call(request);
            async move { Ok(call.await) }
        }))
    }

    /// Keeps and releases the sessions of rollouts (R14).
    ///
    /// *Keep* starts the lease, or renews it; the rollout's next call ends it. *Release* takes the
    /// sessions away at once; calls that still run in them end as cancelled, then each session is
    /// released, also if the returned future is dropped. The future waits for that. A rollout
    /// without sessions is no error.
    ///
    /// Fails (terminally: nothing is released twice) if a tool could not let go of everything.
    #[must_use]
    pub fn sessions(&self) -> SessionService {
        let sessions = Arc::clone(&self.shared.sessions);
        BoxCloneSyncService::new(service_fn(move |request: SessionRequest| {
            let released = match request.action {
                SessionAction::Keep => {
                    sessions.keep(request.rollout);
                    Vec::new()
                }
                SessionAction::Release => sessions.release(request.rollout),
            };
            all_released(released)
        }))
    }

    /// Releases all sessions of all rollouts and waits for that.
    ///
    /// # Errors
    /// If a tool could not let go of everything.
    pub async fn close(&self) -> Result<(), Fault> {
        let released = all_released(self.shared.sessions.release_all()).await;
        self.shared.sessions.settled().await;
        released
    }
}

async fn all_released(releases: Vec<Released>) -> Result<(), Fault> {
    let mut failed = Vec::new();
    for release in releases {
        match release.await {
            Ok(Ok(())) => {}
            Ok(Err(reason)) => failed.push(reason),
            Err(_) => failed.push("releasing a tool session: the toolbox was dropped".to_owned()),
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Fault::terminal(failed.join("; "))) }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.shared.tools.iter().map(|known| &known.tool.spec().name);
        f.debug_list().entries(names).finish()
    }
}

/// Builds a [`Toolbox`].
pub struct ToolboxBuilder {
    tools: Vec<(Box<dyn Tool>, Option<Duration>)>,
    timeout: Duration,
    lease: Duration,
    release_timeout: Duration,
}

impl ToolboxBuilder {
    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push((Box::new(tool), None));
        self
    }

    /// Adds a tool with a timeout of its own.
    #[must_use]
    pub fn tool_with_timeout(mut self, tool: impl Tool + 'static, timeout: Duration) -> Self {
        self.tools.push((Box::new(tool), Some(timeout)));
        self
    }

    /// How long a call may take, creating its session included. A call that rebuilds a session
    /// has as long again for each call that it runs again.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How long the sessions of an interrupted rollout are kept.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// How long a release waits for running calls, and again for the tool.
    #[must_use]
    pub fn release_timeout(mut self, timeout: Duration) -> Self {
        self.release_timeout = timeout;
        self
    }

    /// The toolbox.
    ///
    /// # Errors
    /// If two tools have one name, or a schema names its function differently.
    pub fn build(self) -> Result<Toolbox, ToolboxError> {
        let mut names = BTreeSet::new();
        for (tool, _) in &self.tools {
            let spec = tool.spec();
            let found = spec::schema_name(&spec.schema);
            if found.as_ref() != Some(&spec.name) {
                return Err(ToolboxError::SchemaName { name: spec.name.clone(), found });
            }
            if !names.insert(spec.name.clone()) {
                return Err(ToolboxError::Duplicate { name: spec.name.clone() });
            }
        }
        let tools = self.tools.into_iter();
        let tools =
            tools.map(|(tool, own)| Registered { tool, timeout: own.unwrap_or(self.timeout) }).collect();
        let sessions = Arc::new(Sessions::new(self.lease, self.release_timeout));
        Ok(Toolbox { shared: Arc::new(Shared { tools, sessions }) })
    }
}

impl fmt::Debug for ToolboxBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.tools.iter().map(|(tool, _)| &tool.spec().name);
        f.debug_list().entries(names).finish()
    }
}

/// Why tools do not make a toolbox.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolboxError {
    /// Two tools have one name.
    #[error("two tools are named `{name}`, expected different names")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// The policy would be shown another name than the one that is looked for.
    #[error(
        "the schema of tool `{name}` has {} as function.name, expected \"{name}\"",
        .found.as_deref().map_or_else(|| "no string".to_owned(), |found| format!("\"{found}\""))
    )]
    SchemaName {
        /// The tool's name.
        name: String,
        /// What the schema says.
        found: Option<String>,
    },
}

#[cfg(test)]
mod tests;
