//! The area `state_machine`: one rollout, or a few, on a scripted server.

mod actions;
mod expected;
mod input;
mod many;
mod run;
mod words;

use super::{Case, Checked};
use crate::item;
use input::Input;

/// Checks one case.
pub(super) fn check(case: &Case) -> Checked {
    let input: Input = item::parse(case.input.get())?;
    match input.trajectories {
        Some(count) => many::check(count, &input.actions, &case.expected),
        None => {
            let facts = run::run(&input)?;
            expected::check(&facts, &case.expected)
        }
    }
}
