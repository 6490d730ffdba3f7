//! The driver on services that are late, broken, deaf or slow; time is paused.

#![expect(clippy::unwrap_used, reason = "a double that cannot do its part is a failed test")]

mod calls;
mod generation;
mod journal;
mod world;
