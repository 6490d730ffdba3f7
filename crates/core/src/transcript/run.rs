//! A stretch of tokens from one source.

use crate::PolicyVersion;

/// Where a run of tokens came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// Supplied by the environment: the prompt, tool results, user replies. Mask 0.
    Given,
    /// Sampled by the policy. Mask 1.
    Sampled {
        /// The weights that sampled them.
        version: PolicyVersion,
    },
}

/// A maximal stretch of tokens of one kind and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where the tokens came from.
    pub kind: RunKind,
    /// How many tokens; never 0.
    pub len: u32,
}

impl Run {
    /// Whether the policy sampled it.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        matches!(self.kind, RunKind::Sampled { .. })
    }

    /// The version that sampled it, or `None` if it was given.
    #[must_use]
    pub fn version(&self) -> Option<PolicyVersion> {
        match self.kind {
            RunKind::Given => None,
            RunKind::Sampled { version } => Some(version),
        }
    }
}
