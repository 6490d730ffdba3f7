//! A whole rollout as a tower service.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use respool_core::{
    AgentData, AgentLoopOutput, AgentState, Dialect, Failure, Fault, Finish, RolloutSpec, SessionAction,
    SessionRequest, Trajectory,
};
use respool_engine::Engine;
use tower::{Service, ServiceExt, util::BoxCloneSyncService};

use crate::{Checkpoint, Control, Exit, Services, Settings, drive};

/// Runs a rollout from its start or from where it was left.
pub type RolloutService = BoxCloneSyncService<RolloutRequest, AgentLoopOutput, Fault>;

/// Where a rollout starts.
#[derive(Clone, Debug)]
pub enum Start {
    /// A new task.
    New(Arc<RolloutSpec>),
    /// Where it was left.
    Resume {
        /// Its data.
        data: Box<AgentData>,
        /// Its phase.
        state: AgentState,
    },
}

/// Asks for a rollout.
#[derive(Clone, Debug)]
pub struct RolloutRequest {
    /// Where it starts.
    pub start: Start,
    /// Interrupts or cancels it.
    pub control: Control,
    /// Where its events go, if they shall outlive the process.
    pub checkpoint: Option<Arc<dyn Checkpoint>>,
}

impl RolloutRequest {
    /// A request without a checkpoint.
    #[must_use]
    pub const fn new(start: Start, control: Control) -> Self {
        Self { start, control, checkpoint: None }
    }
}

/// The agent loop of all built-in names: the engine with its services.
#[derive(Clone, Debug)]
pub struct AgentLoop {
    dialect: Arc<dyn Dialect>,
    services: Services,
    settings: Arc<Settings>,
}

impl AgentLoop {
    /// A loop over these services.
    #[must_use]
    pub fn new(dialect: Arc<dyn Dialect>, services: Services, settings: Settings) -> Self {
        Self { dialect, services, settings: Arc::new(settings) }
    }

    /// Boxed under the alias that registries and checks take.
    #[must_use]
    pub fn boxed(self) -> RolloutService {
        BoxCloneSyncService::new(self)
    }

    async fn run(self, request: RolloutRequest) -> Result<AgentLoopOutput, Fault> {
        let mut engine = match request.start {
            Start::New(spec) => Engine::new(spec, self.dialect),
            Start::Resume { data, state } => Engine::from_parts(*data, state, self.dialect)
                .map_err(|invalid| Fault::terminal(invalid.to_string()))?,
        };
        let exit = drive(
            &mut engine,
            &self.services,
            &self.settings,
            &request.control,
            request.checkpoint.as_deref(),
        )
        .await;
        settle_sessions(&engine, &exit, &self.services, &self.settings).await;
        let (data, state) = engine.into_parts();
        Ok(match exit {
            Exit::Over | Exit::Interrupted => AgentLoopOutput::from_parts(data, state),
            Exit::NotRecorded(failure) => failed(data, failure),
        })
    }
}

fn failed(data: AgentData, failure: Failure) -> AgentLoopOutput {
    let finish = Finish::Failed(failure.clone());
    AgentLoopOutput::Failed { failure, trajectory: Box::new(Trajectory { data, finish }) }
}

/// R14: an interrupt keeps the sessions under a lease, everything else releases them.
async fn settle_sessions(engine: &Engine, exit: &Exit, services: &Services, settings: &Settings) {
    let called = matches!(engine.state(), AgentState::ProcessingTools { .. })
        || engine.data().calls.iter().any(|call| call.ran);
    if !called {
        return;
    }
    let rollout = engine.data().spec.id;
    let (action, limit) = match (exit, engine.state()) {
        (Exit::Interrupted, _) => (SessionAction::Keep, settings.release_timeout),
        (_, AgentState::Terminated(Finish::Cancelled)) => {
            (SessionAction::Release, settings.cancel_release_timeout)
        }
        (Exit::Over | Exit::NotRecorded(_), _) => (SessionAction::Release, settings.release_timeout),
    };
    report(services.sessions.clone(), SessionRequest { rollout, action }, limit).await;
}

/// Failing to release cannot change the rollout any more, but somebody has to know.
async fn report(sessions: respool_stack::SessionService, request: SessionRequest, limit: Duration) {
    let rollout = request.rollout;
    match tokio::time::timeout(limit, sessions.oneshot(request)).await {
        Ok(Ok(())) => {}
        Ok(Err(fault)) => tracing::warn!(%rollout, %fault, "tool sessions were not released or kept"),
        Err(_) => tracing::warn!(%rollout, ?limit, "tool sessions were not released or kept in time"),
    }
}

impl Service<RolloutRequest> for AgentLoop {
    type Response = AgentLoopOutput;
    type Error = Fault;
    type Future = Pin<Box<dyn Future<Output = Result<AgentLoopOutput, Fault>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: RolloutRequest) -> Self::Future {
        Box::pin(self.clone().run(request))
    }
}
