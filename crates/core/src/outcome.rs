//! Resume equivalence, as a function: what two runs of one rollout must agree on.

use std::fmt::Debug;

use crate::{Logprob, Message, Trajectory};

/// The first thing two trajectories disagree on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} differs{}: {left} against {right}", at.map(|at| format!(" at {at}")).unwrap_or_default())]
pub struct Difference {
    /// Which part.
    pub field: &'static str,
    /// Index of the first differing item, for lists.
    pub at: Option<usize>,
    /// What the first has there.
    pub left: String,
    /// What the second has there.
    pub right: String,
}

impl Difference {
    /// Whether two values are equal.
    ///
    /// # Errors
    /// Both, if they are not.
    pub fn of_values<T: PartialEq + Debug + ?Sized>(field: &'static str, a: &T, b: &T) -> Result<(), Self> {
        if a == b {
            return Ok(());
        }
        Err(Self { field, at: None, left: format!("{a:?}"), right: format!("{b:?}") })
    }

    /// Whether two lists are equal.
    ///
    /// # Errors
    /// The first items that are not; `nothing` behind the end of the shorter list.
    pub fn of_lists<T: PartialEq + Debug>(field: &'static str, a: &[T], b: &[T]) -> Result<(), Self> {
        Self::of_lists_by(field, a, b, T::eq)
    }

    /// As [`Self::of_lists`], with an equality of its own.
    fn of_lists_by<T: Debug>(
        field: &'static str,
        a: &[T],
        b: &[T],
        same: impl Fn(&T, &T) -> bool,
    ) -> Result<(), Self> {
        let at = a.iter().zip(b).take_while(|(x, y)| same(x, y)).count();
        if at == a.len() && at == b.len() {
            return Ok(());
        }
        let show = |item: Option<&T>| item.map_or_else(|| "nothing".to_owned(), |item| format!("{item:?}"));
        Err(Self { field, at: Some(at), left: show(a.get(at)), right: show(b.get(at)) })
    }
}

/// Whether two trajectories are the same outcome: tokens, mask, log-probabilities by bits,
/// messages, calls, rewards, turn counts, finish, and the set of effects without attempts.
///
/// Policy versions, marks, attempts, wasted tokens and rejected events may differ.
///
/// # Errors
/// The first difference found.
pub fn outcome_eq(a: &Trajectory, b: &Trajectory) -> Result<(), Difference> {
    outcome_by(a, b, Logprob::eq)
}

/// As [`outcome_eq`], with log-probabilities that may differ by so much; a missing one is equal only
/// to a missing one. For real engines, which compute a continued turn in another order.
///
/// # Errors
/// The first difference found.
pub fn outcome_within(a: &Trajectory, b: &Trajectory, tolerance: f32) -> Result<(), Difference> {
    outcome_by(a, b, |x, y| match (x.get(), y.get()) {
        (Some(x), Some(y)) => (x - y).abs() <= tolerance,
        (x, y) => x.is_none() && y.is_none(),
    })
}

fn outcome_by(
    a: &Trajectory,
    b: &Trajectory,
    same: impl Fn(&Logprob, &Logprob) -> bool,
) -> Result<(), Difference> {
    let same = |x: &Option<Logprob>, y: &Option<Logprob>| match (x, y) {
        (Some(x), Some(y)) => same(x, y),
        (x, y) => x.is_none() && y.is_none(),
    };
    let (da, db) = (&a.data, &b.data);
    Difference::of_lists("prompt_ids", da.transcript.prompt_ids(), db.transcript.prompt_ids())?;
    Difference::of_lists("response_ids", da.transcript.response_ids(), db.transcript.response_ids())?;
    Difference::of_lists("response_mask", &da.transcript.response_mask(), &db.transcript.response_mask())?;
    Difference::of_lists_by("response_logprobs", &logprobs(a), &logprobs(b), same)?;
    Difference::of_lists::<Message>("messages", &da.messages, &db.messages)?;
    Difference::of_lists("calls", &calls(a), &calls(b))?;
    Difference::of_lists("tool_rewards", &bits(&da.tool_rewards), &bits(&db.tool_rewards))?;
    Difference::of_lists("turn_scores", &bits(&da.turn_scores), &bits(&db.turn_scores))?;
    Difference::of_values(
        "reward_score",
        &da.reward_score.map(f64::to_bits),
        &db.reward_score.map(f64::to_bits),
    )?;
    Difference::of_values("assistant_turns", &da.assistant_turns, &db.assistant_turns)?;
    Difference::of_values("user_turns", &da.user_turns, &db.user_turns)?;
    Difference::of_values("finish", &a.finish, &b.finish)?;
    Difference::of_lists("effects", &da.effects, &db.effects)?;
    Difference::of_values("user_data", da.user_data(), db.user_data())
}

fn logprobs(trajectory: &Trajectory) -> Vec<Option<Logprob>> {
    trajectory.data.transcript.response_logprobs()
}

/// Calls without what they measured: metrics may be timings.
fn calls(trajectory: &Trajectory) -> Vec<(u32, u32, &str, crate::CallOutcome, bool)> {
    trajectory
        .data
        .calls
        .iter()
        .map(|call| (call.turn, call.slot, call.name.as_str(), call.outcome, call.ran))
        .collect()
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[cfg(test)]
mod tests;
