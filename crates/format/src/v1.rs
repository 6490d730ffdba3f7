//! Schema version 1: mirrors of the core values, in the order in which they are written.
//!
//! Nothing here may be reordered, removed or changed in type within major version 1: fields are
//! told apart by place, variants by index. See `docs/snapshot.md` for what may be added, and how.

#[macro_use]
mod mirror;

mod data;
mod event;
mod limits;
mod message;
mod seam;
mod spec;
mod state;
mod transcript;

pub(crate) use data::AgentData;
pub(crate) use event::Event;
pub(crate) use mirror::Mirror;
pub(crate) use seam::Fingerprint;
pub(crate) use state::AgentState;
