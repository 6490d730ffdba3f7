//! The trait of everything that manages LLM servers.

use std::fmt;

use futures_util::future::BoxFuture;
use respool_core::{Fault, PolicyVersion};
use respool_stack::GenerateService;

/// The outcome of a control call. An error means that the outcome is not known for every server:
/// whoever called compensates (an unanswered pause is followed by a continue).
pub type ControlFuture<'a, T> = BoxFuture<'a, Result<T, Fault>>;

/// What happens to running generations while the weights are replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WeightSync {
    /// They end with `Ended(Abort)` and are asked for again afterwards.
    #[default]
    Abort,
    /// They are held, and go on with the new weights.
    Keep,
    /// They end by themselves first; the pause waits for them.
    Drain,
}

/// How the servers are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Servers that are known.
    pub servers: usize,
    /// Those of them that take requests (a paused one does: requests wait).
    pub healthy: usize,
    /// Generations that are running or held.
    pub running: usize,
    /// Whether generation is paused.
    pub paused: bool,
}

/// One or many LLM servers behind one service.
///
/// A weight sync is [`Self::pause`], the trainer's update, [`Self::set_version`],
/// [`Self::continue_generation`]. Requests sent during a pause wait, cancellably.
pub trait ServerManager: Send + Sync + fmt::Debug {
    /// The service that generates. It sends a request once; a stream that breaks ends with a
    /// fault and its class.
    fn generate(&self) -> GenerateService;

    /// The version that is in force for new requests.
    fn version(&self) -> PolicyVersion;

    /// The new weights are there: tokens sampled from now on are this version's.
    fn set_version(&self, version: PolicyVersion) -> ControlFuture<'_, ()>;

    /// Stops sampling, in the way that `mode` says. Done when no token of the old weights will be
    /// sampled any more.
    fn pause(&self, mode: WeightSync) -> ControlFuture<'_, ()>;

    /// Ends a pause; without one, nothing happens.
    fn continue_generation(&self) -> ControlFuture<'_, ()>;

    /// Ends everything that runs or waits with `Ended(Abort)`, without a pause.
    fn abort_all(&self) -> ControlFuture<'_, ()>;

    /// How the servers are.
    fn health(&self) -> ControlFuture<'_, Health>;
}
