//! Agent loops by name, and the worker that runs many rollouts at once.
//!
//! [`AgentLoopRegistry`] maps the `agent_name` of a task to a rollout service; loops are registered
//! explicitly, there are no globals. [`AgentLoopWorker`] runs many rollouts, interrupts, cancels
//! and resumes all of them, and takes its own outputs back: completed ones come back unchanged,
//! cancelled ones go on.
//!
//! It is deliberately not a loop itself (`respool-driver`) and reads no files.
//!
//! *Invariant:* submitted = completed + failed + interrupted + in flight, at all times ([`Counts`]).
//!
//! A third party registers its own loop:
//!
//! ```
//! use respool_core::{AgentLoopOutput, AgentData, AgentState, Finish};
//! use respool_driver::{RolloutRequest, RolloutService, Start};
//! use respool_registry::AgentLoopRegistry;
//!
//! let silent = tower::service_fn(|request: RolloutRequest| async move {
//!     let data = match request.start {
//!         Start::New(spec) => AgentData::new(spec),
//!         Start::Resume { data, .. } => *data,
//!     };
//!     Ok(AgentLoopOutput::from_parts(data, AgentState::Terminated(Finish::EmptyReply)))
//! });
//! let mut registry = AgentLoopRegistry::new();
//! registry.register("silent_agent", RolloutService::new(silent))?;
//! assert!(registry.get("silent_agent").is_ok());
//! # Ok::<(), respool_registry::AlreadyRegistered>(())
//! ```

mod builtin;
mod counts;
mod gate;
mod registry;
mod reward;
mod worker;

pub use builtin::{default_loop, loop_kind};
pub use counts::Counts;
pub use registry::{AgentLoopRegistry, AlreadyRegistered, UnknownLoop};
pub use reward::with_reward;
pub use worker::{AgentLoopWorker, Outcome, Work};

#[cfg(test)]
mod tests;
