//! Policies and servers that stand in for LLM servers, in this process.
//!
//! A [`Policy`] says which token comes next, as a function of prefix and seed: [`HashPolicy`]
//! says random things, [`ScriptPolicy`] what it is given, [`TeacherPolicy`] the reference
//! solution of a task. A [`MockServer`] streams it, at a pace, labelled with policy versions,
//! with pauses, aborts and the faults of a [`FaultScript`].
//!
//! It is deliberately not an HTTP server, and knows no tools and no engine.
//!
//! *Invariant:* pace, delta sizes, faults, versions and cuts change when and whether tokens come,
//! never which tokens: any chain of requests gives the tokens and log-probabilities of one.
//!
//! ```
//! use std::sync::Arc;
//! use respool_llm::ServerManager;
//! use respool_llm_mock::{MockConfig, MockServer, ScriptPolicy};
//!
//! let stop = 2;
//! let policy = ScriptPolicy::new([vec![11, 12, 13], vec![21]], stop);
//! let server = MockServer::new(Arc::new(policy), MockConfig::default());
//! let service = server.generate(); // a tower service: request -> stream of deltas
//! # let _ = service;
//! ```

mod faults;
mod generation;
mod grammar;
mod hash;
mod policy;
mod random;
mod script;
mod server;
mod solution;
mod teacher;

pub use faults::{FaultRates, FaultScript, ServerFault};
pub use grammar::Grammar;
pub use hash::{Draw, seed_from};
pub use policy::{Cursor, Encoder, Policy, TurnWriter};
pub use random::HashPolicy;
pub use script::ScriptPolicy;
pub use server::{DeltaSize, MockConfig, MockServer};
pub use teacher::{TaskLookup, TeacherPolicy, TeacherTask};

#[cfg(test)]
mod testing;
