//! Recording events: order, durability, replay, and what happens when it fails.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use respool_core::{
    AgentLoopOutput, CallOutcome, Event, Fault, GenerateFinish, JsonText, Replay, RolloutId, SessionPolicy,
    ToolRequest, ToolResult, ToolSpec,
};
use respool_driver::{Checkpoint, CheckpointFuture, Control, RolloutRequest, Services, Start};
use respool_engine::Engine;
use respool_stack::ToolService;
use respool_testkit::TokenDialect;
use tower::ServiceExt;

use crate::world::{STOP, Server, agent_loop, ended, finish, spec, tokens};

/// Keeps events in memory; fails from the n-th on.
#[derive(Debug)]
struct Memory {
    events: Mutex<Vec<(u64, Event, bool)>>,
    fails_at: u64,
}

impl Checkpoint for Memory {
    fn append<'a>(&'a self, _: RolloutId, seq: u64, event: &'a Event, durable: bool) -> CheckpointFuture<'a> {
        async move {
            if seq >= self.fails_at {
                return Err(Fault::terminal("the disk is full"));
            }
            self.events.lock().unwrap().push((seq, event.clone(), durable));
            Ok(())
        }
        .boxed()
    }
}

fn once_spec() -> respool_core::RolloutSpec {
    let mut spec = spec();
    let schema = JsonText::empty_object();
    let session = SessionPolicy::default();
    spec.tools = vec![ToolSpec { name: "t01".to_owned(), schema, replay: Replay::Once, session }];
    spec
}

fn services() -> Services {
    let server = Server::new(vec![
        vec![tokens(0, &[11]), tokens(0, &[701, STOP]), ended(0, GenerateFinish::Stop)],
        vec![tokens(0, &[14, STOP]), ended(0, GenerateFinish::Stop)],
    ]);
    let tools = tower::service_fn(|_: ToolRequest| async { Ok(ToolResult::text(CallOutcome::Ok, "ok")) });
    Services { tools: ToolService::new(tools), ..Services::generate_only(server.service()) }
}

async fn run(memory: &Arc<Memory>) -> AgentLoopOutput {
    let request = RolloutRequest {
        checkpoint: Some(memory.clone()),
        ..RolloutRequest::new(Start::New(Arc::new(once_spec())), Control::new())
    };
    agent_loop(services()).oneshot(request).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn replaying_the_recorded_events_gives_the_same_rollout() {
    let memory = Arc::new(Memory { events: Mutex::default(), fails_at: u64::MAX });
    let output = run(&memory).await;
    assert_eq!(finish(&output), "answered");
    let events = std::mem::take(&mut *memory.events.lock().unwrap());
    assert!(events.iter().enumerate().all(|(index, (seq, ..))| *seq == index as u64));
    let durable: Vec<_> =
        events.iter().filter(|(.., durable)| *durable).map(|(_, event, _)| event.name()).collect();
    assert_eq!(durable, ["tool_started"]);
    let mut engine = Engine::new(Arc::new(once_spec()), Arc::new(TokenDialect::new()));
    for (_, event, _) in events {
        engine.step(event).unwrap();
    }
    let (data, state) = engine.into_parts();
    assert_eq!(AgentLoopOutput::from_parts(data, state), output);
}

#[tokio::test(start_paused = true)]
async fn a_rollout_that_cannot_be_recorded_stops_and_says_so() {
    for fails_at in 0..9 {
        let memory = Arc::new(Memory { events: Mutex::default(), fails_at });
        let output = run(&memory).await;
        let AgentLoopOutput::Failed { failure, .. } = &output else { panic!("{fails_at}: {output:?}") };
        assert!(failure.message.ends_with("could not be recorded: the disk is full"), "{failure}");
        assert_eq!(memory.events.lock().unwrap().len() as u64, fails_at);
    }
}

/// Interrupts as soon as an attempt has failed.
#[derive(Debug)]
struct Impatient(Control);

impl Checkpoint for Impatient {
    fn append<'a>(&'a self, _: RolloutId, _: u64, event: &'a Event, _: bool) -> CheckpointFuture<'a> {
        if let Event::GenerateFailed { .. } = event {
            self.0.interrupt();
        }
        async { Ok(()) }.boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_between_two_attempts_waits_for_nothing() {
    for partial_rollout in [true, false] {
        let control = Control::new();
        let broken = (0, Err(Fault::transient("connection reset")));
        let server = Server::new(vec![vec![tokens(0, &[11]), broken]]);
        let mut spec = spec();
        spec.options.partial_rollout = partial_rollout;
        let request = RolloutRequest {
            checkpoint: Some(Arc::new(Impatient(control.clone()))),
            ..RolloutRequest::new(Start::New(Arc::new(spec)), control)
        };
        let start = tokio::time::Instant::now();
        let services = Services::generate_only(server.service());
        let output = agent_loop(services).oneshot(request).await.unwrap();
        assert_eq!((finish(&output), start.elapsed().as_millis()), ("interrupted", 0));
    }
}
