use super::*;
use crate::{AgentData, Finish, Message, PolicyVersion, Role, RolloutId, RolloutSpec};

/// A trajectory of one prompt token and sampled tokens with these log-probabilities.
fn trajectory(logprobs: &[Option<f32>]) -> Trajectory {
    let spec = RolloutSpec::new(RolloutId(1), "task", vec![Message::new(Role::User, "hi")]);
    let mut data = AgentData::new(spec.into());
    let logprobs: Vec<Logprob> = logprobs.iter().map(|value| Logprob::from(*value)).collect();
    let tokens: Vec<u32> = (0..).take(logprobs.len()).collect();
    data.transcript.push_sampled(PolicyVersion(0), &tokens, &logprobs);
    Trajectory { data, finish: Finish::Answered }
}

#[track_caller]
fn check(a: &[Option<f32>], b: &[Option<f32>], tolerance: f32, equal: bool) {
    let result = outcome_within(&trajectory(a), &trajectory(b), tolerance);
    assert_eq!(result.is_ok(), equal, "{a:?} and {b:?} within {tolerance}: {result:?}");
}

#[test]
fn log_probabilities_may_differ_by_the_tolerance() {
    check(&[Some(-1.0)], &[Some(-1.00005)], 1e-4, true);
    check(&[Some(-1.0)], &[Some(-1.001)], 1e-4, false);
    check(&[None], &[None], 1e-4, true);
    check(&[None], &[Some(-1.0)], 1e-4, false);
    check(&[Some(-1.0)], &[Some(-1.0), Some(-2.0)], 1e-4, false);
}

#[test]
fn outcomes_are_compared_by_bits() {
    assert!(outcome_eq(&trajectory(&[Some(-1.0), None]), &trajectory(&[Some(-1.0), None])).is_ok());
    let difference = outcome_eq(&trajectory(&[Some(-1.0)]), &trajectory(&[Some(-1.000_000_1)]));
    let difference = difference.expect_err("they differ in the last bit");
    assert_eq!((difference.field, difference.at), ("response_logprobs", Some(0)));
    assert!(outcome_eq(&trajectory(&[Some(0.0)]), &trajectory(&[Some(-0.0)])).is_err());
}
