//! HTTP servers that answer with bytes that a test wrote down, and what they were asked.

mod answer;
mod ask;
mod server;

pub(crate) use answer::{Answer, Ending};
pub(crate) use ask::{AbortAt, Collected, ask, client, collect, finish_word, request, wire_ids};
pub(crate) use server::{Received, WireServer, refused};
