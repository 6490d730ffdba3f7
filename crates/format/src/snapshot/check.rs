//! What an engine takes for granted about a rollout's values and the types do not say.

use respool_core::{AgentData, AgentState, SlotProgress, ToolSlot, Transcript};

use crate::error::Invalid;

/// Counters stay below, so that adding one never overflows.
const MOST: u32 = u32::MAX / 4;

pub(super) fn data(data: &AgentData) -> Result<(), Invalid> {
    counter("assistant_turns", data.assistant_turns)?;
    counter("user_turns", data.user_turns)?;
    if !data.effects.is_sorted_by(|a, b| a < b) {
        return Err(Invalid::new("effects", "not sorted, or one is there twice"));
    }
    let len = data.transcript.len();
    for (at, span) in data.attempts.iter().enumerate() {
        let field = format!("attempts[{at}]");
        counter(&field, span.effect.attempt)?;
        if span.start.checked_add(span.len).is_none_or(|end| end > len) {
            let found = format!("{} tokens from {} on, in a transcript of {len}", span.len, span.start);
            return Err(Invalid::new(&field, found));
        }
    }
    match data.marks.iter().position(|mark| mark.at > len) {
        None => Ok(()),
        Some(at) => {
            let found = format!("at token {}, in a transcript of {len}", data.marks[at].at);
            Err(Invalid::new(&format!("marks[{at}]"), found))
        }
    }
}

pub(super) fn state(state: &AgentState, transcript: &Transcript) -> Result<(), Invalid> {
    match state {
        AgentState::Pending | AgentState::Terminated(_) => Ok(()),
        AgentState::Generating { attempt, fruitless, turn_start, attempt_start } => {
            counter("attempt", *attempt)?;
            counter("fruitless", *fruitless)?;
            let places = [transcript.prompt_len(), *turn_start, *attempt_start, transcript.len()];
            if places.is_sorted() {
                return Ok(());
            }
            let [prompt, turn, attempt, len] = places;
            let found = format!(
                "prompt ends at {prompt}, turn starts at {turn}, attempt at {attempt}, transcript ends at {len}; \
                 expected in this order"
            );
            Err(Invalid::new("turn_start", found))
        }
        AgentState::ProcessingTools { slots } => slots_in_order(slots),
        AgentState::Interacting { attempt, fruitless, reply: _ } => {
            counter("attempt", *attempt)?;
            counter("fruitless", *fruitless)
        }
    }
}

fn slots_in_order(slots: &[ToolSlot]) -> Result<(), Invalid> {
    if !slots.is_sorted_by(|a, b| a.call.slot < b.call.slot) {
        return Err(Invalid::new("slots", "not in call order, or one is there twice"));
    }
    slots.iter().enumerate().try_for_each(|(at, slot)| match &slot.progress {
        SlotProgress::Ready { attempt } | SlotProgress::Started { attempt } => {
            counter(&format!("slots[{at}].attempt"), *attempt)
        }
        SlotProgress::Returned(_) => Ok(()),
    })
}

fn counter(field: &str, value: u32) -> Result<(), Invalid> {
    if value <= MOST {
        return Ok(());
    }
    Err(Invalid::new(field, format!("found {value}, expected at most {MOST}")))
}
