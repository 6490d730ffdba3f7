//! Agent loops by name.

use std::collections::BTreeMap;

use respool_driver::{AgentLoop, RolloutService};

use crate::builtin;

/// Agent loops by name.
#[derive(Clone, Debug, Default)]
pub struct AgentLoopRegistry {
    loops: BTreeMap<String, RolloutService>,
}

/// A name is taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("agent loop {name:?} is registered already")]
pub struct AlreadyRegistered {
    /// The name.
    pub name: String,
}

/// No loop has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no agent loop {name:?}, expected one of: {}", known.join(", "))]
pub struct UnknownLoop {
    /// The name.
    pub name: String,
    /// The names there are.
    pub known: Vec<String>,
}

impl AgentLoopRegistry {
    /// No loops.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The four built-in loops over one [`AgentLoop`]: `single_turn_agent`, `tool_agent`,
    /// `partial_single_turn_agent`, `async_partial_tool_agent`.
    #[must_use]
    pub fn builtin(agent_loop: AgentLoop) -> Self {
        let service = agent_loop.boxed();
        let loops = builtin::PROFILES
            .iter()
            .map(|(name, profile)| ((*name).to_owned(), builtin::with_profile(service.clone(), *profile)))
            .collect();
        Self { loops }
    }

    /// Adds a loop.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn register(
        &mut self,
        name: impl Into<String>,
        service: RolloutService,
    ) -> Result<(), AlreadyRegistered> {
        let name = name.into();
        if self.loops.contains_key(&name) {
            return Err(AlreadyRegistered { name });
        }
        self.loops.insert(name, service);
        Ok(())
    }

    /// Puts the same layer around every loop there is.
    #[must_use]
    pub fn map(self, layer: impl Fn(RolloutService) -> RolloutService) -> Self {
        Self { loops: self.loops.into_iter().map(|(name, service)| (name, layer(service))).collect() }
    }

    /// The loop of that name, for one rollout.
    ///
    /// # Errors
    /// If there is none; the error lists the names there are.
    pub fn get(&self, name: &str) -> Result<RolloutService, UnknownLoop> {
        self.loops
            .get(name)
            .cloned()
            .ok_or_else(|| UnknownLoop { name: name.to_owned(), known: self.names() })
    }

    /// All names, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.loops.keys().cloned().collect()
    }
}
