//! What a tool is: the traits that tool authors implement.

use std::fmt;

use futures_util::future::{BoxFuture, ready};
use respool_core::{Content, JsonText, RolloutId, ToolCall, ToolSpec};
use serde::de::DeserializeOwned;

/// A tool that rollouts may call. It is shared by all rollouts; what belongs to one rollout
/// lives in that rollout's [`ToolSession`].
pub trait Tool: Send + Sync {
    /// Name, schema, and what running again and losing the session mean.
    fn spec(&self) -> &ToolSpec;

    /// A session that holds nothing yet: cheap, and cannot fail. Everything that is to be
    /// acquired is acquired by [`ToolSession::create`].
    fn session(&self, name: SessionName<'_>) -> Box<dyn ToolSession>;
}

/// What a tool keeps for one rollout between its calls.
///
/// The toolbox calls `create` at most once, then `execute` any number of times, and `release`
/// exactly once if and only if `create` was called: also where `create` failed, panicked, timed
/// out or was dropped half-way. So a tool that stores what it acquires in the session *as soon as
/// it has it*, and lets go of that in `release`, leaks nothing on any way out.
pub trait ToolSession: Send + Sync {
    /// Acquires what the session needs. Counts under the first call's timeout; at the timeout, or
    /// when the call is cancelled, the future is dropped.
    fn create<'a>(&'a self, request: CreateRequest<'a>) -> BoxFuture<'a, Result<(), ToolError>> {
        let _ = request;
        Box::pin(ready(Ok(())))
    }

    /// Runs one call. Calls of one turn run at the same time on one session. The future must not
    /// block the thread (use `tokio::task::spawn_blocking`), else no timeout can reach it; it is
    /// dropped at the timeout, and when the call is cancelled.
    fn execute<'a>(&'a self, request: ExecuteRequest<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;

    /// Lets go of everything. No call runs any more.
    ///
    /// # Errors
    /// If something may have been left behind; it is reported and not tried again.
    fn release(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(ready(Ok(())))
    }
}

/// Names a session: the same in every process that resumes the rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionName<'a> {
    /// The rollout.
    pub rollout: RolloutId,
    /// The tool.
    pub tool: &'a str,
}

impl fmt::Display for SessionName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.rollout, self.tool)
    }
}

/// How a session is to be created.
#[derive(Clone, Copy, Debug)]
pub struct CreateRequest<'a> {
    /// The session's name.
    pub name: SessionName<'a>,
    /// The task's arguments, a JSON object.
    pub kwargs: &'a JsonText,
    /// Whether the rollout had this session before, elsewhere: a `reattach` tool is to find it by
    /// its name. Always false for tools that declare something else.
    pub reattach: bool,
}

/// One call.
#[derive(Clone, Copy, Debug)]
pub struct ExecuteRequest<'a> {
    /// The rollout.
    pub rollout: RolloutId,
    /// The call; its arguments are a JSON object, as the model wrote it.
    pub call: &'a ToolCall,
    /// Whether this call ran before and runs again to rebuild a lost session. Its result is
    /// thrown away.
    pub rebuilding: bool,
}

impl ExecuteRequest<'_> {
    /// The same whenever this call runs again, and different for every other call: the call's id
    /// is unique within its rollout and made from its position.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        format!("{}/{}", self.rollout, self.call.id)
    }

    /// Reads the arguments.
    ///
    /// # Errors
    /// [`ToolError::BadArguments`] that says what was found where, for the policy to read.
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        serde_json::from_str(self.call.arguments.as_str())
            .map_err(|error| ToolError::BadArguments(error.to_string()))
    }
}

/// What a call gives.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// What the policy is shown.
    pub content: Content,
    /// A reward for the call; finite.
    pub reward: Option<f64>,
    /// What the tool measured, by name; finite.
    pub metrics: Vec<(String, f64)>,
}

impl ToolOutput {
    /// An output without reward or metrics.
    #[must_use]
    pub fn new(content: impl Into<Content>) -> Self {
        Self { content: content.into(), reward: None, metrics: Vec::new() }
    }

    /// With that reward.
    #[must_use]
    pub fn with_reward(mut self, reward: f64) -> Self {
        self.reward = Some(reward);
        self
    }

    /// With one more metric.
    #[must_use]
    pub fn with_metric(mut self, name: impl Into<String>, value: f64) -> Self {
        self.metrics.push((name.into(), value));
        self
    }

    /// The first number in it that is not finite, by name.
    pub(crate) fn not_finite(&self) -> Option<(&str, f64)> {
        let reward = self.reward.iter().map(|reward| ("the reward", *reward));
        let metrics = self.metrics.iter().map(|(name, value)| (name.as_str(), *value));
        reward.chain(metrics).find(|(_, value)| !value.is_finite())
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

/// Why a call has no output. The text is shown to the policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The policy's fault: the arguments are not what the tool takes.
    #[error("bad arguments: {0}")]
    BadArguments(String),
    /// The tool ran and could not do it: a *wrong call* too (R6).
    #[error("failed: {0}")]
    Failed(String),
    /// Nobody's fault but ours: transport, sandbox, a service that is down. The rollout is
    /// flagged, and says nothing about the policy.
    #[error("infrastructure error: {0}")]
    Infrastructure(String),
}

impl ToolError {
    /// [`ToolError::Failed`] with that reason.
    #[must_use]
    pub fn failed(reason: impl fmt::Display) -> Self {
        Self::Failed(reason.to_string())
    }

    /// [`ToolError::Infrastructure`] with that reason.
    #[must_use]
    pub fn infrastructure(reason: impl fmt::Display) -> Self {
        Self::Infrastructure(reason.to_string())
    }
}
