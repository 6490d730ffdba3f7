//! Whether data and state, which may come from a file, belong together.

use respool_core::{AgentData, AgentState, AttemptSpan, Role, ToolSlot};

/// Data and state do not belong together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a rollout that can be resumed: {state}: {reason}")]
pub struct Invalid {
    /// The state's name.
    pub state: &'static str,
    /// What does not fit.
    pub reason: &'static str,
}

pub(crate) fn check(data: &AgentData, state: &AgentState) -> Result<(), Invalid> {
    check_data(data)
        .and_then(|()| check_state(data, state))
        .map_err(|reason| Invalid { state: state.name(), reason })
}

/// No rollout counts so far; from here no counter can overflow.
const MOST: u32 = 1 << 30;

fn check_data(data: &AgentData) -> Result<(), &'static str> {
    if data.assistant_turns > MOST || data.user_turns > MOST {
        return Err("it has impossibly many turns");
    }
    let len = data.transcript.len();
    let mut end = data.transcript.prompt_len();
    for span in &data.attempts {
        if span.start < end || span.len == 0 || span.start.checked_add(span.len).is_none_or(|end| end > len) {
            return Err("an attempt lies outside the transcript or before another one");
        }
        end = span.start + span.len;
    }
    if data.messages.len() < data.spec.messages.len() {
        return Err("messages of the first chat are missing");
    }
    if data.effects.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err("effects are not sorted");
    }
    Ok(())
}

fn check_state(data: &AgentData, state: &AgentState) -> Result<(), &'static str> {
    if attempts(state) > MOST {
        return Err("it has impossibly many attempts");
    }
    if let Some((next, from)) = next_attempt(data, state) {
        let odd = |span: &AttemptSpan| {
            let place = (span.effect.turn, span.effect.attempt);
            if span.start < from { place >= next } else { place != next }
        };
        if data.attempts.iter().any(odd) {
            return Err("an attempt has the name of an earlier or later one");
        }
    }
    let transcript = &data.transcript;
    match state {
        AgentState::Pending if !transcript.is_empty() => Err("it has tokens already"),
        AgentState::Pending | AgentState::Terminated(_) => Ok(()),
        AgentState::Generating { turn_start, attempt_start, .. } => {
            let ordered = transcript.prompt_len() <= *turn_start
                && turn_start <= attempt_start
                && *attempt_start <= transcript.len();
            let begins_inside =
                |span: &AttemptSpan| span.start < *turn_start && *turn_start < span.start + span.len;
            match (transcript.prompt_ended(), ordered) {
                (true, true) if data.attempts.iter().any(begins_inside) => {
                    Err("its turn begins inside an attempt")
                }
                (true, true) => Ok(()),
                (false, _) => Err("it has no prompt"),
                (true, false) => Err("its turn does not lie in the transcript"),
            }
        }
        AgentState::ProcessingTools { slots } => {
            check_after_turn(data)?;
            check_slots(slots)
        }
        AgentState::Interacting { .. } if data.spec.interaction.is_none() => {
            Err("its task has no interaction")
        }
        AgentState::Interacting { .. } => check_after_turn(data),
    }
}

/// The turn and number of the attempt that samples the tokens from a place of the transcript on.
fn next_attempt(data: &AgentData, state: &AgentState) -> Option<((u32, u32), u32)> {
    match state {
        AgentState::Generating { attempt, attempt_start, .. } => {
            Some(((data.assistant_turns, *attempt), *attempt_start))
        }
        AgentState::ProcessingTools { .. } | AgentState::Interacting { .. } => {
            Some(((data.assistant_turns, 0), data.transcript.len()))
        }
        AgentState::Pending | AgentState::Terminated(_) => None,
    }
}

/// The highest number of attempts in the state.
fn attempts(state: &AgentState) -> u32 {
    match state {
        AgentState::Generating { attempt, fruitless, .. }
        | AgentState::Interacting { attempt, fruitless, .. } => *attempt.max(fruitless),
        AgentState::ProcessingTools { slots } => {
            slots.iter().filter_map(|slot| slot.effect(0)).map(|effect| effect.attempt).max().unwrap_or(0)
        }
        AgentState::Pending | AgentState::Terminated(_) => 0,
    }
}

fn check_after_turn(data: &AgentData) -> Result<(), &'static str> {
    if data.assistant_turns == 0 {
        return Err("no turn was completed");
    }
    if data.messages.last().is_none_or(|message| message.role != Role::Assistant) {
        return Err("its last message is not the policy's");
    }
    Ok(())
}

fn check_slots(slots: &[ToolSlot]) -> Result<(), &'static str> {
    if slots.is_empty() {
        return Err("it has no calls");
    }
    if slots.windows(2).any(|pair| pair[0].call.slot >= pair[1].call.slot) {
        return Err("its calls are not in order");
    }
    Ok(())
}
