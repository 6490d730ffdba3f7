//! The task's side: a dialect, a policy, tools, tasks, and the undisturbed run.

use std::sync::Arc;
use std::time::Duration;

use respool_core::{
    AgentLoopOutput, Dialect as _, Message, PartialOff, Role, RolloutId, RolloutSpec, ToolInterrupt,
    Trajectory,
};
use respool_dialect::{Clock, DialectOptions, HfDialect};
use respool_driver::{AgentLoop, Control, RolloutRequest, RolloutService, Services, Settings, Start};
use respool_llm::{Backoff, ServerManager as _};
use respool_llm_mock::{Draw, Grammar, HashPolicy, MockConfig, MockServer, Policy, seed_from};
use respool_mock_server::{Engine, MockHttpConfig, turns_by_suffix};
use respool_stack::GenerateService;
use respool_tools::{ToolError, Toolbox, calculator, function_spec, function_tool};
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// What all rollouts of a test share.
pub(crate) struct World {
    pub(crate) dialect: Arc<HfDialect>,
    policy: Arc<dyn Policy>,
    tools: Toolbox,
}

impl World {
    pub(crate) fn new() -> Arc<Self> {
        let dialect =
            Arc::new(HfDialect::embedded(DialectOptions::new(Clock::from_unix_seconds(0))).unwrap());
        let encoder = Arc::clone(&dialect);
        let write = |_: &str, calls: &[(&str, &str)]| {
            let calls = calls.iter().map(|(name, arguments)| {
                format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>")
            });
            Some(calls.collect())
        };
        let mut grammar = Grammar::new(&["calculator", "look_up"], &(Arc::new(write) as _));
        grammar.max_calls = 2;
        grammar.call_percent = 70;
        let policy = HashPolicy::new(
            grammar,
            &(Arc::new(move |text: &str| encoder.encode_text(text).unwrap()) as _),
            dialect.stop_tokens()[0],
        );
        let tools = Toolbox::builder().tool(calculator().unwrap()).tool(look_up()).build().unwrap();
        Arc::new(Self { dialect, policy: Arc::new(policy), tools })
    }

    /// A healthy server of this policy.
    pub(crate) fn mock(&self, engine: Engine) -> MockHttpConfig {
        let turns = turns_by_suffix(self.dialect.generation_prompt().unwrap());
        let config =
            MockHttpConfig::new(engine, Arc::clone(&self.policy), turns, self.dialect.stop_tokens().to_vec());
        MockHttpConfig { vocab_size: self.dialect.vocab_size(), weight_label: "0".to_owned(), ..config }
    }

    pub(crate) fn agent_loop(&self, generate: GenerateService) -> AgentLoop {
        let services = Services {
            tools: self.tools.service(),
            sessions: self.tools.sessions(),
            ..Services::generate_only(generate)
        };
        let settings = Settings {
            backoff: Backoff::new(Duration::from_millis(1), Duration::from_millis(20)),
            ..Settings::default()
        };
        AgentLoop::new(Arc::<HfDialect>::clone(&self.dialect), services, settings)
    }

    /// Tasks of all kinds; the rollout's name decides what the policy says.
    pub(crate) fn specs(&self, seed: u64, count: usize) -> Vec<Arc<RolloutSpec>> {
        (0..count as u64).map(|index| Arc::new(self.spec(seed, index))).collect()
    }

    pub(crate) fn spec(&self, seed: u64, index: u64) -> RolloutSpec {
        let draw = &mut Draw::new(seed_from(&[seed, index]));
        let id = RolloutId((u128::from(seed) << 64) | u128::from(index));
        let question = Message::new(Role::User, format!("question {index}"));
        let mut spec = RolloutSpec::new(id, format!("task {index}"), vec![question]);
        // As the server reads it from the rollout's name.
        spec.seed = seed_from(&[id.0 as u64, (id.0 >> 64) as u64]);
        spec.tools = self.tools.specs();
        spec.limits.response_length = 60 + 10 * draw.below(60) as u32;
        spec.limits.turn_length = (draw.below(4) == 0).then(|| 20 + draw.below(100) as u32);
        spec.limits.max_assistant_turns = Some(1 + draw.below(4) as u32);
        // Nobody fails because the world is bad for long.
        spec.limits.max_attempts = 10_000;
        if draw.below(6) == 0 {
            spec.sampling.stop = vec!["therefore".to_owned()];
        }
        if draw.below(8) == 0 {
            spec.options.partial_rollout = false;
            spec.options.partial_off =
                if draw.below(2) == 0 { PartialOff::Finish } else { PartialOff::Restart };
        }
        if draw.below(2) == 0 {
            spec.options.tool_interrupt = ToolInterrupt::Detach;
        }
        spec
    }

    /// The run that nothing disturbs.
    pub(crate) async fn undisturbed(&self, spec: Arc<RolloutSpec>) -> Trajectory {
        let server = MockServer::new(Arc::clone(&self.policy), MockConfig::default());
        self.run(self.agent_loop(server.generate()).boxed(), spec).await
    }

    /// One rollout from its start to its end.
    pub(crate) async fn run(&self, service: RolloutService, spec: Arc<RolloutSpec>) -> Trajectory {
        let request = RolloutRequest::new(Start::New(spec), Control::new());
        match service.oneshot(request).await.unwrap() {
            AgentLoopOutput::Completed(trajectory) => *trajectory,
            output => panic!("expected a completed rollout, found {output:?}"),
        }
    }
}

/// A tool that takes a moment, so that cuts find it running.
fn look_up() -> impl respool_tools::Tool + 'static {
    let spec = function_spec("look_up", "Looks something up.", &json!({ "type": "object" })).unwrap();
    function_tool(spec, |arguments: Value| async move {
        tokio::time::sleep(Duration::from_millis(2)).await;
        Ok::<_, ToolError>(format!("found {arguments}"))
    })
}
