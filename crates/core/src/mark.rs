//! What happened to a rollout beside its tokens: cuts, resumes, fail-overs, new versions.

use crate::PolicyVersion;

/// Something that happened at a place of the transcript. Marks never change the outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Transcript length (tokens of prompt and response) when it happened.
    pub at: u32,
    /// Index of the assistant turn it happened in.
    pub turn: u32,
    /// What happened.
    pub kind: MarkKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// The rollout was interrupted.
    Cut,
    /// It went on.
    Resumed,
    /// A generation attempt ended before its turn; the rest was asked again.
    FailedOver {
        /// Why.
        reason: String,
    },
    /// The token at this place is of a newer (or older) policy than the sampled one before, or the
    /// first one; it says what [`Transcript::version_changes`](crate::Transcript::version_changes) says.
    Version(PolicyVersion),
    /// The turn that ends here has a call that only the format's lenient option could read.
    LenientCall,
}
