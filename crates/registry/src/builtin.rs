//! The reference's four loops are one engine with two switches.

use std::sync::Arc;

use respool_core::{LoopKind, RolloutSpec};
use respool_driver::{RolloutRequest, RolloutService, Start};
use tower::ServiceExt;

/// What a built-in name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoopProfile {
    /// Whether calls are parsed and an interaction may reply.
    kind: LoopKind,
    /// Whether an interrupt may cut a turn (R15). A loop that may still keeps the task's own
    /// `partial_rollout = false`.
    may_cut: bool,
}

pub(crate) const PROFILES: [(&str, LoopProfile); 4] = [
    ("async_partial_tool_agent", LoopProfile { kind: LoopKind::Tools, may_cut: true }),
    ("partial_single_turn_agent", LoopProfile { kind: LoopKind::SingleTurn, may_cut: true }),
    ("single_turn_agent", LoopProfile { kind: LoopKind::SingleTurn, may_cut: false }),
    ("tool_agent", LoopProfile { kind: LoopKind::Tools, may_cut: false }),
];

/// The loop of a task that names none.
#[must_use]
pub const fn default_loop(has_tools_or_interaction: bool) -> &'static str {
    if has_tools_or_interaction { "async_partial_tool_agent" } else { "partial_single_turn_agent" }
}

/// What kind of loop a built-in name is; loops that others register count as tool loops, so that
/// they are told of the tools.
#[must_use]
pub fn loop_kind(name: &str) -> LoopKind {
    let known = PROFILES.iter().find(|(known, _)| *known == name);
    known.map_or(LoopKind::Tools, |(_, profile)| profile.kind)
}

impl LoopProfile {
    fn apply(self, spec: &mut RolloutSpec) {
        spec.kind = self.kind;
        spec.options.partial_rollout &= self.may_cut;
    }
}

/// A new rollout gets the profile; one that is resumed has it already.
pub(crate) fn with_profile(service: RolloutService, profile: LoopProfile) -> RolloutService {
    let service = service.map_request(move |mut request: RolloutRequest| {
        if let Start::New(spec) = &mut request.start {
            profile.apply(Arc::make_mut(spec));
        }
        request
    });
    RolloutService::new(service)
}
