//! The binary, from outside.

#![expect(clippy::unwrap_used, reason = "a process that does not do as told is a failed test")]

mod bad_input;
mod dialect;
mod extremes;
mod formats;
mod inspect;
mod interrupt;
mod respool;
mod run;
mod served;
