//! Interrupts and cancels while tools run, and what becomes of their sessions.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use respool_core::{
    AgentLoopOutput, CallOutcome, GenerateFinish, Replay, SessionAction, SessionRequest, ToolInterrupt,
    ToolRequest, ToolResult,
};
use respool_driver::{AgentLoop, Services, Start};
use respool_stack::{SessionService, ToolService};
use tokio::time::Instant;

use crate::world::{STOP, Server, after_ms, agent_loop, ended, finish, resume, run, run_new, spec, tokens};

/// Tools that answer `ok` after as many milliseconds as their number says times 100.
#[derive(Clone, Default)]
struct Tools {
    started: Arc<AtomicUsize>,
    kept: Arc<AtomicUsize>,
    released: Arc<AtomicUsize>,
}

impl Tools {
    fn services(&self, server: &Server) -> Services {
        let tools = self.clone();
        let service = tower::service_fn(move |request: ToolRequest| {
            let tools = tools.clone();
            async move {
                tools.started.fetch_add(1, Ordering::Relaxed);
                let number: u64 = request.call.name[1..].parse().unwrap();
                tokio::time::sleep(Duration::from_millis(number * 100)).await;
                Ok(ToolResult::text(CallOutcome::Ok, request.call.name))
            }
        });
        let tools = self.clone();
        let sessions = tower::service_fn(move |request: SessionRequest| {
            match request.action {
                SessionAction::Keep => tools.kept.fetch_add(1, Ordering::Relaxed),
                SessionAction::Release => tools.released.fetch_add(1, Ordering::Relaxed),
            };
            std::future::ready(Ok(()))
        });
        Services {
            tools: ToolService::new(service),
            sessions: SessionService::new(sessions),
            ..Services::generate_only(server.service())
        }
    }

    fn started(&self) -> usize {
        self.started.load(Ordering::Relaxed)
    }

    fn sessions(&self) -> (usize, usize) {
        (self.kept.load(Ordering::Relaxed), self.released.load(Ordering::Relaxed))
    }
}

/// A turn that calls those tools, then a turn that answers.
fn calling(numbers: &[u32]) -> Server {
    let mut calls: Vec<_> = numbers.iter().map(|number| 700 + number).collect();
    calls.push(STOP);
    Server::new(vec![
        vec![tokens(0, &calls), ended(0, GenerateFinish::Stop)],
        vec![tokens(0, &[14, STOP]), ended(0, GenerateFinish::Stop)],
    ])
}

async fn interrupted_after(
    agent_loop: &AgentLoop,
    spec: respool_core::RolloutSpec,
    ms: u64,
) -> AgentLoopOutput {
    run(agent_loop, Start::New(Arc::new(spec)), |control| async move {
        after_ms(ms).await;
        control.interrupt();
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn results_are_appended_in_call_order_whatever_comes_first() {
    let (server, tools) = (calling(&[3, 1, 2]), Tools::default());
    let start = Instant::now();
    let output = run_new(&agent_loop(tools.services(&server)), spec()).await;
    assert_eq!(output.data().transcript.response_ids(), [703, 701, 702, STOP, 803, 801, 802, 9, 14, STOP]);
    assert_eq!(start.elapsed().as_millis(), 300, "they ran at once");
    assert_eq!(tools.sessions(), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_waits_for_quick_tools_and_sends_no_request() {
    let (server, tools) = (calling(&[5]), Tools::default());
    let agent_loop = agent_loop(tools.services(&server));
    let output = interrupted_after(&agent_loop, spec(), 100).await;
    assert_eq!((finish(&output), server.prompts().len()), ("interrupted", 1));
    assert_eq!(output.data().user_turns, 1, "the result is in already");
    assert_eq!(tools.sessions(), (1, 0));
    let output = resume(&agent_loop, output).await;
    assert_eq!((finish(&output), tools.started(), tools.sessions()), ("answered", 1, (1, 1)));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_leaves_slow_tools_after_the_deadline_and_keeps_finished_siblings() {
    let (server, tools) = (calling(&[1, 90]), Tools::default());
    let agent_loop = agent_loop(tools.services(&server));
    let start = Instant::now();
    let output = interrupted_after(&agent_loop, spec(), 50).await;
    assert_eq!((finish(&output), start.elapsed().as_millis() / 10), ("interrupted", 205));
    let output = resume(&agent_loop, output).await;
    assert_eq!(output.data().transcript.response_ids(), [701, 790, STOP, 801, 890, 9, 14, STOP]);
    assert_eq!(tools.started(), 3, "only the slow one ran again");
}

#[tokio::test(start_paused = true)]
async fn detach_leaves_at_once() {
    let (server, tools) = (calling(&[1, 5]), Tools::default());
    let agent_loop = agent_loop(tools.services(&server));
    let mut spec = spec();
    spec.options.tool_interrupt = ToolInterrupt::Detach;
    let start = Instant::now();
    let output = interrupted_after(&agent_loop, spec, 200).await;
    assert_eq!((finish(&output), start.elapsed().as_millis() / 10), ("interrupted", 20));
    let output = resume(&agent_loop, output).await;
    assert_eq!((finish(&output), tools.started()), ("answered", 3));
}

#[tokio::test(start_paused = true)]
async fn a_once_call_is_never_run_twice() {
    let (server, tools) = (calling(&[90]), Tools::default());
    let agent_loop = agent_loop(tools.services(&server));
    let mut spec = spec();
    spec.tools = vec![respool_core::ToolSpec {
        name: "t90".to_owned(),
        schema: respool_core::JsonText::empty_object(),
        replay: Replay::Once,
        session: respool_core::SessionPolicy::default(),
    }];
    let output = interrupted_after(&agent_loop, spec, 50).await;
    let output = resume(&agent_loop, output).await;
    assert_eq!((finish(&output), tools.started()), ("answered", 1));
    assert_eq!(output.data().calls[0].outcome, CallOutcome::Interrupted);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_gives_every_call_one_result_and_releases_within_a_second() {
    let (server, tools) = (calling(&[1, 90]), Tools::default());
    let start = Instant::now();
    let output =
        run(&agent_loop(tools.services(&server)), Start::New(Arc::new(spec())), |control| async move {
            after_ms(200).await;
            control.cancel();
        })
        .await;
    let outcomes: Vec<_> = output.data().calls.iter().map(|call| call.outcome).collect();
    assert_eq!((finish(&output), outcomes), ("cancelled", vec![CallOutcome::Ok, CallOutcome::Cancelled]));
    assert_eq!(tools.sessions(), (0, 1));
    assert!(start.elapsed() < Duration::from_millis(300));
}

#[tokio::test(start_paused = true)]
async fn a_release_that_hangs_does_not_hold_an_interrupt() {
    let (server, tools) = (calling(&[1]), Tools::default());
    let hanging = tower::service_fn(|_: SessionRequest| std::future::pending());
    let services = Services { sessions: SessionService::new(hanging), ..tools.services(&server) };
    let start = Instant::now();
    let output = interrupted_after(&agent_loop(services), spec(), 5000).await;
    assert_eq!((finish(&output), start.elapsed().as_millis() / 100), ("answered", 57));
}

#[tokio::test(start_paused = true)]
async fn a_rollout_that_is_dropped_leaves_its_sessions_under_a_lease() {
    let (server, tools) = (calling(&[90]), Tools::default());
    let agent_loop = agent_loop(tools.services(&server));
    let dropped = tokio::time::timeout(Duration::from_millis(200), run_new(&agent_loop, spec())).await;
    assert!(dropped.is_err());
    after_ms(1).await;
    assert_eq!((tools.started(), tools.sessions()), (1, (1, 0)));
}

#[tokio::test(start_paused = true)]
async fn without_tools_every_call_is_wrong_and_nobody_failed() {
    let output = run_new(&agent_loop(Services::generate_only(calling(&[1]).service())), spec()).await;
    assert_eq!((finish(&output), output.data().calls[0].outcome), ("answered", CallOutcome::Wrong));
    assert_eq!(output.data().messages[2].content.text(), "unknown tool `t01`: there are no tools");
}

#[tokio::test(start_paused = true)]
async fn a_release_that_hangs_does_not_hold_a_cancel() {
    let (server, tools) = (calling(&[90]), Tools::default());
    let hanging = tower::service_fn(|_: SessionRequest| std::future::pending());
    let services = Services { sessions: SessionService::new(hanging), ..tools.services(&server) };
    let start = Instant::now();
    let output = run(&agent_loop(services), Start::New(Arc::new(spec())), |control| async move {
        after_ms(10).await;
        control.cancel();
    })
    .await;
    assert_eq!(finish(&output), "cancelled");
    assert!(start.elapsed() < Duration::from_secs(1));
}
