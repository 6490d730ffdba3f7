//! What becomes of a rollout's tool sessions when it is left (R14).

use std::time::Duration;

use respool_core::{AgentState, RolloutId, SessionAction, SessionRequest};
use respool_engine::Engine;
use respool_stack::SessionService;
use tokio::{runtime::Handle, time::sleep};
use tower::ServiceExt;

use crate::{Control, Exit, Services, Settings};

/// An interrupt keeps the sessions under a lease, everything else releases them.
pub(crate) async fn settle(
    engine: &Engine,
    exit: &Exit,
    services: &Services,
    settings: &Settings,
    control: &Control,
) {
    let called = matches!(engine.state(), AgentState::ProcessingTools { .. })
        || engine.data().calls.iter().any(|call| call.ran);
    if !called {
        return;
    }
    let action = match exit {
        Exit::Interrupted => SessionAction::Keep,
        Exit::Over | Exit::NotRecorded(_) => SessionAction::Release,
    };
    let request = SessionRequest { rollout: engine.data().spec.id, action };
    tell(services.sessions.clone(), request, patience(settings, control)).await;
}

/// Ends when nobody waits any longer for the sessions: somebody who leaves is in a hurry, also where
/// the rollout was over before.
async fn patience(settings: &Settings, control: &Control) {
    let in_a_hurry = async {
        tokio::select! {
            () = control.cancelled() => {}
            () = control.interrupted() => {}
        }
        sleep(settings.hurried_release_timeout).await;
    };
    tokio::select! {
        () = in_a_hurry => {}
        () = sleep(settings.release_timeout) => {}
    }
}

/// Failing to release cannot change the rollout any more, but somebody has to know.
async fn tell(sessions: SessionService, request: SessionRequest, patience: impl Future<Output = ()>) {
    let rollout = request.rollout;
    tokio::select! {
        biased;
        result = sessions.oneshot(request) => if let Err(fault) = result {
            tracing::warn!(%rollout, %fault, "tool sessions were not released or kept");
        },
        () = patience => tracing::warn!(%rollout, "tool sessions were not released or kept in time"),
    }
}

/// The sessions of a rollout whose future may be dropped, or end by a panic, while it is driven.
/// Nobody knows then whether it will go on, so they are kept under a lease, as by an interrupt;
/// without one they would be held for ever. The task that says so holds nothing of the rollout.
pub(crate) struct LeftBehind {
    sessions: Option<SessionService>,
    rollout: RolloutId,
    limit: Duration,
}

impl LeftBehind {
    pub(crate) fn watch(engine: &Engine, services: &Services, settings: &Settings) -> Self {
        let sessions = Some(services.sessions.clone());
        Self { sessions, rollout: engine.data().spec.id, limit: settings.release_timeout }
    }

    /// The rollout was driven to an exit.
    pub(crate) fn nothing(mut self) {
        self.sessions = None;
    }
}

impl Drop for LeftBehind {
    fn drop(&mut self) {
        let Some(sessions) = self.sessions.take() else { return };
        // Where there is no runtime any more, there are no sessions either.
        if let Ok(runtime) = Handle::try_current() {
            let (rollout, limit) = (self.rollout, self.limit);
            let request = SessionRequest { rollout, action: SessionAction::Keep };
            drop(runtime.spawn(async move { tell(sessions, request, sleep(limit)).await }));
        }
    }
}
