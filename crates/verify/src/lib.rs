//! Resume equivalence as a test: run it against your own loops, tools, dialects and servers.
//!
//! A rollout may be cut at any token and resumed, and comes out as if nothing had happened. This
//! crate makes random tasks ([`script`]), random ways of disturbing them ([`schedule`]: delta
//! sizes, completion orders, cuts, crashes, faults, stale events) and a deterministic [`World`] in
//! which the policy's next token is a function of the tokens before; it runs each task disturbed
//! and undisturbed, and compares.
//!
//! It is deliberately not a simulator of many rollouts, and it knows no clock.
//!
//! *Invariant:* the world answers by prefix and by place, never by the number of a call: one that
//! counts would make a broken resume pass.
//!
//! ```
//! # use std::{sync::Arc, time::Duration};
//! # use proptest::strategy::Strategy;
//! # use respool_driver::{AgentLoop, Settings};
//! # use respool_testkit::{TokenDialect, Worlds, vocabulary};
//! use respool_verify::{ResumeConfig, resume_equivalence, script};
//!
//! # let services = Worlds::new(vocabulary(), Duration::from_millis(5)).services();
//! # let my_loop = AgentLoop::new(Arc::new(TokenDialect::new()), services, Settings::default()).boxed();
//! let tasks = script(vocabulary()).prop_map(|script| script.spec).boxed();
//! let report = resume_equivalence(&my_loop, ResumeConfig::new(tasks))?;
//! assert!(report.interrupts > 0);
//! # Ok::<(), respool_verify::CheckError>(())
//! ```

mod action;
mod clock;
mod cut;
mod cutting;
mod dialect_check;
mod equivalence;
mod event;
mod generate_check;
mod hash;
mod invariants;
mod journal;
mod machine;
mod policy;
mod resume;
mod run;
mod running;
mod schedule;
mod script;
mod search;
mod tool_check;
mod total;
mod violation;
mod vocabulary;
mod world;

pub use clock::Clock;
pub use cut::{Cut, CutKind};
pub use dialect_check::{DialectConfig, check_dialect};
pub use equivalence::{Report, check_case, engine_equivalence};
pub use event::event;
pub use generate_check::{GenerateConfig, check_generate_service};
pub use machine::Machine;
pub use policy::{Answer, Habits, Policy};
pub use resume::{LoopCut, Moment, ResumeConfig, ResumeReport, resume_equivalence};
pub use run::{CallPlace, Finished, run};
pub use schedule::{FaultKind, GenerationFault, Noise, NoiseKind, Schedule, WHOLE, schedule};
pub use script::{Script, script};
pub use search::{CheckError, Counterexample};
pub use tool_check::{ToolConfig, check_tool_service};
pub use total::check_total;
pub use violation::{Property, Violation};
pub use vocabulary::{Phrase, PhraseKind, Vocabulary};
pub use world::World;

/// The examples of `docs/verify.md`, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/verify.md")]
#[expect(dead_code, reason = "only its documentation is read")]
struct Documented;
