//! PROCESSING_TOOLS: results come in any order and are appended in call order (R5, R8, R12).

use respool_core::{AgentState, CallOutcome, EffectId, Encoded, Replay, SlotProgress, ToolResult, ToolSlot};

use crate::{
    Engine, batch,
    budget::overflow,
    engine::{Fits, STALE, WRONG_STATE},
};

impl Engine {
    pub(crate) fn on_tool_started(&mut self, effect: EffectId) -> Fits {
        let slot = self.open_slot(effect)?;
        match (slot.replay, &slot.progress) {
            (Replay::Once, SlotProgress::Ready { attempt }) => {
                slot.progress = SlotProgress::Started { attempt: *attempt };
                Ok(())
            }
            (Replay::Once, _) => Err("the call is on record as started already"),
            (Replay::Pure | Replay::Keyed, _) => Err("only a `once` call is recorded before it is launched"),
        }
    }

    pub(crate) fn on_tool_returned(&mut self, effect: EffectId, result: ToolResult) -> Fits {
        let slot = self.open_slot(effect)?;
        if slot.replay == Replay::Once && matches!(slot.progress, SlotProgress::Ready { .. }) {
            return Err("a `once` call must be recorded as started before it is launched");
        }
        self.close_slot(effect, result)
    }

    pub(crate) fn on_tool_interrupted(&mut self, effect: EffectId) -> Fits {
        let slot = self.open_slot(effect)?;
        if !matches!(slot.progress, SlotProgress::Started { .. }) {
            return Err("the call is not on record as started, so it can be run");
        }
        let text = "Error: the tool call was interrupted; it may have run, its result is unknown";
        self.close_slot(effect, ToolResult::text(CallOutcome::Interrupted, text))
    }

    fn close_slot(&mut self, effect: EffectId, result: ToolResult) -> Fits {
        let result = self.shorten(result);
        self.open_slot(effect)?.progress = SlotProgress::Returned(result);
        Ok(())
    }

    fn open_slot(&mut self, effect: EffectId) -> Result<&mut ToolSlot, &'static str> {
        let turn = self.turn();
        match &mut self.state {
            AgentState::ProcessingTools { slots } => {
                slots.iter_mut().find(|slot| slot.effect(turn) == Some(effect)).ok_or(STALE)
            }
            AgentState::Pending
            | AgentState::Generating { .. }
            | AgentState::Interacting { .. }
            | AgentState::Terminated(_) => Err(WRONG_STATE),
        }
    }

    /// All results are in and encoded: they are appended, unless a limit would be reached.
    pub(crate) fn append_results(&mut self, slots: Vec<ToolSlot>, encoded: Encoded) {
        self.state = AgentState::ProcessingTools { slots: Vec::new() };
        self.close_slots(&slots);
        if let Some(limit) = overflow(&self.data, encoded.tokens.len()) {
            return self.terminate(limit);
        }
        self.append(encoded);
        self.data.messages.extend(batch::messages(&slots));
        self.begin_turn();
    }

    /// Appends the tokens of a user turn and counts it.
    pub(crate) fn append(&mut self, encoded: Encoded) {
        self.data.transcript.push_given(&encoded.tokens);
        self.data.user_turns += 1;
        if self.data.template_changes.is_empty() {
            self.data.template_changes = encoded.changes;
        }
    }

    /// The rollout ends before its open calls have returned: each gets its one result, and what
    /// was earned is kept.
    pub(crate) fn close_open_work(&mut self) {
        match std::mem::replace(&mut self.state, AgentState::Pending) {
            AgentState::ProcessingTools { mut slots } => {
                for slot in slots.iter_mut().filter(|slot| !slot.has_returned()) {
                    let result = ToolResult::text(CallOutcome::Cancelled, "Error: the rollout was cancelled");
                    slot.progress = SlotProgress::Returned(self.shorten(result));
                }
                self.state = AgentState::ProcessingTools { slots: Vec::new() };
                self.close_slots(&slots);
                self.data.messages.extend(batch::messages(&slots));
            }
            AgentState::Interacting { reply: Some(reply), .. } => self.data.turn_scores.extend(reply.score),
            state @ AgentState::Generating { .. } => {
                self.state = state;
                self.record_partial_turn();
            }
            state @ (AgentState::Pending
            | AgentState::Interacting { reply: None, .. }
            | AgentState::Terminated(_)) => {
                self.state = state;
            }
        }
    }
}
