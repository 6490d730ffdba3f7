//! Runs one rollout: the engine decides, services do, and this crate keeps what runs equal to what
//! the engine wants.
//!
//! [`drive`] borrows an engine and holds nothing but what is running; drop its future, and the
//! caller still owns a complete engine. [`AgentLoop`] makes a tower service of it: a
//! [`RolloutRequest`] in, an [`AgentLoopOutput`](respool_core::AgentLoopOutput) out.
//!
//! It is deliberately not a scheduler of many rollouts (`respool-registry`), and knows no HTTP.
//!
//! *Invariant:* no state of the rollout lives here: what is lost with the running set is launched
//! again, because the engine still wants it.

mod agent_loop;
mod checkpoint;
mod control;
mod counts;
mod drive;
mod generation;
mod launch;
mod leave;
mod running;
mod services;
mod sessions;
mod settings;

pub use agent_loop::{AgentLoop, RolloutRequest, RolloutService, Start};
pub use checkpoint::{Checkpoint, CheckpointFuture};
pub use control::Control;
pub use drive::{Exit, drive};
pub use services::Services;
pub use settings::Settings;
