//! Which version sampled the tokens of a stream that was open while the weights changed.

use respool_core::{GenerateDelta, PolicyVersion};

use super::shared::Shared;

/// Follows the weights for one stream.
///
/// Tokens that came before the pause have the old version, those after the continue the new one, but
/// for the first ones: they may have been on their way when the pause began. They keep the old label,
/// as do those that came in between. A stream that was aborted before the change has none of the new
/// weights, and keeps the old label for all that is still to be read. Where tokens came around a
/// change, the stream says that some labels are a guess.
#[derive(Debug)]
pub(crate) struct Labels {
    /// The version noted before sending; under any other label the server itself spoke.
    noted: PolicyVersion,
    /// What tokens under the noted version are now.
    label: PolicyVersion,
    /// The pool's reckoning when `label` was last seen to be right.
    epoch: u64,
    /// How often the pool had aborted everything when the request was sent.
    aborts: u64,
    /// Whether tokens came during the pause that stands.
    came_between: bool,
    /// Whether the server labels tokens by itself.
    is_told: bool,
    is_uncertain: bool,
}

impl Labels {
    pub(crate) const fn new(noted: PolicyVersion, epoch: u64, aborts: u64) -> Self {
        Self { noted, label: noted, epoch, aborts, came_between: false, is_told: false, is_uncertain: false }
    }

    /// Labels tokens that arrived now.
    pub(crate) fn apply(&mut self, shared: &Shared, delta: &mut GenerateDelta) {
        let before = self.label;
        self.is_told |= delta.version != self.noted;
        if shared.epoch() != self.epoch {
            self.catch_up(shared, !self.is_told && !delta.tokens.is_empty());
        }
        if !self.is_told {
            delta.version = before;
        }
    }

    /// Whether some labels are a guess, at the stream's end.
    pub(crate) fn are_uncertain(&mut self, shared: &Shared) -> bool {
        if shared.epoch() != self.epoch {
            self.catch_up(shared, false);
        }
        self.is_uncertain
    }

    /// Learns of a change; `has_tokens` is whether it comes with tokens of which the server says nothing.
    fn catch_up(&mut self, shared: &Shared, has_tokens: bool) {
        let era = shared.era();
        let changed = era.version != self.label;
        if era.is_paused {
            self.came_between |= has_tokens;
            // Should the stream end before the continue, this is all that can be known.
            self.is_uncertain |= changed && self.came_between;
            return;
        }
        if era.aborts != self.aborts {
            self.is_uncertain |= changed && has_tokens;
            return;
        }
        // Without a pause the weights changed at some moment that nobody noted.
        let unnoted = era.changed_unpaused > self.epoch;
        self.is_uncertain |= changed && (has_tokens || self.came_between || unnoted);
        (self.label, self.epoch, self.came_between) = (era.version, era.epoch, false);
    }
}
