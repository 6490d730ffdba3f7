//! Which version sampled the tokens of a stream that was open while the weights changed.

use respool_core::{GenerateDelta, PolicyVersion};

use super::shared::Shared;

/// Follows the weights for one stream.
///
/// Tokens that came before the pause have the old version, those after the continue the new one.
/// What came in between, or around a change without a pause, cannot be told: it keeps the old
/// label, and the stream says that some labels are a guess.
#[derive(Debug)]
pub(crate) struct Labels {
    /// The version noted before sending; under any other label the server itself spoke.
    noted: PolicyVersion,
    /// What tokens under the noted version are now.
    label: PolicyVersion,
    /// The pool's reckoning when `label` was last seen to be right.
    epoch: u64,
    /// Whether tokens came during the pause that stands.
    came_between: bool,
    is_uncertain: bool,
}

impl Labels {
    pub(crate) const fn new(noted: PolicyVersion, epoch: u64) -> Self {
        Self { noted, label: noted, epoch, came_between: false, is_uncertain: false }
    }

    /// Labels tokens that arrived now.
    pub(crate) fn apply(&mut self, shared: &Shared, delta: &mut GenerateDelta) {
        if shared.epoch() != self.epoch {
            self.catch_up(shared, !delta.tokens.is_empty());
        }
        if delta.version == self.noted {
            delta.version = self.label;
        }
    }

    /// Whether some labels are a guess, at the stream's end.
    pub(crate) fn are_uncertain(&mut self, shared: &Shared) -> bool {
        if shared.epoch() != self.epoch {
            self.catch_up(shared, false);
        }
        self.is_uncertain
    }

    fn catch_up(&mut self, shared: &Shared, has_tokens: bool) {
        let era = shared.era();
        let changed = era.version != self.label;
        if era.is_paused {
            self.came_between |= has_tokens;
            // Should the stream end before the continue, this is all that can be known.
            self.is_uncertain |= changed && self.came_between;
            return;
        }
        // Without a pause the weights changed at some moment that nobody noted.
        let unnoted = era.changed_unpaused > self.epoch;
        self.is_uncertain |= changed && (self.came_between || unnoted);
        (self.label, self.epoch, self.came_between) = (era.version, era.epoch, false);
    }
}
