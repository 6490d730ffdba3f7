//! What is under test: an engine, or something around one.

use std::{fmt::Debug, sync::Arc};

use respool_core::{AgentData, AgentState, Dialect, Event, RolloutSpec};
use respool_engine::{Engine, Invalid, Rejected};

/// An engine, or something around one that changes how it behaves.
pub trait Machine: Sized + Debug {
    /// A rollout before its first step.
    fn new(spec: Arc<RolloutSpec>, dialect: Arc<dyn Dialect>) -> Self;

    /// A rollout from its parts.
    ///
    /// # Errors
    /// If they do not belong together.
    fn from_parts(data: AgentData, state: AgentState, dialect: Arc<dyn Dialect>) -> Result<Self, Invalid>;

    /// What the outside world sees.
    fn engine(&self) -> &Engine;

    /// Something happened.
    ///
    /// # Errors
    /// If the event does not fit.
    fn step(&mut self, event: Event) -> Result<(), Rejected>;
}

impl Machine for Engine {
    fn new(spec: Arc<RolloutSpec>, dialect: Arc<dyn Dialect>) -> Self {
        Self::new(spec, dialect)
    }

    fn from_parts(data: AgentData, state: AgentState, dialect: Arc<dyn Dialect>) -> Result<Self, Invalid> {
        Self::from_parts(data, state, dialect)
    }

    fn engine(&self) -> &Engine {
        self
    }

    fn step(&mut self, event: Event) -> Result<(), Rejected> {
        self.step(event)
    }
}
