//! Whether data and state, which may come from a file, belong together.

use respool_core::{AgentData, AgentState, Role, ToolSlot};

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

fn check_data(data: &AgentData) -> Result<(), &'static str> {
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
    let transcript = &data.transcript;
    match state {
        AgentState::Pending if !transcript.is_empty() => Err("it has tokens already"),
        AgentState::Pending | AgentState::Terminated(_) => Ok(()),
        AgentState::Generating { turn_start, attempt_start, .. } => {
            let ordered = transcript.prompt_len() <= *turn_start
                && turn_start <= attempt_start
                && *attempt_start <= transcript.len();
            match (transcript.prompt_ended(), ordered) {
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
