//! Scenarios where the reference is wrong and no other scenario is right: the rules give the value.

use respool_core::{AgentLoopOutput, Finish};

use super::Way;
use super::compare::same;
use super::input::Expected;
use super::run::Facts;
use crate::report::Verdict;

/// What is right. `None`: not given.
#[derive(Debug)]
pub(super) struct Right {
    name: &'static str,
    /// Number of response tokens in each of the two ways.
    response_len: (usize, usize),
    num_turns: Option<u32>,
    requests: Option<usize>,
    tool_rewards: Option<&'static [f64]>,
    turn_scores: Option<&'static [f64]>,
    finish: Option<Finish>,
    /// How many sampled tokens have no log-probability.
    logprobs_missing: usize,
}

const NOTHING_SAID: Right = Right {
    name: "",
    response_len: (0, 0),
    num_turns: None,
    requests: None,
    tool_rewards: None,
    turn_scores: None,
    finish: None,
    logprobs_missing: 0,
};

const RIGHT: [Right; 7] = [
    // R7: a limit of 1 in the middle keeps nothing at either end.
    Right { name: "13_truncate_middle_limit_1", response_len: (44, 45), ..NOTHING_SAID },
    // R8: the reply would reach the limit: no second request, the score is kept.
    Right {
        name: "20_interaction_past_response_length",
        response_len: (8, 8),
        num_turns: Some(2),
        requests: Some(1),
        turn_scores: Some(&[0.0]),
        ..NOTHING_SAID
    },
    // R11: a turn without a token.
    Right { name: "33_empty_reply", finish: Some(Finish::EmptyReply), ..NOTHING_SAID },
    Right { name: "36_base_loop_empty_reply", finish: Some(Finish::EmptyReply), ..NOTHING_SAID },
    // P8: one value a token, or an explicit missing: the 36 tokens of the first turn have none.
    Right { name: "34_no_logprobs_first_turn", response_len: (64, 65), logprobs_missing: 36, ..NOTHING_SAID },
    // The call that straddles the cut is found.
    Right { name: "41_", response_len: (63, 64), ..NOTHING_SAID },
    // Reasoning is not searched for calls; the real call is found.
    Right {
        name: "42_think_then_call",
        response_len: (70, 71),
        num_turns: Some(4),
        requests: Some(2),
        tool_rewards: Some(&[0.25]),
        ..NOTHING_SAID
    },
];

/// The rule for that scenario. The number at the front names it; what follows may be put otherwise.
pub(super) fn by_rule(name: &str) -> Option<&'static Right> {
    let number = |name: &str| name.split('_').next().map(str::to_owned);
    RIGHT.iter().find(|right| number(right.name) == number(name))
}

impl Right {
    /// Compares with the rule, and says on standard error that it was the rule.
    ///
    /// # Errors
    /// The first difference.
    pub(super) fn check(&self, facts: &Facts, expected: &Expected, way: Way) -> Result<(), Verdict> {
        let data = facts.output.data();
        let transcript = &data.transcript;
        same("prompt_ids", transcript.prompt_ids(), &expected.output.prompt_ids)?;
        let len = match way {
            Way::Reference => self.response_len.0,
            Way::Template => self.response_len.1,
        };
        same("number of response_ids", &transcript.response_ids().len(), &len)?;
        same("missing log-probabilities", &transcript.logprobs_missing(), &self.logprobs_missing)?;
        if let Some(num_turns) = self.num_turns {
            same("num_turns", &data.num_turns(), &num_turns)?;
        }
        if let Some(requests) = self.requests {
            same("number of requests", &facts.requests.len(), &requests)?;
        }
        if let Some(rewards) = self.tool_rewards {
            same("tool_rewards", data.tool_rewards.as_slice(), rewards)?;
        }
        if let Some(scores) = self.turn_scores {
            same("turn_scores", data.turn_scores.as_slice(), scores)?;
        }
        match (&self.finish, &facts.output) {
            (Some(finish), AgentLoopOutput::Completed(trajectory)) => {
                same("finish", &trajectory.finish, finish)
            }
            (Some(finish), output) => Err(Verdict::Fail(format!("finish: {output:?}, expected {finish:?}"))),
            (None, _) => Ok(()),
        }
    }
}
