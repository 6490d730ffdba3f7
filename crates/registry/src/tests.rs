//! The worker over loops that do nothing but wait: what they are told, and what is counted.

mod ledger;
mod servers;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use respool_core::{
    AgentData, AgentLoopOutput, AgentState, Fault, Finish, LoopKind, MarkKind, Message, PolicyVersion, Role,
    RolloutId, RolloutSpec,
};
use respool_driver::{RolloutRequest, RolloutService, Start};

use crate::{AgentLoopRegistry, AgentLoopWorker, Counts, Work, builtin};
use servers::Servers;

fn spec(id: u128, agent_name: &str) -> Arc<RolloutSpec> {
    let messages = vec![Message::new(Role::User, "hello")];
    let mut spec = RolloutSpec::new(RolloutId(id), format!("task/{id}"), messages);
    spec.agent_name = agent_name.to_owned();
    Arc::new(spec)
}

fn parts(start: Start) -> AgentData {
    match start {
        Start::New(spec) => AgentData::new(spec),
        Start::Resume { data, .. } => *data,
    }
}

/// A loop of three "turns" of one second each: it is interrupted and resumed at any of them.
fn patient() -> RolloutService {
    RolloutService::new(tower::service_fn(|request: RolloutRequest| async move {
        let mut data = parts(request.start);
        while data.assistant_turns < 3 {
            tokio::select! {
                biased;
                () = request.control.cancelled() => {
                    return Ok(AgentLoopOutput::from_parts(data, AgentState::Terminated(Finish::Cancelled)));
                }
                () = request.control.interrupted() => {
                    data.marks.push(respool_core::Mark { at: 0, turn: data.assistant_turns, kind: MarkKind::Cut });
                    return Ok(AgentLoopOutput::from_parts(data, AgentState::Pending));
                }
                () = tokio::time::sleep(Duration::from_secs(1)) => data.assistant_turns += 1,
            }
        }
        Ok(AgentLoopOutput::from_parts(data, AgentState::Terminated(Finish::Answered)))
    }))
}

fn worker(concurrency: usize) -> (AgentLoopWorker, Arc<Servers>) {
    let mut registry = AgentLoopRegistry::new();
    registry.register("patient", patient()).unwrap();
    let failing = tower::service_fn(|_: RolloutRequest| async { Err(Fault::terminal("the loop is broken")) });
    registry.register("failing", RolloutService::new(failing)).unwrap();
    let panicking = tower::service_fn(|_: RolloutRequest| async { panic!("a bug in somebody's loop") });
    registry.register("panicking", RolloutService::new(panicking)).unwrap();
    let servers = Arc::new(Servers::default());
    (AgentLoopWorker::new(registry, servers.clone(), concurrency, None), servers)
}

fn finish(output: &AgentLoopOutput) -> &str {
    match output {
        AgentLoopOutput::Completed(trajectory) | AgentLoopOutput::Failed { trajectory, .. } => {
            trajectory.finish.name()
        }
        AgentLoopOutput::Cancelled { .. } => "interrupted",
    }
}

fn balanced(counts: Counts) -> bool {
    counts.submitted == counts.completed + counts.failed + counts.interrupted + counts.in_flight
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_hands_everything_back_and_completed_outputs_come_back_unchanged() {
    let (worker, servers) = worker(8);
    let first = worker.clone();
    let run = async move { first.run_all((0..3).map(|id| Work::New(spec(id, "patient"))).collect()).await };
    let interrupt = async {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        worker.interrupt();
        worker.interrupt();
        worker.idle().await;
    };
    let (outcomes, ()) = tokio::join!(run, interrupt);
    let outputs: Vec<_> = outcomes.into_iter().map(|outcome| outcome.output.unwrap()).collect();
    assert!(
        outputs.iter().all(|output| finish(output) == "interrupted" && output.data().assistant_turns == 1)
    );

    worker.resume(PolicyVersion(7)).await.unwrap();
    worker.resume(PolicyVersion(7)).await.unwrap();
    assert_eq!(servers.version.load(Ordering::Relaxed), 7);
    let again = worker.run_all(outputs.into_iter().map(Work::Previous).collect()).await;
    let done: Vec<_> = again.into_iter().map(|outcome| outcome.output.unwrap()).collect();
    assert!(done.iter().all(|output| finish(output) == "answered"));
    let unchanged = worker.run(Work::Previous(done[0].clone())).await.unwrap();
    assert_eq!(unchanged, done[0]);
    let counts = worker.counts();
    assert!(balanced(counts), "{counts:?}");
    assert_eq!((counts.interrupted, counts.completed, counts.in_flight), (3, 4, 0));
}

#[tokio::test(start_paused = true)]
async fn work_that_comes_while_interrupted_waits() {
    let (worker, _) = worker(8);
    worker.interrupt();
    let late = worker.run(Work::New(spec(4, "patient")));
    tokio::pin!(late);
    let waited = tokio::time::timeout(Duration::from_secs(60), &mut late).await;
    assert!(waited.is_err());
    assert_eq!(worker.counts().in_flight, 1);
    worker.resume(PolicyVersion(1)).await.unwrap();
    assert_eq!(finish(&late.await.unwrap()), "answered");
}

#[tokio::test(start_paused = true)]
async fn run_to_end_goes_on_after_every_interrupt_and_keeps_its_permit() {
    let (worker, _) = worker(2);
    let tasks = (0..5).map(|id| worker.run_to_end(Work::New(spec(id, "patient"))));
    let runs = futures_util::future::join_all(tasks);
    let syncs = async {
        for version in 1..4 {
            tokio::time::sleep(Duration::from_millis(700)).await;
            worker.interrupt();
            worker.idle().await;
            assert!(balanced(worker.counts()));
            worker.resume(PolicyVersion(version)).await.unwrap();
        }
    };
    let (outputs, ()) = tokio::join!(runs, syncs);
    let outputs: Vec<_> = outputs.into_iter().map(Result::unwrap).collect();
    assert!(outputs.iter().all(|output| finish(output) == "answered"));
    assert!(outputs[0].data().interrupts() > 0);
    assert_eq!(outputs[4].data().interrupts(), 0, "it started after the last interrupt");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_what_runs_and_what_waits_but_not_what_comes_later() {
    let (worker, _) = worker(1);
    let tasks = (0..3).map(|id| worker.run(Work::New(spec(id, "patient"))));
    let runs = futures_util::future::join_all(tasks);
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        worker.cancel();
    };
    let (outputs, ()) = tokio::join!(runs, cancel);
    assert!(outputs.into_iter().all(|output| finish(&output.unwrap()) == "cancelled"));
    assert_eq!(finish(&worker.run(Work::New(spec(9, "patient"))).await.unwrap()), "answered");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_reaches_what_was_submitted_before_an_interrupt() {
    let (worker, _) = worker(1);
    let runs = futures_util::future::join_all((0..3).map(|id| worker.run(Work::New(spec(id, "patient")))));
    let to_end = worker.run_to_end(Work::New(spec(3, "patient")));
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        worker.interrupt();
        worker.idle().await;
        worker.resume(PolicyVersion(1)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        worker.cancel();
    };
    let (outputs, last, ()) = tokio::join!(runs, to_end, cancel);
    let finishes: Vec<_> =
        outputs.into_iter().chain([last]).map(|output| finish(&output.unwrap()).to_owned()).collect();
    assert_eq!(finishes, ["interrupted", "cancelled", "cancelled", "cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_is_slow_to_leave_hears_a_cancel_after_the_resume() {
    let deaf = tower::service_fn(|request: RolloutRequest| async move {
        request.control.cancelled().await;
        let data = parts(request.start);
        Ok(AgentLoopOutput::from_parts(data, AgentState::Terminated(Finish::Cancelled)))
    });
    let mut registry = AgentLoopRegistry::new();
    registry.register("deaf", RolloutService::new(deaf)).unwrap();
    let worker = AgentLoopWorker::new(registry, Arc::new(Servers::default()), 1, None);
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        worker.interrupt();
        worker.resume(PolicyVersion(1)).await.unwrap();
        worker.cancel();
    };
    let (output, ()) = tokio::join!(worker.run(Work::New(spec(1, "deaf"))), cancel);
    assert_eq!(finish(&output.unwrap()), "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_looks_at_the_interrupt_first_hears_a_cancel_all_the_same() {
    let hasty = tower::service_fn(|request: RolloutRequest| async move {
        let data = parts(request.start);
        let state = tokio::select! {
            biased;
            () = request.control.interrupted() => AgentState::Pending,
            () = request.control.cancelled() => AgentState::Terminated(Finish::Cancelled),
        };
        Ok(AgentLoopOutput::from_parts(data, state))
    });
    let mut registry = AgentLoopRegistry::new();
    registry.register("hasty", RolloutService::new(hasty)).unwrap();
    let worker = AgentLoopWorker::new(registry, Arc::new(Servers::default()), 1, None);
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        worker.interrupt();
        worker.cancel();
    };
    let (output, ()) = tokio::join!(worker.run_to_end(Work::New(spec(1, "hasty"))), cancel);
    assert_eq!(finish(&output.unwrap()), "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_panic_a_broken_loop_and_an_unknown_name_cost_nobody_else() {
    let (worker, _) = worker(8);
    let names = ["patient", "panicking", "failing", "no_such_agent", "patient"];
    let work = names.iter().zip(0..).map(|(name, id)| Work::New(spec(id, name))).collect();
    let outcomes = worker.run_all(work).await;
    assert_eq!(finish(outcomes[0].output.as_ref().unwrap()), "answered");
    assert!(outcomes[1].output.as_ref().unwrap_err().message.contains("panicked"));
    assert_eq!(outcomes[1].rollout, RolloutId(1));
    assert_eq!(outcomes[2].output.as_ref().unwrap_err().message, "the loop is broken");
    let Ok(AgentLoopOutput::Failed { failure, .. }) = &outcomes[3].output else { panic!("{outcomes:?}") };
    assert!(failure.message.contains("no_such_agent") && failure.message.contains("patient"), "{failure}");
    assert_eq!(finish(outcomes[4].output.as_ref().unwrap()), "answered");
    let counts = worker.counts();
    assert!(balanced(counts) && counts.failed == 3 && counts.completed == 2, "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn no_more_rollouts_run_at_a_time_than_allowed() {
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let counting = {
        let (running, most) = (running.clone(), most.clone());
        RolloutService::new(tower::service_fn(move |request: RolloutRequest| {
            let (running, most) = (running.clone(), most.clone());
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(AgentLoopOutput::from_parts(
                    parts(request.start),
                    AgentState::Terminated(Finish::Answered),
                ))
            }
        }))
    };
    let mut registry = AgentLoopRegistry::new();
    registry.register("counting", counting).unwrap();
    let worker = AgentLoopWorker::new(registry, Arc::new(Servers::default()), 3, None);
    worker.run_all((0..10).map(|id| Work::New(spec(id, "counting"))).collect()).await;
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_name_is_registered_once() {
    let mut registry = AgentLoopRegistry::new();
    registry.register("mine", patient()).unwrap();
    assert_eq!(registry.register("mine", patient()).unwrap_err().name, "mine");
    let unknown = registry.get("yours").unwrap_err();
    assert_eq!(unknown.to_string(), "no agent loop \"yours\", expected one of: mine");
}

#[tokio::test]
async fn the_four_names_are_one_loop_with_two_switches() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let spy = {
        let seen = seen.clone();
        RolloutService::new(tower::service_fn(move |request: RolloutRequest| {
            let data = parts(request.start);
            seen.lock().unwrap().push((data.spec.kind, data.spec.options.partial_rollout));
            async move { Ok(AgentLoopOutput::from_parts(data, AgentState::Terminated(Finish::Answered))) }
        }))
    };
    for (name, profile) in builtin::PROFILES {
        let service = builtin::with_profile(spy.clone(), profile);
        let request = RolloutRequest::new(Start::New(spec(1, name)), respool_driver::Control::new());
        tower::ServiceExt::oneshot(service, request).await.unwrap();
    }
    let expected = [
        (LoopKind::Tools, true),
        (LoopKind::SingleTurn, true),
        (LoopKind::SingleTurn, false),
        (LoopKind::Tools, false),
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
}
