//! The server manager: what a pool of LLM servers gives to the rest of Respool.
//!
//! [`Pool`] is many [`LlmServer`]s behind one service: a [`ServerManager`], which generates and is
//! controlled (pause, continue, abort, versions). [`continued`] asks for the rest of an answer whose
//! stream broke, [`Backoff`] tells how long to wait before that, [`WireIds`] names requests.
//!
//! It is deliberately not a client (those implement [`LlmServer`]) and knows neither HTTP nor tools.
//!
//! *Invariant:* a manager sends a request once. Who asks again, and with which tokens, is decided
//! by the rollout's engine, or by [`continued`].
//!
//! ```
//! use std::sync::Arc;
//! use respool_core::{Fault, PolicyVersion};
//! use respool_llm::{ContinueSettings, LlmServer, Pool, PoolSettings, ServerManager, WireIds, continued};
//! use respool_stack::GenerateService;
//!
//! fn service(servers: Vec<Arc<dyn LlmServer>>, nonce: fn() -> u64) -> Result<GenerateService, Fault> {
//!     let pool = Pool::new(PoolSettings::default(), WireIds::new(nonce), 42, PolicyVersion(0));
//!     servers.into_iter().try_for_each(|server| pool.add(server))?;
//!     Ok(continued(pool.generate(), ContinueSettings::default()))
//! }
//! ```

mod backoff;
mod continued;
mod draws;
mod label;
mod manager;
mod pool;
mod server;
mod wire_id;

pub use backoff::Backoff;
pub use continued::{ContinueSettings, continued};
pub use label::version_of_label;
pub use manager::{ControlFuture, Health, ServerManager, WeightSync};
pub use pool::{Pool, PoolSettings, ServerState, ServerStatus};
pub use server::{Controls, LlmServer, Load, ModelInfo, ServerCall};
pub use wire_id::WireIds;

#[cfg(test)]
mod testing;
