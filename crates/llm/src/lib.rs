//! The server manager: what a pool of LLM servers gives to the rest of Respool.
//!
//! [`ServerManager`] generates and is controlled: pause, continue, abort, versions. [`Backoff`]
//! tells how long to wait before asking again, [`WireIds`] names requests on the wire.
//!
//! It is deliberately not a client (those implement the trait) and knows neither HTTP nor tools.
//!
//! *Invariant:* a manager sends a request once. Who asks again, and with which tokens, is decided
//! by the rollout's engine.
//!
//! ```
//! use std::time::Duration;
//! use respool_core::Class;
//! use respool_llm::Backoff;
//!
//! let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10));
//! let third = backoff.delay(2, Class::Transient, 42).unwrap();
//! assert!(third >= Duration::from_millis(200) && third <= Duration::from_millis(400));
//! assert_eq!(backoff.delay(0, Class::Terminal, 42), None);
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
pub use server::{Controls, LlmServer, Load, ServerCall};
pub use wire_id::WireIds;
