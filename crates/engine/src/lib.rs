//! The rollout state machine: a value with one synchronous mutator and no I/O.
//!
//! [`Engine::step`] takes what happened; [`Engine::wanted`] is a pure function of the state that
//! says what the outside world has to do now. There is no queue of effects, so nothing can be lost
//! between deciding and doing: a snapshot is "encode the parts", and may be taken between any two
//! steps; a resume is "start with nothing running". The rules R1 to R15 are in the design.
//!
//! It is deliberately not a driver: it does not call services, wait, or retry by the clock.
//!
//! *Invariant:* no async, time, randomness, I/O or serde; an event that does not fit changes
//! nothing.
//!
//! ```
//! use std::sync::Arc;
//! use respool_core::*;
//! use respool_engine::{Engine, Wanted};
//! # #[derive(Debug)] struct Plain;
//! # impl Dialect for Plain {
//! #     fn fingerprint(&self) -> Fingerprint { Fingerprint::default() }
//! #     fn stop_tokens(&self) -> &[Token] { &[2] }
//! #     fn encode_chat(&self, _: &Chat<'_>) -> Result<Encoded, DialectError> { Ok(Encoded { tokens: vec![1, 5], changes: vec![] }) }
//! #     fn encode_continuation(&self, _: &Continuation<'_>) -> Result<Encoded, DialectError> { Ok(Encoded::default()) }
//! #     fn parse_turn(&self, _: &[Token], _: &[Token], _: &[ToolSpec], _: bool) -> ParsedTurn { ParsedTurn::default() }
//! #     fn token_bytes(&self, _: Token, _: &mut Vec<u8>) {}
//! # }
//! let spec = RolloutSpec::new(RolloutId(1), "task", vec![Message::new(Role::User, "6*7?")]);
//! let mut engine = Engine::new(Arc::new(spec), Arc::new(Plain));
//! engine.step(engine.encode().unwrap())?; // the first chat, rendered and tokenized
//! let Wanted::Generate(generate) = engine.wanted() else { panic!() };
//! let effect = generate.effect;
//! let delta = GenerateDelta { version: PolicyVersion(0), tokens: vec![42, 2], logprobs: vec![] };
//! engine.step(Event::Sampled { effect, at: 2, delta })?;
//! engine.step(Event::GenerateEnded { effect, finish: GenerateFinish::Stop })?;
//! assert_eq!(engine.state(), &AgentState::Terminated(Finish::Answered));
//! # Ok::<(), respool_engine::Rejected>(())
//! ```
#![deny(clippy::wildcard_enum_match_arm)]

mod batch;
mod budget;
mod encode;
mod engine;
mod generating;
mod interacting;
mod invalid;
mod leave;
mod pending;
mod processing;
mod stop;
mod turn_end;
mod versions;
mod wanted;

pub use engine::{Engine, Rejected};
pub use invalid::Invalid;
pub use wanted::{GenerateWanted, InteractWanted, Wanted};
