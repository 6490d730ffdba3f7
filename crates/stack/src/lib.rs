//! The tower vocabulary of Respool: what each service takes and gives, and the layers around them.
//!
//! Services are boxed at crate boundaries through the small closed set of aliases here; generics
//! stay inside a file. No rollout's state lives in a layer.

mod service;

pub use service::{GenerateCall, GenerateService, GenerateStream, InteractService, SessionService, ToolService};
