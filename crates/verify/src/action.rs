//! The world does one thing that is wanted: launches it, or answers.

use respool_core::{
    EffectId, EffectKind, Event, Fault, GenerateDelta, GenerateFinish, PolicyVersion, SlotProgress, ToolSlot,
};
use respool_engine::Wanted;

use crate::{
    FaultKind, Machine, Violation,
    policy::Answer,
    run::Runner,
    running::{Running, Stream},
    schedule::WHOLE,
    violation::Property,
};

/// One thing that the world does.
pub(crate) enum Action {
    Encode,
    Generate,
    Deliver,
    Start(EffectId),
    Run(EffectId),
    Forget(EffectId),
    Return,
    Ask(EffectId),
    Reply(EffectId),
}

impl Action {
    /// Everything is launched before anything is answered.
    pub(crate) fn next<M: Machine>(runner: &Runner<'_, M>) -> Self {
        let running = &runner.running;
        match runner.machine.engine().wanted() {
            Wanted::Generate(wanted) if running.streams(wanted.effect) => Self::Deliver,
            Wanted::Generate(_) => Self::Generate,
            Wanted::Tools { turn, slots } => {
                slots.iter().find_map(|slot| Self::for_slot(runner, turn, slot)).unwrap_or(Self::Return)
            }
            Wanted::Interact(wanted) if running.interaction == Some(wanted.effect) => {
                Self::Reply(wanted.effect)
            }
            Wanted::Interact(wanted) => Self::Ask(wanted.effect),
            Wanted::Encode { .. } | Wanted::Nothing => Self::Encode,
        }
    }

    fn for_slot<M>(runner: &Runner<'_, M>, turn: u32, slot: &ToolSlot) -> Option<Self> {
        let running = &runner.running;
        let effect = slot.effect(turn).filter(|effect| !running.tools.contains(effect))?;
        Some(match (&slot.progress, slot.replay) {
            (SlotProgress::Ready { .. }, respool_core::Replay::Once) => Self::Start(effect),
            (SlotProgress::Started { .. }, _)
                if !running.started.contains(&effect)
                    || runner.unanswered.contains(&(effect.turn, effect.slot)) =>
            {
                Self::Forget(effect)
            }
            _ => Self::Run(effect),
        })
    }
}

impl Running {
    pub(crate) fn streams(&self, effect: EffectId) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.effect == effect)
    }
}

impl<M: Machine> Runner<'_, M> {
    pub(crate) fn act(&mut self, action: Action) -> Result<(), Violation> {
        match action {
            Action::Encode => match self.machine.engine().encode() {
                Some(event) => self.step(event),
                None => Err(Violation::new(Property::Answers, "an encoding is wanted that cannot be made")),
            },
            Action::Generate => self.generate(),
            Action::Deliver => self.deliver(),
            Action::Start(effect) => {
                self.running.started.insert(effect);
                self.step(Event::ToolStarted { effect })
            }
            Action::Run(effect) => {
                self.running.tools.push(effect);
                self.note_launch(EffectKind::Tool, effect)
            }
            Action::Forget(effect) => {
                self.progress.interrupted.insert((effect.turn, effect.slot));
                self.progress.returned.insert((effect.turn, effect.slot));
                self.step(Event::ToolInterrupted { effect })
            }
            Action::Return => self.return_call(),
            Action::Ask(effect) => {
                self.running.interaction = Some(effect);
                self.note_launch(EffectKind::Interact, effect)
            }
            Action::Reply(effect) => self.reply(effect),
        }
    }

    fn generate(&mut self) -> Result<(), Violation> {
        let engine = self.machine.engine();
        let Wanted::Generate(wanted) = engine.wanted() else { return Ok(()) };
        let request = wanted.request();
        crate::invariants::check_request(&request, engine, &self.script.spec)?;
        let stop = request.stop_token_ids;
        let answer = self.script.world.policy.answer(&request.prompt_ids, request.max_tokens, &stop);
        let launch = self.progress.launches;
        self.progress.launches += 1;
        let fault = self.schedule.faults.iter().find(|fault| u32::from(fault.launch) == launch).copied();
        self.running.stream = Some(Stream { effect: request.effect, answer, sent: 0, stop, fault });
        self.note_launch(EffectKind::Generate, request.effect)
    }

    fn deliver(&mut self) -> Result<(), Violation> {
        let Some(stream) = &mut self.running.stream else { return Ok(()) };
        let len = stream.answer.tokens.len();
        let until = stream.fault.map_or(len, |fault| len.min(usize::from(fault.after)));
        if stream.sent >= until {
            let event = end(stream);
            self.running.stream = None;
            return self.step(event);
        }
        let size = self.next_size();
        let Some(stream) = &mut self.running.stream else { return Ok(()) };
        let to = until.min(stream.sent + size);
        let version = PolicyVersion(self.progress.version);
        let mut delta = delta(&stream.answer, stream.sent, to, version);
        if to == len && stream.answer.finish == GenerateFinish::Length {
            delta.tokens.extend(std::iter::repeat_n(
                stream.stop.first().copied().unwrap_or(0),
                self.schedule.surplus.into(),
            ));
        }
        stream.sent = to;
        let (effect, at) = (stream.effect, self.machine.engine().data().transcript.len());
        self.step(Event::Sampled { effect, at, delta })?;
        let bumps = &self.schedule.bumps;
        let bump = bumps.get(self.progress.deltas % bumps.len().max(1)).copied().unwrap_or(0);
        self.progress.version += u64::from(bump);
        Ok(())
    }

    /// The size of the next delta; an empty one is followed by one that is not.
    fn next_size(&mut self) -> usize {
        let sizes = &self.schedule.deltas;
        let size = sizes.get(self.progress.deltas % sizes.len().max(1)).copied().unwrap_or(WHOLE);
        self.progress.deltas += 1;
        let size = if self.progress.was_empty { size.max(1) } else { size };
        self.progress.was_empty = size == 0;
        if size == WHOLE { usize::MAX / 2 } else { usize::from(size) }
    }

    fn return_call(&mut self) -> Result<(), Violation> {
        let order = &self.schedule.order;
        let pick = order.get(self.progress.picks % order.len().max(1)).copied().unwrap_or(0);
        self.progress.picks += 1;
        let at = usize::from(pick) % self.running.tools.len().max(1);
        if at >= self.running.tools.len() {
            return Err(Violation::new(Property::Progress, "calls are wanted, but none can be run"));
        }
        let effect = self.running.tools.remove(at);
        let Some(request) = self.machine.engine().tool_request(effect) else {
            return Err(Violation::new(
                Property::Answers,
                format!("there is no request for the call at {effect}"),
            ));
        };
        let result = self.script.world.tool(&self.script.spec, effect.turn, &request.call);
        self.progress.returned.insert((effect.turn, effect.slot));
        self.step(Event::ToolReturned { effect, result })
    }

    fn reply(&mut self, effect: EffectId) -> Result<(), Violation> {
        self.running.interaction = None;
        if self.progress.interact_faults < self.schedule.interact_faults {
            self.progress.interact_faults += 1;
            return self.step(Event::InteractFailed { effect, fault: Fault::transient("the user is away") });
        }
        let reply = self.script.world.reply(self.machine.engine().data().user_turns);
        self.step(Event::Replied { effect, reply })
    }
}

fn delta(answer: &Answer, from: usize, to: usize, version: PolicyVersion) -> GenerateDelta {
    let (tokens, logprobs) = (answer.tokens[from..to].to_vec(), answer.logprobs[from..to].to_vec());
    GenerateDelta { version, tokens, logprobs }
}

fn end(stream: &Stream) -> Event {
    let effect = stream.effect;
    match stream.fault.map(|fault| fault.kind) {
        None => Event::GenerateEnded { effect, finish: stream.answer.finish.clone() },
        Some(FaultKind::Abort) => Event::GenerateEnded { effect, finish: GenerateFinish::Abort },
        Some(FaultKind::Transient) => {
            Event::GenerateFailed { effect, fault: Fault::transient("the connection broke") }
        }
        Some(FaultKind::Overloaded) => {
            Event::GenerateFailed { effect, fault: Fault::overloaded(None, "the server is full") }
        }
    }
}
