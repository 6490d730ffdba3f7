//! Cuts a rollout where the schedule says so, and sends what does not belong.

use std::sync::Arc;

use respool_core::{
    AgentState, CallOutcome, EffectId, Event, GenerateDelta, GenerateFinish, InteractReply, Logprob,
    PolicyVersion, SlotProgress, ToolResult, ToolSlot, VersionSpan,
};

use crate::{
    Cut, CutKind, Machine, NoiseKind, PhraseKind, Violation, run::Runner, running::Running,
    violation::Property,
};

impl<M: Machine> Runner<'_, M> {
    /// Cuts the rollout if a cut is due here; whether one was.
    pub(crate) fn cut_where_due(&mut self) -> Result<bool, Violation> {
        if self.schedule.cuts.is_empty() {
            return Ok(false);
        }
        let mut due = None;
        for kind in self.places() {
            let nth = self.progress.places.count(kind);
            let cuts = self.schedule.cuts.iter().enumerate();
            let mut found =
                cuts.filter(|(at, cut)| !self.progress.done[*at] && cut.kind == kind && cut.nth == nth);
            due = due.or_else(|| found.next().map(|(at, cut)| (at, *cut)));
        }
        let Some((at, cut)) = due else { return Ok(false) };
        self.progress.done[at] = true;
        self.cut(&cut)?;
        if cut.twice {
            self.cut(&Cut { kind: CutKind::NoProgress, ..cut })?;
        }
        self.progress.just_cut = true;
        Ok(true)
    }

    /// All kinds of places that this one is.
    fn places(&self) -> Vec<CutKind> {
        let mut places = vec![CutKind::Anywhere];
        if self.progress.just_cut {
            places.push(CutKind::NoProgress);
        }
        match self.machine.engine().state() {
            AgentState::Pending => places.push(CutKind::BeforeLaunch),
            AgentState::Generating { turn_start, attempt_start, .. } => {
                self.generating_places(*turn_start, *attempt_start, &mut places);
            }
            AgentState::ProcessingTools { slots } => self.tool_places(slots, &mut places),
            AgentState::Interacting { reply: None, .. } => {
                let is_asked = self.running.interaction.is_some();
                places.push(if is_asked { CutKind::NothingBack } else { CutKind::BeforeLaunch });
                places.push(CutKind::Interacting);
            }
            AgentState::Interacting { reply: Some(_), .. } => places.push(CutKind::ReplyIn),
            AgentState::Terminated(_) => places.push(CutKind::Done),
        }
        places
    }

    fn generating_places(&self, turn_start: u32, attempt_start: u32, places: &mut Vec<CutKind>) {
        let engine = self.machine.engine();
        let transcript = &engine.data().transcript;
        let Some(stream) = self.running.stream.as_ref() else { return places.push(CutKind::BeforeLaunch) };
        let has_tokens = transcript.len() > attempt_start;
        places.push(if has_tokens { CutKind::BetweenDeltas } else { CutKind::NothingBack });
        let Some(last) = transcript.tokens()[turn_start as usize..].last() else { return };
        if stream.stop.contains(last) {
            return places.push(CutKind::AfterStopToken);
        }
        match self.script.world.policy.open_phrase(*last) {
            Some(PhraseKind::Call) => places.push(CutKind::InsideCall),
            Some(PhraseKind::Character) => places.push(CutKind::InsideCharacter),
            Some(PhraseKind::Text | PhraseKind::Reasoning) | None => {}
        }
        if transcript.version_end() != Some(PolicyVersion(self.progress.version)) {
            places.push(CutKind::VersionChange);
        }
    }

    fn tool_places(&self, slots: &[ToolSlot], places: &mut Vec<CutKind>) {
        if slots.iter().all(ToolSlot::has_returned) {
            return places.push(CutKind::ResultsIn);
        }
        let open = slots.iter().filter(|slot| !slot.has_returned()).count();
        let some_back = slots.iter().any(|slot| slot.runs && slot.has_returned());
        match (open == self.running.tools.len(), some_back) {
            (false, _) => places.push(CutKind::BeforeLaunch),
            (true, false) => places.push(CutKind::NothingBack),
            (true, true) => places.push(CutKind::BetweenResults),
        }
        if slots.iter().any(|slot| matches!(slot.progress, SlotProgress::Started { .. })) {
            places.push(CutKind::AfterStarted);
        }
    }

    fn cut(&mut self, cut: &Cut) -> Result<(), Violation> {
        if self.is_over() {
            self.step_stale(Event::Interrupt)?;
        } else if cut.announced {
            self.step(Event::Interrupt)?;
        }
        let lost = std::mem::take(&mut self.running);
        if cut.through_bytes {
            self.through_bytes()?;
        }
        if self.is_over() {
            self.step_stale(Event::Resume)?;
        } else {
            self.step(Event::Resume)?;
        }
        if cut.late_answers {
            self.answer_late(&lost)?;
        }
        self.progress.version += u64::from(cut.bump);
        self.progress.cuts.push((cut.kind, cut.through_bytes));
        Ok(())
    }

    fn is_over(&self) -> bool {
        matches!(self.machine.engine().state(), AgentState::Terminated(_))
    }

    fn through_bytes(&mut self) -> Result<(), Violation> {
        let broken = |what: String| Violation::new(Property::RoundTrip, what);
        let engine = self.machine.engine();
        let fingerprints = respool_format::Fingerprints::default();
        let bytes = respool_format::encode_parts(engine.data(), engine.state(), &fingerprints);
        let read = respool_format::decode(&bytes).map_err(|error| broken(error.to_string()))?;
        if read.data != *engine.data() || read.state != *engine.state() {
            return Err(broken("what was decoded is not what was encoded".to_owned()));
        }
        self.machine = M::from_parts(read.data, read.state, Arc::clone(self.dialect))
            .map_err(|error| broken(error.to_string()))?;
        Ok(())
    }

    /// What was running still answers: every answer is to an effect that is not wanted any more.
    fn answer_late(&mut self, lost: &Running) -> Result<(), Violation> {
        if let Some(stream) = &lost.stream {
            let (effect, at) = (stream.effect, self.machine.engine().data().transcript.len());
            let (tokens, logprobs) =
                (vec![stream.answer.tokens.first().copied().unwrap_or(0)], vec![Logprob::MISSING]);
            let delta = GenerateDelta { version: PolicyVersion(self.progress.version), tokens, logprobs };
            self.step_stale(Event::Sampled { effect, at, delta })?;
            self.step_stale(Event::GenerateEnded { effect, finish: GenerateFinish::Stop })?;
        }
        for effect in &lost.tools {
            // A started `once` call is not fenced: its late result is still its one result.
            if !self.machine.engine().is_started(*effect) {
                let result = ToolResult::text(CallOutcome::Ok, "late");
                self.step_stale(Event::ToolReturned { effect: *effect, result })?;
            }
        }
        if let Some(effect) = lost.interaction {
            let reply = InteractReply { content: "late".into(), score: Some(9.0), terminate: true };
            self.step_stale(Event::Replied { effect, reply })?;
        }
        Ok(())
    }

    pub(crate) fn make_noise(&mut self) -> Result<(), Violation> {
        for noise in &self.schedule.noise {
            if u32::from(noise.step) != self.progress.steps || self.progress.just_cut {
                continue;
            }
            match noise.kind {
                NoiseKind::Again(back) => {
                    let event = self.progress.events.iter().rev().nth(usize::from(back)).cloned();
                    event.map_or(Ok(()), |event| self.step_stale(event))?;
                }
                NoiseKind::Labels(attempt) => self.relabel(usize::from(attempt))?,
            }
        }
        Ok(())
    }

    fn relabel(&mut self, attempt: usize) -> Result<(), Violation> {
        let engine = self.machine.engine();
        let version = PolicyVersion(self.progress.version + 1);
        let Some(span) = engine.data().attempts.get(attempt).copied() else {
            let effect = EffectId { turn: u32::MAX, slot: 0, attempt: 0 };
            return self.step_stale(Event::Versions { effect, spans: Vec::new(), uncertain: true });
        };
        let spans = vec![VersionSpan { start: span.len / 2, len: u32::MAX, version }];
        self.step(Event::Versions { effect: span.effect, spans, uncertain: false })
    }
}
