//! R2: how many tokens a generation may still sample, computed from the record.

use respool_core::{AgentData, Finish};

/// What is left, and how a rollout ends when that is used up.
pub(crate) struct Budget {
    pub(crate) left: u32,
    pub(crate) finish: Finish,
}

/// The tightest of the three limits; of equal ones the response's, then the context's.
pub(crate) fn budget(data: &AgentData, turn_start: u32) -> Budget {
    let (limits, transcript) = (&data.spec.limits, &data.transcript);
    let turn_tokens = transcript.len() - turn_start;
    let response = limits.response_length.saturating_sub(transcript.response_len());
    let context = limits.context_length.map(|limit| limit.saturating_sub(transcript.len()));
    let turn = limits.turn_length.map(|limit| limit.saturating_sub(turn_tokens));
    let mut tightest = Budget { left: response, finish: Finish::ResponseLength };
    for (left, finish) in [(context, Finish::ContextLength), (turn, Finish::TurnLength)] {
        if let Some(left) = left
            && left < tightest.left
        {
            tightest = Budget { left, finish };
        }
    }
    tightest
}

/// R8: the limit that so many further tokens would reach, so that they are not appended.
pub(crate) fn overflow(data: &AgentData, further: usize) -> Option<Finish> {
    let (limits, transcript) = (&data.spec.limits, &data.transcript);
    let reaches = |limit: u32, used: u32| u64::from(used) + further as u64 >= u64::from(limit);
    if reaches(limits.response_length, transcript.response_len()) {
        return Some(Finish::ResponseLength);
    }
    limits.context_length.filter(|limit| reaches(*limit, transcript.len())).map(|_| Finish::ContextLength)
}
