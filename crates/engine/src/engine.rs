//! The engine: shared facts, the phase, and the one place where events are dispatched.

use std::sync::Arc;

use respool_core::{
    AgentData, AgentState, Dialect, EffectId, Event, Failure, FailureKind, Finish, Mark, MarkKind,
    RolloutSpec, Sampling, Token,
};

use crate::{Invalid, invalid, stop};

/// One rollout, complete at every moment between two steps.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(crate) data: AgentData,
    pub(crate) state: AgentState,
    pub(crate) dialect: Arc<dyn Dialect>,
    /// Derived from dialect and sampling parameters, once.
    pub(crate) stop_tokens: Arc<[Token]>,
    pub(crate) sampling: Arc<Sampling>,
}

/// An event that does not fit the rollout's state: late, duplicate, of an older attempt, or of
/// another phase. Nothing was changed but the count of such events.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{event} does not fit a rollout that is {state}: {reason}")]
pub struct Rejected {
    /// The event's name.
    pub event: &'static str,
    /// The state's name.
    pub state: &'static str,
    /// What does not fit.
    pub reason: &'static str,
}

/// Why an event does not fit; [`Engine::step`] makes a [`Rejected`] of it.
pub(crate) type Fits = Result<(), &'static str>;

/// The reason for events of another phase.
pub(crate) const WRONG_STATE: &str = "it belongs to another state";
/// The reason for events of another effect.
pub(crate) const STALE: &str = "its effect is not the wanted one";

impl Engine {
    /// A rollout before its first step.
    #[must_use]
    pub fn new(spec: Arc<RolloutSpec>, dialect: Arc<dyn Dialect>) -> Self {
        Self::assemble(AgentData::new(spec), AgentState::Pending, dialect)
    }

    /// A rollout from its parts, as [`Self::into_parts`] or a snapshot gave them.
    ///
    /// # Errors
    /// If data and state do not belong together.
    pub fn from_parts(
        data: AgentData,
        state: AgentState,
        dialect: Arc<dyn Dialect>,
    ) -> Result<Self, Invalid> {
        invalid::check(&data, &state)?;
        Ok(Self::assemble(data, state, dialect))
    }

    fn assemble(data: AgentData, state: AgentState, dialect: Arc<dyn Dialect>) -> Self {
        let stop_tokens = stop::tokens(&data.spec.sampling, dialect.as_ref());
        let sampling = Arc::new(data.spec.sampling.clone());
        Self { data, state, dialect, stop_tokens, sampling }
    }

    /// The whole rollout, to be kept, sent or encoded.
    #[must_use]
    pub fn into_parts(self) -> (AgentData, AgentState) {
        (self.data, self.state)
    }

    /// Everything but the phase.
    #[must_use]
    pub const fn data(&self) -> &AgentData {
        &self.data
    }

    /// The phase.
    #[must_use]
    pub const fn state(&self) -> &AgentState {
        &self.state
    }

    /// The dialect that it was given.
    #[must_use]
    pub fn dialect(&self) -> &Arc<dyn Dialect> {
        &self.dialect
    }

    /// The only mutator: something happened.
    ///
    /// Failures of the world are events, never `Err`.
    ///
    /// # Errors
    /// [`Rejected`] if the event does not fit; then only [`AgentData::rejected_events`] changes,
    /// and the event must not be journaled.
    pub fn step(&mut self, event: Event) -> Result<(), Rejected> {
        let (name, state) = (event.name(), self.state.name());
        self.dispatch(event).map_err(|reason| {
            self.data.rejected_events += 1;
            Rejected { event: name, state, reason }
        })
    }

    fn dispatch(&mut self, event: Event) -> Fits {
        match event {
            Event::Encoded { effect, encoded } => self.on_encoded(effect, encoded),
            Event::EncodeFailed { effect, error } => self.on_encode_failed(effect, error),
            Event::Sampled { effect, at, delta } => self.on_sampled(effect, at, delta),
            Event::GenerateEnded { effect, finish } => self.on_generate_ended(effect, finish),
            Event::GenerateFailed { effect, fault } => self.on_generate_failed(effect, fault),
            Event::Versions { effect, spans, uncertain } => self.on_versions(effect, &spans, uncertain),
            Event::ToolStarted { effect } => self.on_tool_started(effect),
            Event::ToolReturned { effect, result } => self.on_tool_returned(effect, result),
            Event::ToolInterrupted { effect } => self.on_tool_interrupted(effect),
            Event::Replied { effect, reply } => self.on_replied(effect, reply),
            Event::InteractFailed { effect, fault } => self.on_interact_failed(effect, fault),
            Event::Interrupt => self.on_interrupt(),
            Event::Resume => self.on_resume(),
            Event::Cancel => self.on_cancel(),
        }
    }

    /// Index of the assistant turn that the present state belongs to.
    pub(crate) fn turn(&self) -> u32 {
        match self.state {
            AgentState::Pending | AgentState::Generating { .. } => self.data.assistant_turns,
            AgentState::ProcessingTools { .. }
            | AgentState::Interacting { .. }
            | AgentState::Terminated(_) => self.data.assistant_turns.saturating_sub(1),
        }
    }

    /// The effect of which a turn has one.
    pub(crate) fn effect(&self, attempt: u32) -> EffectId {
        EffectId { turn: self.turn(), slot: 0, attempt }
    }

    /// An encoding belongs to the turn that it leads to: named after the turn that it follows, the
    /// one of the first chat and the first one after it would have the same name.
    pub(crate) fn encode_effect(&self) -> EffectId {
        EffectId { turn: self.data.assistant_turns, slot: 0, attempt: 0 }
    }

    pub(crate) fn mark(&mut self, kind: MarkKind) {
        let (at, turn) = (self.data.transcript.len(), self.turn());
        self.data.marks.push(Mark { at, turn, kind });
    }

    pub(crate) fn terminate(&mut self, finish: Finish) {
        self.state = AgentState::Terminated(finish);
    }

    pub(crate) fn fail(&mut self, kind: FailureKind, class: respool_core::Class, message: String) {
        self.terminate(Finish::Failed(Failure { kind, class, message }));
    }
}
