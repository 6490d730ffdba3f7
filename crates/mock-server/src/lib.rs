//! A mock policy behind an HTTP server that speaks as SGLang or vLLM does: a trainer can be run
//! and tested against it without a GPU.
//!
//! [`MockHttpServer`] binds a port and answers the engine's routes: generation in both stream
//! styles, aborts, pauses, weight labels, information. [`HttpFaults`] breaks requests on purpose.
//! [`WireLog`] knows what was sent, token by token.
//!
//! It is deliberately not an inference engine (a [`Policy`](respool_llm_mock::Policy) says what
//! comes next, of any prompt), has no tokenizer and reads no arguments.
//!
//! *Invariant:* pace, chunks, faults, pauses and labels change when and whether tokens come, and
//! how they are shown, never which tokens the policy says after a prompt.
//!
//! ```
//! use std::sync::Arc;
//! use respool_llm_mock::ScriptPolicy;
//! use respool_mock_server::{Engine, MockHttpConfig, MockHttpServer, turns_by_suffix};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let policy = Arc::new(ScriptPolicy::new([vec![11, 12, 13]], 2));
//! let config = MockHttpConfig::new(Engine::Sglang, policy, turns_by_suffix(vec![7]), vec![2]);
//! let server = MockHttpServer::bind("127.0.0.1:0".parse().unwrap(), config).await.unwrap();
//! println!("listening on http://{}", server.addr());
//! server.shutdown().await;
//! # });
//! ```

mod admit;
mod ask;
mod config;
mod connection;
mod faults;
mod life;
mod log;
mod plan;
mod reply;
mod running;
mod server;
mod sglang;
mod shown;
mod tasks;
mod turns;
mod vllm;
mod writer;

pub use config::{Decoder, Engine, MockHttpConfig, StreamStyle};
pub use faults::{BadLogprob, FaultRates, FaultsError, HttpFault, HttpFaults, ScriptedFault};
pub use log::{LabelSpan, WireEnd, WireLog, WireRecord};
pub use server::MockHttpServer;
pub use tasks::TaskBook;
pub use turns::{TurnFinder, TurnPlace, rollout_of_wire_id, turns_by_suffix};

#[cfg(test)]
mod shapes;
#[cfg(test)]
mod testing;
