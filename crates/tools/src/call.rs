//! Running one call: find or create its session, execute, and turn every way out into a result.

use std::{sync::Arc, time::Duration};

use respool_core::{CallOutcome, Replay, SessionPolicy, ToolRequest, ToolResult};
use tokio::time::timeout;

use crate::{
    ExecuteRequest, SessionName, Tool, ToolError, ToolOutput,
    session::{Entry, Session, caught},
    sessions::Sessions,
};

/// A registered tool.
pub(crate) struct Registered {
    pub(crate) tool: Box<dyn Tool>,
    pub(crate) timeout: Duration,
}

/// What the services share.
pub(crate) struct Shared {
    pub(crate) tools: Vec<Registered>,
    pub(crate) sessions: Arc<Sessions>,
}

impl Shared {
    pub(crate) async fn call(self: Arc<Self>, request: ToolRequest) -> ToolResult {
        let name = &request.call.name;
        let Some(index) = self.tools.iter().position(|known| known.tool.spec().name == *name) else {
            return ToolResult::text(CallOutcome::Wrong, self.unknown(name));
        };
        let limit = self.limit(index, &request);
        match timeout(limit, self.run(index, &request)).await {
            Ok(Some(Ok(ToolOutput { content, reward, metrics }))) => {
                ToolResult { outcome: CallOutcome::Ok, content, reward, metrics }
            }
            Ok(Some(Err(error))) => ToolResult::text(outcome(&error), format!("tool `{name}`: {error}")),
            Ok(None) => ToolResult::text(CallOutcome::Cancelled, format!("tool `{name}`: cancelled")),
            Err(_) => {
                let text = format!("tool `{name}`: timed out after {limit:?}");
                ToolResult::text(CallOutcome::Infrastructure, text)
            }
        }
    }

    fn unknown(&self, name: &str) -> String {
        let known: Vec<_> = self.tools.iter().map(|known| format!("`{}`", known.tool.spec().name)).collect();
        match known.as_slice() {
            [] => format!("unknown tool `{name}`: there are no tools"),
            known => format!("unknown tool `{name}`, expected one of {}", known.join(", ")),
        }
    }

    /// The tool's timeout, and once more for each call that rebuilding its session runs again.
    fn limit(&self, index: usize, request: &ToolRequest) -> Duration {
        let again = if request.session == SessionPolicy::Rebuild
            && self.sessions.find(request.rollout, index).is_none()
        {
            request.history.len()
        } else {
            0
        };
        self.tools[index].timeout.saturating_mul(u32::try_from(again + 1).unwrap_or(u32::MAX))
    }

    /// `None` if the session was released meanwhile.
    async fn run(&self, index: usize, request: &ToolRequest) -> Option<Result<ToolOutput, ToolError>> {
        loop {
            let session = match self.session(index, request).await {
                Ok(session) => session,
                Err(error) => return Some(Err(error)),
            };
            let work = self.run_in(&session, request, self.tools[index].tool.spec().replay);
            // Without a result another call had failed to create the session: open another one.
            if let Some(result) = session.over.run_until_cancelled(work).await? {
                return Some(result);
            }
        }
    }

    async fn session(&self, index: usize, request: &ToolRequest) -> Result<Arc<Session>, ToolError> {
        if let Some(session) = self.sessions.find(request.rollout, index) {
            return Ok(session);
        }
        let name = SessionName { rollout: request.rollout, tool: &request.call.name };
        let session = caught(async { Ok(self.tools[index].tool.session(name)) }).await?;
        Ok(self.sessions.adopt(request, index, session))
    }

    async fn run_in(
        &self,
        session: &Arc<Session>,
        request: &ToolRequest,
        replay: Replay,
    ) -> Option<Result<ToolOutput, ToolError>> {
        let _entered = match session.enter().await {
            Entry::Ready(phase) => phase,
            Entry::Dead => return None,
            Entry::Create(mut phase) => {
                // Declared after the guard of the phase, so dropped before it: who waits for the
                // phase must not find this session any more.
                let mut creating = Creating { sessions: &self.sessions, session, request, done: false };
                if let Err(error) = session.create(request, replay, &mut phase).await {
                    return Some(Err(error));
                }
                creating.done = true;
                drop(creating);
                phase.downgrade()
            }
        };
        let call = ExecuteRequest { rollout: request.rollout, call: &request.call, rebuilding: false };
        Some(session.execute(call).await)
    }
}

/// Gives the session up unless its creation succeeded: on an error, a panic, the timeout, and
/// when the call's future is dropped.
struct Creating<'a> {
    sessions: &'a Sessions,
    session: &'a Arc<Session>,
    request: &'a ToolRequest,
    done: bool,
}

impl Drop for Creating<'_> {
    fn drop(&mut self) {
        if !self.done {
            let had_none_before = !self.session.found_missing(self.request);
            self.sessions.give_up(self.session, had_none_before);
        }
    }
}

/// R6: whose fault it is.
const fn outcome(error: &ToolError) -> CallOutcome {
    match error {
        ToolError::BadArguments(_) | ToolError::Failed(_) => CallOutcome::Wrong,
        ToolError::Infrastructure(_) => CallOutcome::Infrastructure,
    }
}
