//! The driver on services that are late, broken, deaf or slow; time is paused.

mod calls;
mod generation;
mod journal;
mod world;
