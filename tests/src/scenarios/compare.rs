//! Comparing a run with the reference's output.

use std::fmt::Debug;

use respool_core::{CallOutcome, Logprob, Token};

use super::input::{Expected, Output};
use super::run::Facts;
use crate::report::Verdict;

/// Everything that both have. Where a call went wrong, the texts are each side's own: then only the
/// sampled tokens, and how many requests there were.
///
/// # Errors
/// The first difference.
pub(super) fn all(facts: &Facts, expected: &Expected) -> Result<(), Verdict> {
    let data = facts.output.data();
    let output = &expected.output;
    same("prompt_ids", data.transcript.prompt_ids(), &output.prompt_ids)?;
    same("num_turns", &data.num_turns(), &output.num_turns)?;
    same("tool_rewards", &data.tool_rewards, &output.extra_fields.tool_rewards)?;
    same("turn_scores", &data.turn_scores, &output.extra_fields.turn_scores)?;
    same("number of requests", &facts.requests.len(), &expected.requests.len())?;
    if data.calls_with(CallOutcome::Wrong) > 0 {
        return same(
            "sampled tokens",
            &sampled_of(facts),
            &sampled(&output.response_ids, &output.response_mask),
        );
    }
    tokens(facts, expected)?;
    if let Some(logprobs) = &output.response_logprobs {
        same("response_logprobs", &logprob_bits(facts), &expected_bits(output, logprobs))?;
    }
    let requests: Vec<&Vec<Token>> = facts.requests.iter().map(|request| &request.prompt_ids).collect();
    same("requests", &requests, &expected.requests.iter().collect::<Vec<_>>())
}

/// Prompt, response, mask and number of turns.
///
/// # Errors
/// The first difference.
pub(super) fn tokens(facts: &Facts, expected: &Expected) -> Result<(), Verdict> {
    let data = facts.output.data();
    let output = &expected.output;
    same("prompt_ids", data.transcript.prompt_ids(), &output.prompt_ids)?;
    same("response_ids", data.transcript.response_ids(), &output.response_ids)?;
    same("response_mask", &data.transcript.response_mask(), &output.response_mask)?;
    same("num_turns", &data.num_turns(), &output.num_turns)
}

/// Fails with both values where they differ.
///
/// # Errors
/// If they do.
pub(super) fn same<T: PartialEq + Debug + ?Sized>(
    what: &str,
    found: &T,
    expected: &T,
) -> Result<(), Verdict> {
    if found == expected {
        return Ok(());
    }
    Err(Verdict::Fail(format!("{what}: {found:?}, expected {expected:?}")))
}

fn sampled(ids: &[Token], mask: &[u8]) -> Vec<Token> {
    ids.iter().zip(mask).filter(|(_, mask)| **mask == 1).map(|(id, _)| *id).collect()
}

fn sampled_of(facts: &Facts) -> Vec<Token> {
    let transcript = &facts.output.data().transcript;
    sampled(transcript.response_ids(), &transcript.response_mask())
}

fn logprob_bits(facts: &Facts) -> Vec<Option<Logprob>> {
    facts.output.data().transcript.response_logprobs()
}

/// 0.0 at mask 0 is our nothing.
fn expected_bits(output: &Output, logprobs: &[f32]) -> Vec<Option<Logprob>> {
    let values = logprobs.iter().zip(&output.response_mask);
    values.map(|(value, mask)| (*mask == 1).then(|| Logprob::new(*value))).collect()
}
