//! One server, as the pool sees it.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;
use respool_core::{Fault, GenerateRequest, PolicyVersion};
use respool_stack::GenerateStream;
use tokio_util::sync::CancellationToken;

use crate::{ControlFuture, WeightSync, WireIds};

/// A generation that is about to be sent to one server.
#[derive(Clone, Debug)]
pub struct ServerCall {
    /// What to generate.
    pub request: GenerateRequest,
    /// Cancelled when the generation is to be aborted.
    pub abort: CancellationToken,
    /// The version in force, noted before sending: the label of tokens of which the server says
    /// nothing, and of labels that are no number.
    pub version: PolicyVersion,
    /// Names each send.
    pub ids: Arc<WireIds>,
}

/// Which control calls a server was found to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Controls {
    /// Pauses that abort what runs.
    pub pause_abort: bool,
    /// Pauses that hold what runs.
    pub pause_keep: bool,
    /// Labels of the weights.
    pub set_version: bool,
    /// New weights from a folder.
    pub update_from_disk: bool,
    /// Emptying the prefix cache.
    pub flush_cache: bool,
}

/// How busy a server says it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Generations that run.
    pub running: u64,
    /// Generations that wait.
    pub waiting: u64,
}

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelInfo {
    /// The name under which it serves the model.
    pub name: Option<String>,
    /// The most tokens of prompt and answer.
    pub context_length: Option<u64>,
    /// The engine's version.
    pub engine_version: Option<String>,
    /// The label of the weights, as it is.
    pub weight_label: Option<String>,
}

/// One LLM server.
///
/// The class of a control call's error says what is known: [`Terminal`](respool_core::Class) is a
/// refusal (nothing happened, or the server has no such call, and the message says how to enable
/// it); any other class is an unknown outcome, which whoever called compensates.
pub trait LlmServer: Send + Sync + fmt::Debug {
    /// Its name, unique in a pool: for a server over HTTP its base URL.
    fn name(&self) -> &str;

    /// Sends one request, once. The stream ends with `Ended(Abort)` however an abort through
    /// `call.abort` shows itself, and where the engine says that it aborted the request without
    /// having been asked through `call.abort`: whether somebody else had asked, the pool knows.
    /// Every other end without a finish is a fault with its class.
    fn generate(&self, call: ServerCall) -> BoxFuture<'static, Result<GenerateStream, Fault>>;

    /// Which control calls it takes, as far as known.
    fn controls(&self) -> Controls;

    /// Whether it is well enough to take requests. A refusal says that it is there, and nothing more.
    fn probe(&self) -> ControlFuture<'_, ()>;

    /// Stops sampling: `Abort` ends what runs, `Keep` holds it. `Drain` is the pool's: a server that
    /// is asked for it holds what comes, as with `Keep`.
    fn pause(&self, mode: WeightSync) -> ControlFuture<'_, ()>;

    /// Ends a pause; without one, nothing happens.
    fn continue_generation(&self) -> ControlFuture<'_, ()>;

    /// Ends one request, by the id under which it was sent. A success says that the server was told,
    /// not that there was such a request: engines do not say.
    fn abort<'a>(&'a self, id: &'a str) -> ControlFuture<'a, ()>;

    /// Ends everything that runs or waits, without a pause.
    fn abort_all(&self) -> ControlFuture<'_, ()>;

    /// Labels the weights. Never aborts what runs.
    fn set_version(&self, version: PolicyVersion) -> ControlFuture<'_, ()>;

    /// The label of the weights, as it is: a version's decimal text, `default`, or anything.
    fn weight_label(&self) -> ControlFuture<'_, String>;

    /// Loads weights from a folder that the server can read, and labels them.
    fn update_from_disk<'a>(&'a self, model_path: &'a str, version: PolicyVersion) -> ControlFuture<'a, ()>;

    /// Empties the prefix cache.
    fn flush_cache(&self) -> ControlFuture<'_, ()>;

    /// How busy it is.
    fn load(&self) -> ControlFuture<'_, Load>;

    /// What it says of itself; what it does not say is `None`.
    fn model_info(&self) -> ControlFuture<'_, ModelInfo>;
}
