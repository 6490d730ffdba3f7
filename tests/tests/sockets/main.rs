//! Rollouts over real sockets: mock servers of both engines behind the pool, faults, deaths, weight
//! syncs, interrupts and crashes, against the undisturbed run.
//!
//! `RESPOOL_SEED` repeats a run that failed (as far as real time allows), `RESPOOL_ROLLOUTS` makes it
//! longer, `PROPTEST_CASES` adds rounds with other seeds.

#![expect(clippy::unwrap_used, reason = "a double that cannot do its part is a failed test")]
#![expect(clippy::print_stdout, reason = "what a run met is shown when it fails, and with --nocapture")]

mod account;
mod conductor;
mod cut;
mod fleet;
mod labels;
mod ledger;
mod property;
mod run;
mod single;
mod world;
