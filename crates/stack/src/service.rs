//! The closed set of services, boxed.

use std::pin::Pin;

use futures_core::Stream;
use respool_core::{
    Fault, GenerateEvent, GenerateRequest, InteractReply, InteractRequest, SessionRequest, ToolRequest,
    ToolResult,
};
use tokio_util::sync::CancellationToken;
use tower::util::BoxCloneSyncService;

/// A running generation. It ends after [`GenerateEvent::Ended`] or an error; one that ends
/// without either is broken. Dropping it aborts the generation too, without waiting.
pub type GenerateStream = Pin<Box<dyn Stream<Item = Result<GenerateEvent, Fault>> + Send>>;

/// A generation request and the signal that aborts it.
///
/// After `abort` the server is told to stop; the stream goes on with what has arrived and ends
/// with `Ended(Abort)`, or with another end where the abort lost the race.
#[derive(Clone, Debug)]
pub struct GenerateCall {
    /// What to generate.
    pub request: GenerateRequest,
    /// Cancelled when the generation is to be aborted.
    pub abort: CancellationToken,
}

/// Generates an assistant turn, or the rest of one. The response comes when the request was
/// accepted; everything else comes through the stream.
pub type GenerateService = BoxCloneSyncService<GenerateCall, GenerateStream, Fault>;

/// Runs one tool call. Failures of tools are results; a [`Fault`] is one of the service itself.
/// Dropping the future cancels the call.
pub type ToolService = BoxCloneSyncService<ToolRequest, ToolResult, Fault>;

/// Keeps or releases the tool sessions of a rollout (R14).
pub type SessionService = BoxCloneSyncService<SessionRequest, (), Fault>;

/// Answers in the user's place.
pub type InteractService = BoxCloneSyncService<InteractRequest, InteractReply, Fault>;
