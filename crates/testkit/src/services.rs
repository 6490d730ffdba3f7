//! The deterministic world of `respool-verify` as services.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::stream;
use respool_core::{
    CallOutcome, Fault, GenerateDelta, GenerateEvent, GenerateFinish, InteractReply, InteractRequest,
    JsonText, PolicyVersion, Replay, RolloutSpec, SessionPolicy, SessionRequest, ToolRequest, ToolResult,
    ToolSpec,
};
use respool_driver::Services;
use respool_stack::{
    GenerateCall, GenerateService, GenerateStream, InteractService, SessionService, ToolService,
};
use respool_verify::{Answer, Habits, Vocabulary, World};
use tower::service_fn;

/// Worlds as services: which one answers depends on the rollout's seed, and for tools on its
/// name, which `verify`'s random tasks make of the seed.
#[derive(Clone, Debug)]
pub struct Worlds {
    vocabulary: Arc<Vocabulary>,
    version: Arc<AtomicU64>,
    /// Time between two tokens; a tool takes some of them.
    pace: Duration,
}

impl Worlds {
    /// Worlds in which a token takes `pace`.
    #[must_use]
    pub fn new(vocabulary: Arc<Vocabulary>, pace: Duration) -> Self {
        Self { vocabulary, version: Arc::new(AtomicU64::new(1)), pace }
    }

    /// A weight update: what is sampled from now on has the next version.
    pub fn update(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// All services.
    #[must_use]
    pub fn services(&self) -> Services {
        Services {
            generate: self.generate(),
            tools: self.tools(),
            sessions: SessionService::new(service_fn(|_: SessionRequest| async { Ok(()) })),
            interact: self.interact(),
        }
    }

    /// The policies.
    #[must_use]
    pub fn generate(&self) -> GenerateService {
        let worlds = self.clone();
        GenerateService::new(service_fn(move |call: GenerateCall| {
            let worlds = worlds.clone();
            async move { Ok::<_, Fault>(worlds.stream(call)) }
        }))
    }

    fn world(&self, seed: u64) -> World {
        let habits = Habits {
            stop: 5 + (seed % 24) as u8,
            call: 5 + (seed / 24 % 40) as u8,
            character: (seed / 1000 % 15) as u8,
            reasoning: (seed / 16_000 % 10) as u8,
            derail: (seed / 160_000 % 3 * 10) as u8,
            returns_stop: !seed.is_multiple_of(5),
        };
        let last_reply = (!seed.is_multiple_of(3)).then_some((seed % 4) as u32);
        World::new(&self.vocabulary, habits, seed, last_reply)
    }

    fn stream(&self, call: GenerateCall) -> GenerateStream {
        let request = &call.request;
        let policy = self.world(request.seed).policy;
        let answer = policy.answer(&request.prompt_ids, request.max_tokens, &request.stop_token_ids);
        let worlds = self.clone();
        Box::pin(stream::unfold((worlds, call, answer, Some(0)), |(worlds, call, answer, at)| async move {
            let at = at?;
            let (event, next) = tokio::select! {
                biased;
                () = call.abort.cancelled() => (GenerateEvent::Ended(GenerateFinish::Abort), None),
                () = tokio::time::sleep(worlds.pace) => worlds.next(&answer, at),
            };
            Some((Ok(event), (worlds, call, answer, next)))
        }))
    }

    /// The next event of a stream, and where it goes on.
    fn next(&self, answer: &Answer, at: usize) -> (GenerateEvent, Option<usize>) {
        if at >= answer.tokens.len() {
            return (GenerateEvent::Ended(answer.finish.clone()), None);
        }
        let end = answer.tokens.len().min(at + 1 + at % 3);
        let delta = GenerateDelta {
            version: PolicyVersion(self.version.load(Ordering::Relaxed)),
            tokens: answer.tokens[at..end].to_vec(),
            logprobs: answer.logprobs[at..end].to_vec(),
        };
        (GenerateEvent::Delta(delta), Some(end))
    }

    /// The tools: all names of the vocabulary.
    #[must_use]
    pub fn tools(&self) -> ToolService {
        let worlds = self.clone();
        ToolService::new(service_fn(move |request: ToolRequest| {
            let worlds = worlds.clone();
            async move { Ok::<_, Fault>(worlds.run(&request).await) }
        }))
    }

    async fn run(&self, request: &ToolRequest) -> ToolResult {
        let seed = request.rollout.0 as u64;
        let slow = 1 + (seed ^ u64::from(request.call.slot)) % 7;
        tokio::time::sleep(self.pace * u32::try_from(slow).unwrap_or(1)).await;
        if !self.vocabulary.tools.contains(&request.call.name) {
            return ToolResult::text(
                CallOutcome::Wrong,
                format!("Error: no tool named {}", request.call.name),
            );
        }
        let mut spec = RolloutSpec::new(request.rollout, "", Vec::new());
        spec.tools.push(tool(&request.call.name));
        self.world(seed).tool(&spec, request.effect.turn, &request.call)
    }

    fn interact(&self) -> InteractService {
        let worlds = self.clone();
        InteractService::new(service_fn(move |request: InteractRequest| {
            let worlds = worlds.clone();
            async move {
                tokio::time::sleep(worlds.pace * 3).await;
                Ok::<InteractReply, Fault>(worlds.world(request.seed).reply(request.user_turns))
            }
        }))
    }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        schema: JsonText::empty_object(),
        replay: Replay::Keyed,
        session: SessionPolicy::Stateless,
    }
}
