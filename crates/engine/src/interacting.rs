//! INTERACTING: someone answers in the user's place (R9).

use respool_core::{
    AgentState, EffectId, EffectKey, EffectKind, Encoded, FailureKind, Fault, Finish, InteractReply,
    TerminatingReplyTokens,
};

use crate::{
    Engine,
    budget::overflow,
    encode::reply_message,
    engine::{Fits, STALE, WRONG_STATE},
};

impl Engine {
    fn awaits_reply(&self, effect: EffectId) -> Result<(u32, u32), &'static str> {
        match self.state {
            AgentState::Interacting { attempt, fruitless, reply: None } => {
                if effect == self.effect(attempt) {
                    Ok((attempt, fruitless))
                } else {
                    Err(STALE)
                }
            }
            AgentState::Interacting { reply: Some(_), .. } => Err("the reply is there already"),
            AgentState::Pending
            | AgentState::Generating { .. }
            | AgentState::ProcessingTools { .. }
            | AgentState::Terminated(_) => Err(WRONG_STATE),
        }
    }

    pub(crate) fn on_replied(&mut self, effect: EffectId, reply: InteractReply) -> Fits {
        let (attempt, fruitless) = self.awaits_reply(effect)?;
        let key = EffectKey { kind: EffectKind::Interact, turn: self.turn(), slot: 0 };
        self.data.record_effect(key);
        let omits = self.data.spec.options.compat.terminating_reply_tokens == TerminatingReplyTokens::Omit;
        if reply.terminate && omits {
            self.data.turn_scores.extend(reply.score);
            self.data.messages.push(reply_message(&reply));
            self.data.user_turns += 1;
            self.terminate(Finish::InteractionEnded);
        } else {
            self.state = AgentState::Interacting { attempt, fruitless, reply: Some(reply) };
        }
        Ok(())
    }

    /// The reply is encoded: it is appended, unless a limit would be reached. Its score is kept.
    pub(crate) fn append_reply(&mut self, reply: &InteractReply, encoded: Encoded) {
        self.data.turn_scores.extend(reply.score);
        if let Some(limit) = overflow(&self.data, encoded.tokens.len()) {
            return self.terminate(limit);
        }
        self.append(encoded);
        self.data.messages.push(reply_message(reply));
        if reply.terminate {
            self.terminate(Finish::InteractionEnded);
        } else {
            self.begin_turn();
        }
    }

    pub(crate) fn on_interact_failed(&mut self, effect: EffectId, fault: Fault) -> Fits {
        let (attempt, fruitless) = self.awaits_reply(effect)?;
        let fruitless = fruitless + 1;
        if fault.class.may_retry() && fruitless < self.data.spec.limits.max_attempts {
            self.state = AgentState::Interacting { attempt: attempt + 1, fruitless, reply: None };
        } else {
            self.fail(FailureKind::Interact, fault.class, fault.message);
        }
        Ok(())
    }
}
