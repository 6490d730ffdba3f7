//! What a tool is, as the policy and the engine see it.

use crate::JsonText;

/// What running a call again means, when an interrupt left it unfinished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Replay {
    /// It has no effects: just run it.
    Pure,
    /// Run it with the same idempotency key.
    #[default]
    Keyed,
    /// Never run it twice: the model is told that the call was interrupted. It is recorded as
    /// started before it is launched.
    Once,
}

/// What happens when a resumed rollout does not find its tool session (R14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionPolicy {
    /// Create a new one: nothing is kept between calls.
    #[default]
    Stateless,
    /// The tool finds it by its name.
    Reattach,
    /// Create a new one and run the recorded calls again (only if all are pure or keyed).
    Rebuild,
    /// The next call gets an infrastructure error.
    Lost,
}

/// A tool that a rollout may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    /// Its name, as in `function.name` of the schema.
    pub name: String,
    /// The schema that templates see: `{"type": "function", "function": {…}}`, key order kept.
    pub schema: JsonText,
    /// What running a call again means.
    pub replay: Replay,
    /// What a lost session means.
    pub session: SessionPolicy,
}
