//! A whole rollout as a tower service.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use respool_core::{AgentData, AgentLoopOutput, AgentState, Dialect, Fault, RolloutSpec};
use respool_engine::Engine;
use tower::{Service, util::BoxCloneSyncService};

use crate::{Checkpoint, Control, Exit, Services, Settings, drive, sessions};

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
        let left_behind = sessions::LeftBehind::watch(&engine, &self.services, &self.settings);
        let checkpoint = request.checkpoint.as_deref();
        let exit = drive(&mut engine, &self.services, &self.settings, &request.control, checkpoint).await;
        left_behind.nothing();
        sessions::settle(&engine, &exit, &self.services, &self.settings, &request.control).await;
        let (data, state) = engine.into_parts();
        Ok(match exit {
            Exit::Over | Exit::Interrupted => AgentLoopOutput::from_parts(data, state),
            Exit::NotRecorded(failure) => AgentLoopOutput::failed(data, failure),
        })
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
