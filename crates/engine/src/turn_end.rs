//! R4: what follows the end of a turn.

use std::collections::BTreeSet;

use respool_core::{
    AgentState, CallOutcome, CallRecord, EffectKey, EffectKind, Finish, LoopKind, MalformedCalls, MarkKind,
    Message, ParsedCall, ParsedTurn, Role, Token, ToolCall,
};

use crate::{Engine, batch};

/// How a turn ended.
pub(crate) enum TurnEnd {
    /// By a stop token or stop string: it is complete.
    Stopped,
    /// By a limit or another reason that also ends the rollout.
    Cut(Finish),
}

impl Engine {
    /// Counts the turn, then decides in the order of R4.
    pub(crate) fn end_turn(&mut self, turn_start: u32, end: TurnEnd) {
        let turn = self.data.assistant_turns;
        self.data.record_effect(EffectKey { kind: EffectKind::Generate, turn, slot: 0 });
        let is_empty = self.data.transcript.len() == turn_start;
        let parsed = self.read_turn(turn_start, matches!(end, TurnEnd::Stopped));
        parsed.lenient.iter().for_each(|_| self.mark(MarkKind::LenientCall));
        if !is_empty {
            self.data.messages.push(assistant_message(&parsed, turn));
        }
        self.data.assistant_turns += 1;
        let stopped = match end {
            TurnEnd::Stopped => true,
            TurnEnd::Cut(finish) => {
                self.leave_calls(&parsed, turn);
                return self.terminate(finish);
            }
        };
        let answered = stopped && !is_empty && !self.attempts_a_call(&parsed);
        if let Some(limit) = self.limit_reached() {
            self.leave_calls(&parsed, turn);
            return self.terminate(if answered { Finish::Answered } else { limit });
        }
        if is_empty {
            return self.terminate(Finish::EmptyReply);
        }
        self.go_on(parsed, turn);
    }

    /// Calls, else the interaction, else the end.
    fn go_on(&mut self, parsed: ParsedTurn, turn: u32) {
        let slots = self.open_slots(parsed, turn);
        self.state = if !slots.is_empty() {
            AgentState::ProcessingTools { slots }
        } else if self.data.spec.kind == LoopKind::Tools && self.data.spec.interaction.is_some() {
            AgentState::Interacting { attempt: 0, fruitless: 0, reply: None }
        } else {
            AgentState::Terminated(Finish::Answered)
        };
    }

    fn limit_reached(&self) -> Option<Finish> {
        let (data, limits) = (&self.data, &self.data.spec.limits);
        if data.transcript.response_len() >= limits.response_length {
            return Some(Finish::ResponseLength);
        }
        if limits.context_length.is_some_and(|limit| data.transcript.len() >= limit) {
            return Some(Finish::ContextLength);
        }
        if limits.max_assistant_turns.is_some_and(|limit| data.assistant_turns >= limit) {
            return Some(Finish::AssistantTurns);
        }
        limits.max_user_turns.is_some_and(|limit| data.user_turns >= limit).then_some(Finish::UserTurns)
    }

    /// Reads everything sampled since the turn began, over all attempts.
    fn read_turn(&self, turn_start: u32, complete: bool) -> ParsedTurn {
        let (before, turn) = self.data.transcript.tokens().split_at(turn_start as usize);
        match self.data.spec.kind {
            LoopKind::Tools => {
                let parsed = self.dialect.parse_turn(before, turn, &self.data.spec.tools, complete);
                self.with_ids(parsed)
            }
            LoopKind::SingleTurn => {
                let content = self.dialect.decode(without_stop(turn, &self.stop_tokens));
                ParsedTurn { content, ..ParsedTurn::default() }
            }
        }
    }

    /// The id that the model wrote is kept where it is the first of that name in the rollout: some
    /// templates show it again beside the result.
    fn with_ids(&self, mut parsed: ParsedTurn) -> ParsedTurn {
        let turn = self.data.assistant_turns;
        let mut taken: BTreeSet<String> = self
            .data
            .messages
            .iter()
            .flat_map(|message| &message.tool_calls)
            .map(|call| call.id.clone())
            .collect();
        for (slot, call) in (0..).zip(&mut parsed.calls) {
            if let ParsedCall::Call(call) = call
                && (call.id.is_empty() || !taken.insert(call.id.clone()))
            {
                call.id = batch::call_id(turn, slot);
            }
        }
        parsed
    }

    /// With `malformed_calls = drop` only well-formed calls count as attempts.
    fn attempts_a_call(&self, parsed: &ParsedTurn) -> bool {
        match self.data.spec.options.compat.malformed_calls {
            MalformedCalls::Answer => !parsed.calls.is_empty(),
            MalformedCalls::Drop => {
                parsed.calls.iter().any(|call| call.fault() != Some(CallOutcome::Malformed))
            }
        }
    }

    /// The rollout ends with this turn: its calls are on record, but none is run.
    fn leave_calls(&mut self, parsed: &ParsedTurn, turn: u32) {
        for (slot, call) in (0..).zip(&parsed.calls) {
            let (name, outcome) = match call {
                ParsedCall::Call(call) => (call.name.clone(), CallOutcome::NotRun),
                ParsedCall::Wrong { name, .. } => (name.clone(), CallOutcome::Wrong),
                ParsedCall::Malformed { .. } => (String::new(), CallOutcome::Malformed),
            };
            self.data.calls.push(CallRecord { turn, slot, name, outcome, ran: false, metrics: Vec::new() });
        }
    }

    /// The rollout ends inside a turn: what was sampled of it becomes a message, and no turn is
    /// counted.
    pub(crate) fn record_partial_turn(&mut self) {
        let AgentState::Generating { turn_start, .. } = self.state else { return };
        if self.data.transcript.len() > turn_start {
            let parsed = self.read_turn(turn_start, false);
            parsed.lenient.iter().for_each(|_| self.mark(MarkKind::LenientCall));
            let turn = self.data.assistant_turns;
            self.data.messages.push(assistant_message(&parsed, turn));
            self.leave_calls(&parsed, turn);
        }
    }
}

fn without_stop<'a>(turn: &'a [Token], stop: &[Token]) -> &'a [Token] {
    match turn.split_last() {
        Some((last, rest)) if stop.contains(last) => rest,
        _ => turn,
    }
}

/// The turn as a message. Wrong calls keep their place with empty arguments, so that every tool
/// message has the call that it answers; malformed ones are readable in the content.
fn assistant_message(parsed: &ParsedTurn, turn: u32) -> Message {
    let mut message = Message::new(Role::Assistant, parsed.content.as_str());
    message.reasoning.clone_from(&parsed.reasoning);
    let mut unread = String::new();
    for (slot, call) in (0..).zip(&parsed.calls) {
        match call {
            ParsedCall::Call(call) => {
                message.tool_calls.push(ToolCall { slot, ..call.clone() });
            }
            ParsedCall::Wrong { name, .. } => message.tool_calls.push(batch::empty_call(turn, slot, name)),
            ParsedCall::Malformed { text, .. } => {
                unread.push('\n');
                unread.push_str(text);
            }
        }
    }
    if !unread.is_empty() {
        message.content = format!("{}{unread}", parsed.content).trim_start_matches('\n').into();
    }
    message
}
