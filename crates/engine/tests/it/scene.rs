//! One rollout, told in a few words.

#![expect(clippy::unwrap_used, reason = "a scene that does not go as told is a failed test")]

use std::sync::Arc;

use respool_core::{
    AgentState, CallOutcome, EffectId, EffectKind, Event, Fault, Finish, GenerateDelta, GenerateFinish,
    InteractReply, InteractionSpec, JsonText, Logprob, Message, PolicyVersion, Replay, Role, RolloutId,
    RolloutSpec, SessionPolicy, Token, ToolResult, ToolSpec,
};
use respool_engine::{Engine, Rejected, Wanted};
use respool_testkit::TokenDialect;

pub(crate) struct Scene {
    pub(crate) engine: Engine,
}

/// A task with the prompt `[1, 5]` and the tools t01 (keyed), t02 (keyed) and t03 (`once`).
pub(crate) fn spec() -> RolloutSpec {
    let mut spec = RolloutSpec::new(RolloutId(1), "task", vec![Message::new(Role::User, "1 5")]);
    spec.tools = [("t01", Replay::Keyed), ("t02", Replay::Keyed), ("t03", Replay::Once)]
        .map(|(name, replay)| ToolSpec {
            name: name.to_owned(),
            schema: JsonText::empty_object(),
            replay,
            session: SessionPolicy::Stateless,
        })
        .to_vec();
    spec
}

pub(crate) fn interaction() -> Option<InteractionSpec> {
    Some(InteractionSpec { name: "user".to_owned(), kwargs: JsonText::empty_object() })
}

impl Scene {
    /// After the first chat was encoded.
    pub(crate) fn new(edit: impl FnOnce(&mut RolloutSpec)) -> Self {
        let mut spec = spec();
        edit(&mut spec);
        let mut scene = Self { engine: Engine::new(Arc::new(spec), Arc::new(TokenDialect::new())) };
        scene.encode();
        scene
    }

    #[track_caller]
    pub(crate) fn step(&mut self, event: Event) -> &mut Self {
        self.engine.step(event).unwrap();
        self
    }

    pub(crate) fn rejected(&mut self, event: Event) -> Rejected {
        self.engine.step(event).unwrap_err()
    }

    #[track_caller]
    pub(crate) fn encode(&mut self) -> &mut Self {
        let event = self.engine.encode().unwrap();
        self.step(event)
    }

    /// The first thing that is wanted.
    #[track_caller]
    pub(crate) fn effect(&self) -> EffectId {
        self.engine.wanted().effects().next().unwrap().1
    }

    #[track_caller]
    pub(crate) fn sampled(&mut self, tokens: &[Token]) -> &mut Self {
        self.sampled_by(1, tokens)
    }

    #[track_caller]
    pub(crate) fn sampled_by(&mut self, version: u64, tokens: &[Token]) -> &mut Self {
        let logprobs = vec![Logprob::new(-0.5); tokens.len()];
        let delta = GenerateDelta { version: PolicyVersion(version), tokens: tokens.to_vec(), logprobs };
        let (effect, at) = (self.effect(), self.engine.data().transcript.len());
        self.step(Event::Sampled { effect, at, delta })
    }

    #[track_caller]
    pub(crate) fn ended(&mut self, finish: GenerateFinish) -> &mut Self {
        let effect = self.effect();
        self.step(Event::GenerateEnded { effect, finish })
    }

    #[track_caller]
    pub(crate) fn broke(&mut self, fault: Fault) -> &mut Self {
        let effect = self.effect();
        self.step(Event::GenerateFailed { effect, fault })
    }

    /// A whole turn that stops.
    #[track_caller]
    pub(crate) fn turn(&mut self, tokens: &[Token]) -> &mut Self {
        self.sampled(tokens).ended(GenerateFinish::Stop)
    }

    #[track_caller]
    pub(crate) fn returned(&mut self, slot: u32, outcome: CallOutcome, text: &str) -> &mut Self {
        let result = ToolResult { reward: Some(0.25), ..ToolResult::text(outcome, text) };
        let effect = self.tool(slot);
        self.step(Event::ToolReturned { effect, result })
    }

    #[track_caller]
    pub(crate) fn tool(&self, slot: u32) -> EffectId {
        let wanted = self.engine.wanted();
        let mut tools = wanted.effects().filter(|(kind, _)| *kind == EffectKind::Tool);
        tools.find(|(_, effect)| effect.slot == slot).unwrap().1
    }

    #[track_caller]
    pub(crate) fn replied(&mut self, text: &str, score: f64, terminate: bool) -> &mut Self {
        let (effect, reply) =
            (self.effect(), InteractReply { content: text.into(), score: Some(score), terminate });
        self.step(Event::Replied { effect, reply })
    }

    pub(crate) fn response(&self) -> &[Token] {
        self.engine.data().transcript.response_ids()
    }

    pub(crate) fn mask(&self) -> Vec<u8> {
        self.engine.data().transcript.response_mask()
    }

    pub(crate) fn outcomes(&self) -> Vec<CallOutcome> {
        self.engine.data().calls.iter().map(|call| call.outcome).collect()
    }

    /// The text of the last message.
    pub(crate) fn last_text(&self) -> String {
        self.engine.data().messages.last().unwrap().content.text()
    }

    /// R2, as the wanted request says it.
    #[track_caller]
    pub(crate) fn max_tokens(&self) -> u32 {
        match self.engine.wanted() {
            Wanted::Generate(wanted) => wanted.request().max_tokens,
            other => panic!("no generation is wanted, but {other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn check_state(&self, name: &str) {
        assert_eq!(self.engine.state().name(), name);
    }

    #[track_caller]
    pub(crate) fn check_finish(&self, finish: &str) {
        let AgentState::Terminated(found) = self.engine.state() else {
            panic!("not over, but {}", self.engine.state().name())
        };
        assert_eq!(found.name(), finish);
    }

    #[track_caller]
    pub(crate) fn failure(&self) -> String {
        match self.engine.state() {
            AgentState::Terminated(Finish::Failed(failure)) => failure.to_string(),
            other => panic!("no failure, but {other:?}"),
        }
    }
}
