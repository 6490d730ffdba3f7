//! The calls of a turn as one batch: which run, what the others are told, and the messages that
//! come of all of them (R5, R6, R7).

use respool_core::{
    CallOutcome, CallRecord, CallsOverLimit, Content, ContentPart, EffectKey, EffectKind, FailedCallReward,
    JsonText, MalformedCalls, Message, ParsedCall, ParsedTurn, Role, SlotProgress, ToolCall, ToolResult,
    ToolSlot, truncate,
};

use crate::Engine;

impl Engine {
    /// One slot for each call that is answered, in call order. Calls that are dropped are recorded.
    pub(crate) fn open_slots(&mut self, parsed: ParsedTurn, turn: u32) -> Vec<ToolSlot> {
        let spec = std::sync::Arc::clone(&self.data.spec);
        let compat = spec.options.compat;
        let mut slots = Vec::with_capacity(parsed.calls.len());
        let mut counted = 0;
        let limit = spec.limits.max_parallel_calls.max(1);
        for (slot, call) in (0..).zip(parsed.calls) {
            let is_malformed = call.fault() == Some(CallOutcome::Malformed);
            counted += u32::from(!is_malformed);
            let over = !is_malformed && counted > limit;
            let answers_over = compat.calls_over_limit == CallsOverLimit::Answer;
            let answers_malformed = compat.malformed_calls == MalformedCalls::Answer;
            let name = call_name(&call).to_owned();
            let result = if over { Some(over_limit(limit)) } else { unrun_result(&call) };
            let result = result.map(|result| self.shorten(result));
            if (over && !answers_over) || (is_malformed && !answers_malformed) {
                let outcome = if over { CallOutcome::OverLimit } else { CallOutcome::Malformed };
                self.data.calls.push(CallRecord {
                    turn,
                    slot,
                    name,
                    outcome,
                    ran: false,
                    metrics: Vec::new(),
                });
                continue;
            }
            let replay = spec.tool(&name).map(|tool| tool.replay).unwrap_or_default();
            let call = match call {
                ParsedCall::Call(call) => ToolCall { slot, ..call },
                ParsedCall::Wrong { .. } | ParsedCall::Malformed { .. } => empty_call(turn, slot, &name),
            };
            let runs = result.is_none();
            let progress = result.map_or(SlotProgress::Ready { attempt: 0 }, SlotProgress::Returned);
            slots.push(ToolSlot { call, runs, replay, progress });
        }
        slots
    }

    /// The batch is over: what each call did is on record, and what it earned.
    pub(crate) fn close_slots(&mut self, slots: &[ToolSlot]) {
        let turn = self.turn();
        for slot in slots {
            let SlotProgress::Returned(result) = &slot.progress else { continue };
            if slot.runs {
                self.data.record_effect(EffectKey { kind: EffectKind::Tool, turn, slot: slot.call.slot });
            }
            self.data.tool_rewards.extend(self.reward(result));
            self.data.calls.push(CallRecord {
                turn,
                slot: slot.call.slot,
                name: slot.call.name.clone(),
                outcome: result.outcome,
                ran: slot.runs,
                metrics: result.metrics.clone(),
            });
        }
        // Dropped calls were recorded when the batch began.
        self.data.calls.sort_by_key(|call| (call.turn, call.slot));
    }

    /// R6: an answer has its reward, a wrong call none (or zero), our own failures never.
    fn reward(&self, result: &ToolResult) -> Option<f64> {
        match (result.outcome, self.data.spec.options.compat.failed_call_reward) {
            (CallOutcome::Ok, _) => result.reward,
            (CallOutcome::Wrong, FailedCallReward::Zero) => Some(0.0),
            (CallOutcome::Wrong, FailedCallReward::None)
            | (
                CallOutcome::Malformed
                | CallOutcome::OverLimit
                | CallOutcome::Infrastructure
                | CallOutcome::Interrupted
                | CallOutcome::Cancelled
                | CallOutcome::NotRun,
                _,
            ) => None,
        }
    }

    /// R7, on every text that the policy is shown.
    pub(crate) fn shorten(&self, mut result: ToolResult) -> ToolResult {
        let limit = self.data.spec.limits.max_tool_response_length;
        let cut = self.data.spec.options.cut_side();
        match &mut result.content {
            Content::Text(text) => *text = truncate(text, limit, cut),
            Content::Parts(parts) => {
                for part in parts {
                    if let ContentPart::Text(text) = part {
                        *text = truncate(text, limit, cut);
                    }
                }
            }
        }
        result
    }
}

/// The tool messages of a batch, in call order.
pub(crate) fn messages(slots: &[ToolSlot]) -> Vec<Message> {
    slots.iter().filter_map(message).collect()
}

fn message(slot: &ToolSlot) -> Option<Message> {
    let SlotProgress::Returned(result) = &slot.progress else { return None };
    let mut message = Message::new(Role::Tool, result.content.clone());
    message.tool_call_id = Some(slot.call.id.clone());
    message.name = Some(slot.call.name.clone()).filter(|name| !name.is_empty());
    message.outcome = Some(result.outcome);
    Some(message)
}

/// Bytes of text in the results.
pub(crate) fn bytes(slots: &[ToolSlot]) -> usize {
    let returned = slots.iter().filter_map(|slot| match &slot.progress {
        SlotProgress::Returned(result) => Some(result.content.text_len()),
        SlotProgress::Ready { .. } | SlotProgress::Started { .. } => None,
    });
    returned.sum()
}

/// Nine letters and digits, as the strictest templates want them, unique within the rollout.
pub(crate) fn call_id(turn: u32, slot: u32) -> String {
    format!("c{}{}", base36(turn, 5), base36(slot, 3))
}

fn base36(mut number: u32, width: usize) -> String {
    let mut digits = vec!['0'; width];
    for digit in digits.iter_mut().rev() {
        *digit = char::from_digit(number % 36, 36).unwrap_or('0');
        number /= 36;
    }
    digits.into_iter().collect()
}

/// A call of which only the name could be read.
pub(crate) fn empty_call(turn: u32, slot: u32, name: &str) -> ToolCall {
    ToolCall { id: call_id(turn, slot), slot, name: name.to_owned(), arguments: JsonText::empty_object() }
}

fn call_name(call: &ParsedCall) -> &str {
    match call {
        ParsedCall::Call(call) => &call.name,
        ParsedCall::Wrong { name, .. } => name,
        ParsedCall::Malformed { .. } => "",
    }
}

fn over_limit(limit: u32) -> ToolResult {
    let text = format!("Error: only the first {limit} tool calls of a turn are run; this one was not");
    ToolResult::text(CallOutcome::OverLimit, text)
}

/// What a call is told that no tool can run.
fn unrun_result(call: &ParsedCall) -> Option<ToolResult> {
    match call {
        ParsedCall::Call(_) => None,
        ParsedCall::Wrong { name, reason } => {
            Some(ToolResult::text(CallOutcome::Wrong, format!("Error: wrong call of tool {name}: {reason}")))
        }
        ParsedCall::Malformed { reason, .. } => Some(ToolResult::text(
            CallOutcome::Malformed,
            format!("Error: the tool call could not be read: {reason}"),
        )),
    }
}
