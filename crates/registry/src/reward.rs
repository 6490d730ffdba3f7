//! The reward of a completed rollout, as a layer around any loop.

use std::sync::Arc;

use respool_core::{AgentLoopOutput, CallOutcome, Failure, FailureKind, Fault, Finish, Trajectory};
use respool_driver::{RolloutRequest, RolloutService};
use respool_interact::Rewards;
use tower::{Service, ServiceExt};

/// Scores what `service` completes by the reward function of that name.
///
/// A rollout with an infrastructure error gets no reward unless its options say so (R6); a
/// cancelled one gets none; a reward function that fails makes the rollout fail, and only that one.
#[must_use]
pub fn with_reward(service: RolloutService, rewards: Arc<Rewards>, name: &str) -> RolloutService {
    let name: Arc<str> = name.into();
    let scored = tower::service_fn(move |request: RolloutRequest| {
        let (service, rewards, name) = (service.clone(), Arc::clone(&rewards), Arc::clone(&name));
        async move {
            let output = { service }.ready().await?.call(request).await?;
            Ok(match output {
                AgentLoopOutput::Completed(trajectory) => score(trajectory, &rewards, &name).await,
                output @ (AgentLoopOutput::Cancelled { .. } | AgentLoopOutput::Failed { .. }) => output,
            })
        }
    });
    RolloutService::new(scored)
}

async fn score(mut trajectory: Box<Trajectory>, rewards: &Rewards, name: &str) -> AgentLoopOutput {
    if may_score(&trajectory) {
        match rewards.score(name, &trajectory).await {
            Ok(value) => trajectory.data.reward_score = Some(value),
            Err(Fault { class, message }) => {
                let failure = Failure { kind: FailureKind::Reward, class, message };
                return AgentLoopOutput::failed(trajectory.data, failure);
            }
        }
    }
    AgentLoopOutput::Completed(trajectory)
}

fn may_score(trajectory: &Trajectory) -> bool {
    let data = &trajectory.data;
    trajectory.finish != Finish::Cancelled
        && (data.calls_with(CallOutcome::Infrastructure) == 0 || data.spec.options.reward_on_infrastructure)
}
