//! One session: created once, entered by calls, released once.

use std::time::Duration;

use respool_core::{Replay, RolloutId, SessionPolicy, ToolCall, ToolRequest};
use tokio::{
    runtime::Handle,
    sync::{RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::{CreateRequest, ExecuteRequest, SessionName, ToolError, ToolOutput, ToolSession};

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// `create` was not called: there is nothing to release.
    New,
    /// `create` was called and is running, or did not succeed.
    Begun,
    /// Calls may run.
    Live,
}

pub(crate) struct Session {
    pub(crate) rollout: RolloutId,
    /// Index of its tool in the toolbox.
    pub(crate) tool: usize,
    pub(crate) tool_name: String,
    /// Whether the rollout is known to have had no session of this tool, whatever its history says.
    pub(crate) first: bool,
    /// Where it was opened: what a dropped call leaves behind is released there.
    pub(crate) runtime: Handle,
    /// Cancelled when running calls are to end, because the session is to be released.
    pub(crate) over: CancellationToken,
    inner: Box<dyn ToolSession>,
    /// Calls hold it shared while they run; creating and releasing hold it alone.
    phase: RwLock<Phase>,
}

/// What a call that finds the session finds.
pub(crate) enum Entry<'a> {
    /// It is ready; while the guard lives it is not released.
    Ready(RwLockReadGuard<'a, Phase>),
    /// It is to be created by this call.
    Create(RwLockWriteGuard<'a, Phase>),
    /// Another call failed to create it.
    Dead,
}

impl Session {
    /// A session of that request's rollout, not yet created.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(crate) fn new(request: &ToolRequest, tool: usize, first: bool, inner: Box<dyn ToolSession>) -> Self {
        Self {
            rollout: request.rollout,
            tool,
            tool_name: request.call.name.clone(),
            first,
            runtime: Handle::current(),
            over: CancellationToken::new(),
            inner,
            phase: RwLock::new(Phase::New),
        }
    }

    pub(crate) fn name(&self) -> SessionName<'_> {
        SessionName { rollout: self.rollout, tool: &self.tool_name }
    }

    pub(crate) async fn enter(&self) -> Entry<'_> {
        let phase = self.phase.read().await;
        if *phase == Phase::Live {
            return Entry::Ready(phase);
        }
        drop(phase);
        let phase = self.phase.write().await;
        match *phase {
            Phase::Live => Entry::Ready(phase.downgrade()),
            Phase::Begun => Entry::Dead,
            Phase::New => Entry::Create(phase),
        }
    }

    /// Creates it as the request says (R14). Every failure is an infrastructure error: the
    /// arguments are the task's, and nothing the policy wrote was looked at.
    pub(crate) async fn create(
        &self,
        request: &ToolRequest,
        replay: Replay,
        phase: &mut RwLockWriteGuard<'_, Phase>,
    ) -> Result<(), ToolError> {
        let found_missing = self.found_missing(request);
        let (reattach, rebuild) = match request.session {
            _ if !found_missing => (false, false),
            SessionPolicy::Stateless => (false, false),
            SessionPolicy::Reattach => (true, false),
            SessionPolicy::Rebuild if replay == Replay::Once => {
                return Err(
                    self.lost("it cannot be rebuilt, because its calls may not run twice (replay `once`)")
                );
            }
            SessionPolicy::Rebuild => (false, true),
            SessionPolicy::Lost => return Err(self.lost("what it held is gone")),
        };
        **phase = Phase::Begun;
        let start = CreateRequest { name: self.name(), kwargs: &request.create_kwargs, reattach };
        caught(async { self.inner.create(start).await }).await.map_err(|error| {
            ToolError::Infrastructure(format!("its session could not be created: {error}"))
        })?;
        if rebuild {
            self.rebuild(&request.history).await?;
        }
        **phase = Phase::Live;
        Ok(())
    }

    /// Whether the rollout had a session of this tool that is not here.
    pub(crate) fn found_missing(&self, request: &ToolRequest) -> bool {
        !self.first && !request.history.is_empty()
    }

    /// Runs the recorded calls again. A call that failed fails again, which is as it was.
    async fn rebuild(&self, history: &[ToolCall]) -> Result<(), ToolError> {
        for call in history {
            match self.execute(ExecuteRequest { rollout: self.rollout, call, rebuilding: true }).await {
                Ok(_) | Err(ToolError::BadArguments(_) | ToolError::Failed(_)) => {}
                Err(ToolError::Infrastructure(reason)) => {
                    let id = &call.id;
                    return Err(self.lost(&format!("rebuilding it failed at call `{id}`: {reason}")));
                }
            }
        }
        Ok(())
    }

    fn lost(&self, what: &str) -> ToolError {
        ToolError::Infrastructure(format!("the session of earlier calls was lost, and {what}"))
    }

    pub(crate) async fn execute(&self, request: ExecuteRequest<'_>) -> Result<ToolOutput, ToolError> {
        let output = caught(async { self.inner.execute(request).await }).await?;
        match output.not_finite() {
            None => Ok(output),
            Some((name, value)) => {
                Err(ToolError::Failed(format!("{name} is {value}, expected a finite number")))
            }
        }
    }

    /// Lets go of it after the calls in it have ended. Waits at most `patience` for them (one
    /// whose future is kept and never polled does not hold it up for ever), and as long again
    /// for the tool.
    pub(crate) async fn release(&self, patience: Duration) -> Result<(), String> {
        let phase = timeout(patience, self.phase.write()).await;
        if phase.as_deref().is_ok_and(|phase| *phase == Phase::New) {
            return Ok(());
        }
        let name = self.name();
        match timeout(patience, caught(async { self.inner.release().await })).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("releasing tool session {name}: {error}")),
            Err(_) => Err(format!("releasing tool session {name}: not done after {patience:?}")),
        }
    }
}

/// A tool's panic is that call's failure, and nobody else's.
pub(crate) async fn caught<T>(work: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
    let result = respool_stack::caught(work).await;
    result.unwrap_or_else(|panic| Err(ToolError::Failed(format!("panicked: {panic}"))))
}
