//! GENERATING: sampled tokens arrive, attempts end (R2, R3, R15).

use respool_core::{
    AgentState, AttemptSpan, Class, EffectId, FailureKind, Fault, Finish, GenerateDelta, GenerateFinish,
    Logprob, MarkKind,
};

use crate::{
    Engine,
    budget::budget,
    engine::{Fits, STALE, WRONG_STATE},
    stop,
    turn_end::TurnEnd,
};

/// The fields of [`AgentState::Generating`].
#[derive(Clone, Copy)]
struct Turn {
    attempt: u32,
    fruitless: u32,
    turn_start: u32,
    attempt_start: u32,
}

/// How an attempt ended before its turn did.
enum Broken {
    /// We asked for it: an interrupt, a resume in another process.
    Left,
    /// A server failed.
    Failed(Fault),
}

impl Engine {
    fn generating(&self) -> Result<Turn, &'static str> {
        match self.state {
            AgentState::Generating { attempt, fruitless, turn_start, attempt_start } => {
                Ok(Turn { attempt, fruitless, turn_start, attempt_start })
            }
            AgentState::Pending
            | AgentState::ProcessingTools { .. }
            | AgentState::Interacting { .. }
            | AgentState::Terminated(_) => Err(WRONG_STATE),
        }
    }

    fn running(&self, effect: EffectId) -> Result<Turn, &'static str> {
        let turn = self.generating()?;
        if effect == self.effect(turn.attempt) { Ok(turn) } else { Err(STALE) }
    }

    pub(crate) fn on_sampled(&mut self, effect: EffectId, at: u32, delta: GenerateDelta) -> Fits {
        let turn = self.running(effect)?;
        if at != self.data.transcript.len() {
            return Err("it does not continue where the transcript ends");
        }
        let budget = budget(&self.data, turn.turn_start);
        let within = delta.tokens.len().min(budget.left as usize);
        let before = &self.data.transcript.tokens()[turn.turn_start as usize..];
        let stop = &self.data.spec.sampling.stop;
        let stopped = stop::string_end(self.dialect.as_ref(), stop, before, &delta.tokens[..within]);
        let keep = stopped.unwrap_or(within);
        self.push(effect, &delta, keep);
        let dropped = delta.tokens.len() - keep;
        self.data.wasted_tokens += dropped as u64;
        if stopped.is_some() {
            self.end_turn(turn.turn_start, TurnEnd::Stopped);
        } else if dropped > 0 {
            self.end_turn(turn.turn_start, TurnEnd::Cut(budget.finish));
        }
        Ok(())
    }

    /// Appends the first `keep` tokens of a delta and notes whose they are.
    fn push(&mut self, effect: EffectId, delta: &GenerateDelta, keep: usize) {
        if keep == 0 {
            return;
        }
        let start = self.data.transcript.len();
        if self.data.transcript.version_end() != Some(delta.version) {
            self.mark(MarkKind::Version(delta.version));
        }
        let logprobs: &[Logprob] = &delta.logprobs[..keep.min(delta.logprobs.len())];
        self.data.transcript.push_sampled(delta.version, &delta.tokens[..keep], logprobs);
        let len = self.data.transcript.len() - start;
        match self.data.attempts.last_mut() {
            Some(span) if span.effect == effect => span.len += len,
            _ => self.data.attempts.push(AttemptSpan { effect, start, len }),
        }
    }

    pub(crate) fn on_generate_ended(&mut self, effect: EffectId, finish: GenerateFinish) -> Fits {
        let turn = self.running(effect)?;
        let end = match finish {
            GenerateFinish::Abort => {
                self.leave_attempt(turn, &Broken::Left);
                return Ok(());
            }
            GenerateFinish::ContextLength => {
                self.end_for_context(turn);
                return Ok(());
            }
            GenerateFinish::Stop => TurnEnd::Stopped,
            // Engines that look at the length first say so of a stop token that is the last one of
            // the budget. A cut before this event finds a turn that has stopped; so do we.
            GenerateFinish::Length if self.ends_with_stop(turn) => TurnEnd::Stopped,
            GenerateFinish::Length => TurnEnd::Cut(self.length_finish(turn.turn_start)),
            GenerateFinish::Repetition => TurnEnd::Cut(Finish::Repetition),
            GenerateFinish::Other(name) => TurnEnd::Cut(Finish::Other(name)),
        };
        self.end_turn(turn.turn_start, end);
        Ok(())
    }

    /// A server may have a lower limit than we know: then it is the turn that was cut.
    fn length_finish(&self, turn_start: u32) -> Finish {
        let budget = budget(&self.data, turn_start);
        if budget.left == 0 { budget.finish } else { Finish::TurnLength }
    }

    /// The server refused for context length: the prompt never fitted, or the context is full now.
    fn end_for_context(&mut self, turn: Turn) {
        let len = self.data.transcript.len();
        if len > turn.turn_start {
            self.end_turn(turn.turn_start, TurnEnd::Cut(Finish::ContextLength));
        } else if self.data.transcript.response_len() > 0 {
            self.terminate(Finish::ContextLength);
        } else {
            let message = format!(
                "the server refused the prompt of {len} tokens for context length; set context_length to the model's"
            );
            self.fail(FailureKind::PromptTooLong, Class::Terminal, message);
        }
    }

    pub(crate) fn on_generate_failed(&mut self, effect: EffectId, fault: Fault) -> Fits {
        let turn = self.running(effect)?;
        self.mark(MarkKind::FailedOver { reason: fault.message.clone() });
        self.leave_attempt(turn, &Broken::Failed(fault));
        Ok(())
    }

    /// Nothing that was running answers any more: as an abort.
    pub(crate) fn leave_generation(&mut self) {
        if let Ok(turn) = self.generating() {
            // Nobody says any more which weights sampled its tokens.
            self.data.version_uncertain |= self.has_two_versions(turn);
            self.leave_attempt(turn, &Broken::Left);
        }
    }

    /// Whether the weights changed while the attempt was sampled, as far as its labels tell.
    fn has_two_versions(&self, turn: Turn) -> bool {
        let changes = self.data.transcript.version_changes();
        changes.iter().any(|(at, _)| *at > turn.attempt_start)
    }

    /// R3, abort: a turn whose last token is a stop token has stopped; one without budget ends as
    /// after length; else the rest is asked again, with what arrived (R15: without it).
    fn leave_attempt(&mut self, turn: Turn, how: &Broken) {
        if self.ends_with_stop(turn) {
            return self.end_turn(turn.turn_start, TurnEnd::Stopped);
        }
        let len = self.data.transcript.len();
        let budget = budget(&self.data, turn.turn_start);
        if budget.left == 0 {
            return self.end_turn(turn.turn_start, TurnEnd::Cut(budget.finish));
        }
        let keeps = self.data.spec.options.partial_rollout;
        if !keeps {
            self.drop_turn(turn.turn_start);
        }
        let fruitful = keeps && len > turn.attempt_start;
        let fruitless = match how {
            Broken::Failed(fault) => {
                let fruitless = if fruitful { 0 } else { turn.fruitless + 1 };
                if self.give_up(fault, fruitless) {
                    return;
                }
                fruitless
            }
            Broken::Left if fruitful => 0,
            Broken::Left => turn.fruitless,
        };
        self.state = AgentState::Generating {
            attempt: turn.attempt + 1,
            fruitless,
            turn_start: turn.turn_start,
            attempt_start: self.data.transcript.len(),
        };
    }

    /// Whether the turn's last token is a stop token.
    fn ends_with_stop(&self, turn: Turn) -> bool {
        let last = self.data.transcript.tokens()[turn.turn_start as usize..].last();
        last.is_some_and(|token| self.stop_tokens.contains(token))
    }

    /// Ends the rollout if the fault allows no other attempt, or none of many brought a token.
    fn give_up(&mut self, fault: &Fault, fruitless: u32) -> bool {
        let spent = fruitless >= self.data.spec.limits.max_attempts;
        let message = match (fault.class.may_retry(), spent) {
            (true, false) => return false,
            (false, _) => fault.message.clone(),
            (true, true) => format!("{fruitless} attempts without a new token; the last: {}", fault.message),
        };
        self.record_partial_turn();
        self.fail(FailureKind::Generate, fault.class, message);
        true
    }

    /// R15: an aborted turn is asked again from its start.
    fn drop_turn(&mut self, turn_start: u32) {
        self.data.wasted_tokens += u64::from(self.data.transcript.len() - turn_start);
        self.data.transcript.truncate(turn_start);
        self.data.attempts.retain(|span| span.start < turn_start);
        // Versions of tokens that are gone were met by nobody.
        self.data.marks.retain(|mark| mark.at < turn_start || !matches!(mark.kind, MarkKind::Version(_)));
        for mark in &mut self.data.marks {
            mark.at = mark.at.min(turn_start);
        }
    }
}
