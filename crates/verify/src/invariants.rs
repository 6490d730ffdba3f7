//! What holds after every step, and for every record.

use std::collections::BTreeSet;

use respool_core::{AgentData, AgentState, GenerateRequest, MarkKind, RolloutSpec};
use respool_engine::{Engine, Wanted};

use crate::{Violation, run::CallPlace, violation::Property};

/// Checks a rollout between two steps. The limits are those of the task, not of the rollout's copy.
pub(crate) fn check(
    engine: &Engine,
    spec: &RolloutSpec,
    returned: &BTreeSet<CallPlace>,
) -> Result<(), Violation> {
    check_wanted(engine, returned)?;
    check_budgets(engine, spec)
}

fn check_wanted(engine: &Engine, returned: &BTreeSet<CallPlace>) -> Result<(), Violation> {
    let wanted = engine.wanted();
    let is_over = matches!(engine.state(), AgentState::Terminated(_));
    if is_over == wanted.effects().next().is_some() {
        let what = format!("in state {} it wants {wanted:?}", engine.state().name());
        return Err(Violation::new(Property::Progress, what));
    }
    if let Wanted::Tools { turn, slots } = wanted {
        let again = slots.iter().filter_map(|slot| slot.effect(turn));
        if let Some(effect) = again.into_iter().find(|effect| returned.contains(&(effect.turn, effect.slot)))
        {
            let what = format!("the call at {effect} has returned and is wanted again");
            return Err(Violation::new(Property::OneResult, what));
        }
    }
    Ok(())
}

fn check_budgets(engine: &Engine, spec: &RolloutSpec) -> Result<(), Violation> {
    let (data, limits) = (engine.data(), &spec.limits);
    let transcript = &data.transcript;
    let turn = match engine.state() {
        AgentState::Generating { turn_start, .. } => transcript.len() - turn_start,
        _ => 0,
    };
    // A limit of 0 turns is tested after the first turn, as every other one (R4).
    let assistant = limits.max_assistant_turns.map(|limit| limit.max(1));
    let counts = [
        ("prompt_length", transcript.prompt_len(), Some(limits.prompt_length)),
        ("response_length", transcript.response_len(), Some(limits.response_length)),
        ("context_length", transcript.len(), limits.context_length),
        ("turn_length", turn, limits.turn_length),
        ("max_assistant_turns", data.assistant_turns, assistant),
        ("max_user_turns", data.user_turns, limits.max_user_turns),
    ];
    for (name, used, limit) in counts {
        if let Some(limit) = limit.filter(|limit| used > *limit) {
            return Err(Violation::new(
                Property::Budget,
                format!("{name} is {used}, at most {limit} is allowed"),
            ));
        }
    }
    Ok(())
}

/// R2, computed from the task's limits.
pub(crate) fn check_request(
    request: &GenerateRequest,
    engine: &Engine,
    spec: &RolloutSpec,
) -> Result<(), Violation> {
    let (limits, transcript) = (&spec.limits, &engine.data().transcript);
    let left = [
        Some((limits.response_length, transcript.response_len())),
        limits.context_length.map(|limit| (limit, transcript.len())),
        limits.turn_length.map(|limit| (limit, request.turn_tokens)),
    ];
    let left = left.into_iter().flatten().map(|(limit, used)| limit.saturating_sub(used)).min().unwrap_or(0);
    if request.max_tokens != left || left == 0 {
        let what = format!(
            "the request at {} has max_tokens {}, {left} are left",
            request.effect, request.max_tokens
        );
        return Err(Violation::new(Property::Budget, what));
    }
    if request.prompt_ids != transcript.tokens() {
        let what = format!("the request at {} does not send the transcript", request.effect);
        return Err(Violation::new(Property::ResumeEquivalence, what));
    }
    Ok(())
}

/// Checks a rollout that is over.
pub(crate) fn check_record(data: &AgentData) -> Result<(), Violation> {
    let transcript = &data.transcript;
    let (mask, versions) = (transcript.response_mask(), transcript.token_versions());
    let logprobs = transcript.response_logprobs();
    let len = transcript.response_len() as usize;
    if [mask.len(), versions.len(), logprobs.len()] != [len; 3] {
        return Err(Violation::new(
            Property::Provenance,
            "mask, versions and logprobs have different lengths",
        ));
    }
    let known = mask.iter().zip(&versions).zip(&logprobs);
    let odd = known.clone().position(|((mask, version), logprob)| {
        (*mask == 1) != version.is_some() || (*mask == 1) != logprob.is_some()
    });
    if let Some(at) = odd {
        let what = format!(
            "response token {at} has mask {}, version {:?}, logprob {:?}",
            mask[at], versions[at], logprobs[at]
        );
        return Err(Violation::new(Property::Provenance, what));
    }
    let marks = data.marks.iter().filter_map(|mark| match mark.kind {
        MarkKind::Version(version) => Some((mark.at, version)),
        MarkKind::Cut | MarkKind::Resumed | MarkKind::FailedOver { .. } | MarkKind::LenientCall => None,
    });
    if marks.ne(transcript.version_changes()) {
        let what =
            format!("versions change at {:?}, marks are {:?}", transcript.version_changes(), data.marks);
        return Err(Violation::new(Property::Provenance, what));
    }
    let order =
        |pair: &[respool_core::CallRecord]| (pair[0].turn, pair[0].slot) >= (pair[1].turn, pair[1].slot);
    if let Some(pair) = data.calls.windows(2).find(|pair| order(pair)) {
        let what = format!("turn {} slot {} is on record twice or out of order", pair[1].turn, pair[1].slot);
        return Err(Violation::new(Property::OneResult, what));
    }
    Ok(())
}
