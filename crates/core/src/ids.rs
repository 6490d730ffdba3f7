//! Names of rollouts, effects and policies.

use std::fmt;

/// A token id of the model's vocabulary.
pub type Token = u32;

/// Names one rollout. Unique within a run; a resumed rollout keeps its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RolloutId(pub u128);

impl fmt::Display for RolloutId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Which weights sampled a token. An engine's label is the number's decimal text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyVersion(pub u64);

impl fmt::Display for PolicyVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names one thing that the outside world does for a rollout, by its position: never random.
///
/// `attempt` fences late replies: an answer to an older attempt is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId {
    /// Index of the assistant turn that it belongs to, from 0.
    pub turn: u32,
    /// Index of the call within the turn, from 0; 0 for what a turn has one of.
    pub slot: u32,
    /// How many attempts at it were given up before, from 0.
    pub attempt: u32,
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { turn, slot, attempt } = self;
        write!(f, "turn {turn} slot {slot} attempt {attempt}")
    }
}

/// Identifies a dialect, a tool set or a loop, so that a snapshot is not resumed with another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl fmt::Display for Fingerprint {
    /// The first eight bytes in hex: enough to tell two apart in a message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(8).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
