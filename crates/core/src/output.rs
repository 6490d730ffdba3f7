//! What an agent loop hands back.

use crate::{AgentData, AgentState, Failure, Finish, RolloutId};

/// A rollout that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// All of it.
    pub data: AgentData,
    /// Why it ended.
    pub finish: Finish,
}

/// The one output of a rollout (R11).
#[derive(Clone, Debug, PartialEq)]
pub enum AgentLoopOutput {
    /// It is over.
    Completed(Box<Trajectory>),
    /// It was interrupted, and can be resumed from these two.
    Cancelled {
        /// All of it, but for its phase.
        data: Box<AgentData>,
        /// Its phase.
        state: AgentState,
    },
    /// It could not go on; this is how far it came.
    Failed {
        /// Why.
        failure: Failure,
        /// What there is; `finish` holds the same failure.
        trajectory: Box<Trajectory>,
    },
}

impl AgentLoopOutput {
    /// The output of a rollout in that state: completed or failed if it is over, else cancelled.
    #[must_use]
    pub fn from_parts(data: AgentData, state: AgentState) -> Self {
        match state {
            AgentState::Terminated(Finish::Failed(failure)) => Self::failed(data, failure),
            AgentState::Terminated(finish) => Self::Completed(Box::new(Trajectory { data, finish })),
            state @ (AgentState::Pending
            | AgentState::Generating { .. }
            | AgentState::ProcessingTools { .. }
            | AgentState::Interacting { .. }) => Self::Cancelled { data: Box::new(data), state },
        }
    }

    /// The output of a rollout that came so far and cannot go on.
    #[must_use]
    pub fn failed(data: AgentData, failure: Failure) -> Self {
        let finish = Finish::Failed(failure.clone());
        Self::Failed { failure, trajectory: Box::new(Trajectory { data, finish }) }
    }

    /// The rollout's data, however it ended.
    #[must_use]
    pub fn data(&self) -> &AgentData {
        match self {
            Self::Completed(trajectory) | Self::Failed { trajectory, .. } => &trajectory.data,
            Self::Cancelled { data, .. } => data,
        }
    }

    /// The rollout's name.
    #[must_use]
    pub fn rollout(&self) -> RolloutId {
        self.data().spec.id
    }
}
