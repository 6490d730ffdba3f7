//! PENDING: the first chat becomes the prompt (R1), and where encoded messages go.

use respool_core::{AgentState, Class, DialectError, EffectId, Encoded, FailureKind, PromptOverflow, Token};

use crate::{
    Engine,
    budget::budget,
    engine::{Fits, STALE, WRONG_STATE},
};

impl Engine {
    pub(crate) fn on_encoded(&mut self, effect: EffectId, encoded: Encoded) -> Fits {
        self.check_encode(effect)?;
        match std::mem::replace(&mut self.state, AgentState::Pending) {
            AgentState::ProcessingTools { slots } => self.append_results(slots, encoded),
            AgentState::Interacting { reply: Some(reply), .. } => self.append_reply(&reply, encoded),
            AgentState::Pending
            | AgentState::Generating { .. }
            | AgentState::Interacting { reply: None, .. }
            | AgentState::Terminated(_) => self.start(encoded.tokens),
        }
        Ok(())
    }

    pub(crate) fn on_encode_failed(&mut self, effect: EffectId, error: DialectError) -> Fits {
        self.check_encode(effect)?;
        self.close_open_work();
        self.fail(FailureKind::Dialect, Class::Terminal, error.message);
        Ok(())
    }

    fn check_encode(&self, effect: EffectId) -> Fits {
        match self.wanted() {
            crate::Wanted::Encode { effect: wanted } if wanted == effect => Ok(()),
            crate::Wanted::Encode { .. } => Err(STALE),
            crate::Wanted::Nothing
            | crate::Wanted::Generate(_)
            | crate::Wanted::Tools { .. }
            | crate::Wanted::Interact(_) => Err(WRONG_STATE),
        }
    }

    fn start(&mut self, mut prompt: Vec<Token>) {
        let limits = &self.data.spec.limits;
        let longest =
            limits.context_length.map_or(limits.prompt_length, |context| context.min(limits.prompt_length));
        let surplus = prompt.len().saturating_sub(longest as usize);
        match self.data.spec.options.prompt_overflow {
            _ if surplus == 0 => {}
            PromptOverflow::Fail => {
                let message = self.overflow_message(prompt.len());
                return self.fail(FailureKind::PromptTooLong, Class::Terminal, message);
            }
            PromptOverflow::CutLeft => drop(prompt.drain(..prompt.len() - self.longest_cut())),
            PromptOverflow::CutRight => prompt.truncate(self.longest_cut()),
        }
        self.data.transcript.push_given(&prompt);
        self.data.transcript.end_prompt();
        self.begin_turn();
    }

    /// A prompt that is cut leaves room for an answer.
    fn longest_cut(&self) -> usize {
        let limits = &self.data.spec.limits;
        let context = limits.context_length.map_or(u32::MAX, |context| context.saturating_sub(1));
        limits.prompt_length.min(context) as usize
    }

    fn overflow_message(&self, len: usize) -> String {
        let limits = &self.data.spec.limits;
        let (limit, name) = match limits.context_length {
            Some(context) if context < limits.prompt_length => (context, "the model's context"),
            _ => (limits.prompt_length, "prompt_length"),
        };
        format!(
            "the prompt has {len} tokens, expected at most {limit} ({name}); raise the limit, shorten the task, \
             or set prompt_overflow"
        )
    }

    /// Starts the next turn, or ends the rollout where no token is left for it (R2: a budget of 0
    /// sends no request).
    pub(crate) fn begin_turn(&mut self) {
        let start = self.data.transcript.len();
        let budget = budget(&self.data, start);
        if budget.left == 0 {
            self.terminate(budget.finish);
        } else {
            self.state =
                AgentState::Generating { attempt: 0, fruitless: 0, turn_start: start, attempt_start: start };
        }
    }
}
