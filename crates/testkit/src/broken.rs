//! Engines that are broken on purpose: each shows a fault that real loops have had.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use respool_core::{
    AgentData, AgentState, Chat, Continuation, Dialect, DialectError, Encoded, Event, Fingerprint, Limits,
    ParsedTurn, RolloutSpec, SlotProgress, Token, ToolSpec,
};
use respool_engine::{Engine, Invalid, Rejected};
use respool_verify::Machine;

/// Parses only the tokens of a turn's last attempt: a call across a cut is lost.
#[derive(Debug)]
pub struct ParsesLastAttempt {
    engine: Engine,
    dialect: Arc<Forgetful>,
}

/// Forgets the finished results of parallel calls on resume: they run again.
#[derive(Debug)]
pub struct ForgetsSiblings(Engine);

/// Grants the whole response budget again on resume.
#[derive(Debug)]
pub struct GrantsBudgetAgain(Engine);

/// A dialect that is told how many tokens of the turn to overlook.
#[derive(Debug)]
struct Forgetful {
    inner: Arc<dyn Dialect>,
    overlook: AtomicU32,
}

impl Machine for ParsesLastAttempt {
    fn new(spec: Arc<RolloutSpec>, dialect: Arc<dyn Dialect>) -> Self {
        let dialect = Forgetful::around(dialect);
        Self { engine: Engine::new(spec, Arc::clone(&dialect) as Arc<dyn Dialect>), dialect }
    }

    fn from_parts(data: AgentData, state: AgentState, dialect: Arc<dyn Dialect>) -> Result<Self, Invalid> {
        let dialect = Forgetful::around(dialect);
        let engine = Engine::from_parts(data, state, Arc::clone(&dialect) as Arc<dyn Dialect>)?;
        Ok(Self { engine, dialect })
    }

    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn step(&mut self, event: Event) -> Result<(), Rejected> {
        if let AgentState::Generating { turn_start, attempt_start, .. } = self.engine.state() {
            self.dialect.overlook.store(attempt_start - turn_start, Ordering::Relaxed);
        }
        self.engine.step(event)
    }
}

impl Machine for ForgetsSiblings {
    fn new(spec: Arc<RolloutSpec>, dialect: Arc<dyn Dialect>) -> Self {
        Self(Engine::new(spec, dialect))
    }

    fn from_parts(data: AgentData, state: AgentState, dialect: Arc<dyn Dialect>) -> Result<Self, Invalid> {
        Engine::from_parts(data, state, dialect).map(Self)
    }

    fn engine(&self) -> &Engine {
        &self.0
    }

    fn step(&mut self, event: Event) -> Result<(), Rejected> {
        if event == Event::Resume && !is_over(&self.0) {
            self.forget();
        }
        self.0.step(event)
    }
}

impl ForgetsSiblings {
    fn forget(&mut self) {
        let (data, mut state) = self.0.clone().into_parts();
        if let AgentState::ProcessingTools { slots } = &mut state {
            for slot in slots.iter_mut().filter(|slot| slot.runs && slot.has_returned()) {
                slot.progress = SlotProgress::Ready { attempt: 1000 };
            }
        }
        if let Ok(engine) = Engine::from_parts(data, state, Arc::clone(self.0.dialect())) {
            self.0 = engine;
        }
    }
}

impl Machine for GrantsBudgetAgain {
    fn new(spec: Arc<RolloutSpec>, dialect: Arc<dyn Dialect>) -> Self {
        Self(Engine::new(spec, dialect))
    }

    fn from_parts(data: AgentData, state: AgentState, dialect: Arc<dyn Dialect>) -> Result<Self, Invalid> {
        Engine::from_parts(data, state, dialect).map(Self)
    }

    fn engine(&self) -> &Engine {
        &self.0
    }

    fn step(&mut self, event: Event) -> Result<(), Rejected> {
        if event == Event::Resume && !is_over(&self.0) {
            self.grant();
        }
        self.0.step(event)
    }
}

impl GrantsBudgetAgain {
    fn grant(&mut self) {
        let (mut data, state) = self.0.clone().into_parts();
        let spec = &data.spec;
        let response_length = spec.limits.response_length + data.transcript.response_len();
        let limits = Limits { response_length, ..spec.limits.clone() };
        data.spec = Arc::new(RolloutSpec { limits, ..RolloutSpec::clone(spec) });
        if let Ok(engine) = Engine::from_parts(data, state, Arc::clone(self.0.dialect())) {
            self.0 = engine;
        }
    }
}

/// Such a rollout is left alone: a resume does not fit it.
fn is_over(engine: &Engine) -> bool {
    matches!(engine.state(), AgentState::Terminated(_))
}

impl Forgetful {
    fn around(inner: Arc<dyn Dialect>) -> Arc<Self> {
        Arc::new(Self { inner, overlook: AtomicU32::new(0) })
    }
}

impl Dialect for Forgetful {
    fn fingerprint(&self) -> Fingerprint {
        self.inner.fingerprint()
    }

    fn stop_tokens(&self) -> &[Token] {
        self.inner.stop_tokens()
    }

    fn encode_chat(&self, chat: &Chat<'_>) -> Result<Encoded, DialectError> {
        self.inner.encode_chat(chat)
    }

    fn encode_continuation(&self, continuation: &Continuation<'_>) -> Result<Encoded, DialectError> {
        self.inner.encode_continuation(continuation)
    }

    fn parse_turn(&self, before: &[Token], turn: &[Token], tools: &[ToolSpec], complete: bool) -> ParsedTurn {
        let overlooked = (self.overlook.load(Ordering::Relaxed) as usize).min(turn.len());
        self.inner.parse_turn(before, &turn[overlooked..], tools, complete)
    }

    fn token_bytes(&self, token: Token, out: &mut Vec<u8>) {
        self.inner.token_bytes(token, out);
    }
}
