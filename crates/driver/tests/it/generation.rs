//! Interrupts, cancels, failures and retries while a turn is sampled.

use std::{sync::Arc, time::Duration};

use respool_core::{Class, Fault, GenerateEvent, GenerateFinish, PartialOff, PolicyVersion, VersionSpan};
use respool_driver::{Services, Start, drive};
use tokio::time::Instant;

use crate::world::{
    STOP, Server, Timed, after_ms, agent_loop, ended, finish, resume, run, run_new, spec, tokens,
};

fn services(server: &Server) -> Services {
    Services::generate_only(server.service())
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_keeps_every_token_that_arrived() {
    let server = Server::new(vec![
        vec![tokens(0, &[11]), tokens(10, &[12]), tokens(1000, &[13])],
        vec![tokens(0, &[13, STOP]), ended(0, GenerateFinish::Stop)],
    ]);
    let agent_loop = agent_loop(services(&server));
    let output = run(&agent_loop, Start::New(Arc::new(spec())), |control| async move {
        after_ms(100).await;
        control.interrupt();
    })
    .await;
    assert_eq!(finish(&output), "interrupted");
    let output = resume(&agent_loop, output).await;
    assert_eq!(
        (finish(&output), output.data().transcript.response_ids()),
        ("answered", &[11, 12, 13, STOP][..])
    );
    assert_eq!(server.prompts(), [vec![1, 5], vec![1, 5, 11, 12]]);
    assert_eq!(output.data().interrupts(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_wins_the_race_against_the_abort_is_kept() {
    let server = Server::new(vec![vec![tokens(500, &[11, STOP]), ended(0, GenerateFinish::Stop)]]).deaf();
    let agent_loop = agent_loop(services(&server));
    let output = run(&agent_loop, Start::New(Arc::new(spec())), |control| async move {
        after_ms(1).await;
        control.interrupt();
    })
    .await;
    assert_eq!((finish(&output), server.prompts().len()), ("answered", 1));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_for_a_rollout_that_is_interrupted_before_it_starts() {
    let server = Server::new(vec![vec![tokens(0, &[11, STOP]), ended(0, GenerateFinish::Stop)]]);
    let agent_loop = agent_loop(services(&server));
    let control = respool_driver::Control::new();
    control.interrupt();
    let request = respool_driver::RolloutRequest::new(Start::New(Arc::new(spec())), control);
    let output = tower::ServiceExt::oneshot(agent_loop.clone(), request).await.unwrap();
    assert_eq!((finish(&output), server.prompts().len()), ("interrupted", 0));
    assert_eq!(finish(&resume(&agent_loop, output).await), "answered");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hears_nothing_is_left_after_the_grace() {
    let server = Server::new(vec![
        vec![tokens(0, &[11]), tokens(60_000, &[12])],
        vec![tokens(0, &[12, STOP]), ended(0, GenerateFinish::Stop)],
    ])
    .deaf();
    let agent_loop = agent_loop(services(&server));
    let start = Instant::now();
    let output = run(&agent_loop, Start::New(Arc::new(spec())), |control| async move {
        after_ms(1).await;
        control.interrupt();
    })
    .await;
    assert!(start.elapsed() < Duration::from_millis(2100), "{:?}", start.elapsed());
    let output = resume(&agent_loop, output).await;
    assert_eq!(output.data().transcript.response_ids(), [11, 12, STOP]);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_does_not_wait_for_a_deaf_server() {
    let server = Server::new(vec![vec![tokens(0, &[11]), tokens(60_000, &[12])]]).deaf();
    let start = Instant::now();
    let output = run(&agent_loop(services(&server)), Start::New(Arc::new(spec())), |control| async move {
        after_ms(5).await;
        control.interrupt();
        after_ms(5).await;
        control.cancel();
    })
    .await;
    assert_eq!((finish(&output), output.data().transcript.response_ids()), ("cancelled", &[11][..]));
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_broken_stream_goes_on_where_it_broke_after_a_wait() {
    let server = Server::new(vec![
        vec![tokens(0, &[11]), (0, Err(Fault::transient("connection reset")))],
        vec![tokens(0, &[12])],
        vec![ended(0, GenerateFinish::Abort)],
        vec![tokens(0, &[STOP]), ended(0, GenerateFinish::Stop)],
    ]);
    let start = Instant::now();
    let output = run_new(&agent_loop(services(&server)), spec()).await;
    assert_eq!((finish(&output), output.data().transcript.response_ids()), ("answered", &[11, 12, STOP][..]));
    assert_eq!(server.prompts().len(), 4);
    assert!(start.elapsed() >= Duration::from_millis(150), "three back-offs: {:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_server_is_given_the_time_it_asks_for() {
    let wish = Some(Duration::from_secs(7));
    let server = Server::new(vec![
        vec![(0, Err(Fault::overloaded(wish, "429")))],
        vec![tokens(0, &[STOP]), ended(0, GenerateFinish::Stop)],
    ]);
    let start = Instant::now();
    let output = run_new(&agent_loop(services(&server)), spec()).await;
    assert_eq!(finish(&output), "answered");
    assert!(start.elapsed() >= Duration::from_secs(7));
}

#[tokio::test(start_paused = true)]
async fn attempts_without_a_token_are_bounded_and_a_terminal_fault_ends_at_once() {
    let broken = |fault: &Fault| vec![(0, Err(fault.clone()))];
    let server = Server::new(vec![broken(&Fault::transient("refused")); 20]);
    let output = run_new(&agent_loop(services(&server)), spec()).await;
    assert_eq!(finish(&output), "8 attempts without a new token; the last: refused");
    assert_eq!(server.prompts().len(), 8);

    let server =
        Server::new(vec![broken(&Fault { class: Class::Terminal, message: "400 bad request".into() })]);
    let output = run_new(&agent_loop(services(&server)), spec()).await;
    assert_eq!((finish(&output), server.prompts().len()), ("400 bad request", 1));
}

#[tokio::test(start_paused = true)]
async fn without_partial_rollout_an_interrupt_waits_for_the_turn_or_restarts_it() {
    let answer = || vec![tokens(0, &[11]), tokens(5_000, &[STOP]), ended(0, GenerateFinish::Stop)];
    for (partial_off, expected, requests) in
        [(PartialOff::Finish, "answered", 1), (PartialOff::Restart, "interrupted", 2)]
    {
        let server = Server::new(vec![answer(), answer()]);
        let agent_loop = agent_loop(services(&server));
        let mut spec = spec();
        spec.options.partial_rollout = false;
        spec.options.partial_off = partial_off;
        let mut output = run(&agent_loop, Start::New(Arc::new(spec)), |control| async move {
            after_ms(100).await;
            control.interrupt();
        })
        .await;
        assert_eq!(finish(&output), expected);
        if expected == "interrupted" {
            output = resume(&agent_loop, output).await;
            assert_eq!(output.data().wasted_tokens, 1);
        }
        assert_eq!(output.data().transcript.response_ids(), [11, STOP]);
        assert_eq!(server.prompts(), vec![vec![1, 5]; requests]);
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_the_future_leaves_a_complete_engine() {
    let server = Server::new(vec![
        vec![tokens(0, &[11]), tokens(60_000, &[12])],
        vec![tokens(0, &[12, STOP]), ended(0, GenerateFinish::Stop)],
    ]);
    let dialect = Arc::new(respool_testkit::TokenDialect::new());
    let mut engine = respool_engine::Engine::new(Arc::new(spec()), dialect);
    let (services, settings) = (services(&server), respool_driver::Settings::default());
    let control = respool_driver::Control::new();
    let driving = drive(&mut engine, &services, &settings, &control, None);
    assert!(tokio::time::timeout(Duration::from_millis(10), driving).await.is_err());
    assert_eq!(engine.data().transcript.response_ids(), [11]);
    drive(&mut engine, &services, &settings, &control, None).await;
    assert_eq!(engine.data().transcript.response_ids(), [11, 12, STOP]);
}

#[tokio::test(start_paused = true)]
async fn aborts_by_whoever_manages_the_servers_are_no_failures() {
    let mut answers = vec![vec![ended(0, GenerateFinish::Abort)]; 20];
    answers.push(vec![tokens(0, &[STOP]), ended(0, GenerateFinish::Stop)]);
    let server = Server::new(answers);
    let start = Instant::now();
    let output = run_new(&agent_loop(services(&server)), spec()).await;
    assert_eq!((finish(&output), server.prompts().len()), ("answered", 21));
    assert!(start.elapsed() >= Duration::from_millis(20 * 50), "it does not spin: {:?}", start.elapsed());
}

fn versions(after: u64, len: u32) -> Timed {
    let spans = vec![VersionSpan { start: 0, len, version: PolicyVersion(7) }];
    (after, Ok(GenerateEvent::Versions { spans, uncertain: false }))
}

#[tokio::test(start_paused = true)]
async fn what_a_server_says_of_versions_after_a_turn_ended_early_is_heard() {
    // The budget of the turn ends before the stream does.
    let turn = |more: Vec<Timed>| {
        let mut items = vec![tokens(0, &[11, 12, 13])];
        items.extend(more);
        Server::new(vec![items]).deaf()
    };
    let mut spec = spec();
    spec.limits.response_length = 2;
    for (more, version, uncertain) in [
        (vec![versions(20, 2), ended(0, GenerateFinish::Abort)], 7, false),
        (vec![tokens(20, &[14]), versions(20, 4)], 7, false),
        (vec![ended(20, GenerateFinish::Length)], 1, false),
        (vec![versions(60_000, 2)], 1, true),
    ] {
        let output = run_new(&agent_loop(services(&turn(more))), spec.clone()).await;
        let data = output.data();
        assert_eq!((finish(&output), data.transcript.response_ids()), ("response_length", &[11, 12][..]));
        assert_eq!(data.transcript.version_end(), Some(PolicyVersion(version)));
        assert_eq!(data.version_uncertain, uncertain);
    }
}
