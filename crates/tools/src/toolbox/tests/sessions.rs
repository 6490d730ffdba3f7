//! R14: created at the first call, kept under a lease, released once on every way out.

use futures_util::FutureExt;
use proptest::prelude::*;
use tower::Service;

use super::*;

/// Lets tasks that were woken run.
async fn settle() {
    sleep(Duration::from_millis(1)).await;
}

fn with_kwargs(request: ToolRequest, what: &str) -> ToolRequest {
    ToolRequest { create_kwargs: JsonText::new(json!({ "do": what }).to_string()).unwrap(), ..request }
}

fn resumed(policy: SessionPolicy, history: &[(&str, &str)]) -> ToolRequest {
    let history = history.iter().map(|(id, what)| call("probe", id, &json!({ "do": what })));
    ToolRequest { session: policy, history: history.collect(), ..probe("now", "ok") }
}

#[tokio::test(start_paused = true)]
async fn every_way_out_releases_once() {
    for end in ["ok", "error", "panic", "infra", "hang"] {
        let tool = Probe::new(SessionPolicy::Stateless);
        let tools = toolbox(&tool);
        run(&tools, probe("a", end)).await;
        run(&tools, probe("b", "ok")).await;
        session(&tools, SessionAction::Release).await;
        session(&tools, SessionAction::Release).await;
        assert_eq!((tool.count("create"), tool.count("release")), (1, 1), "{end}");
        assert_eq!(tools.open_sessions(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_creation_is_released_and_the_next_call_creates_anew() {
    for end in ["error", "panic", "infra", "hang"] {
        let tool = Probe::new(SessionPolicy::Lost);
        let tools = toolbox(&tool);
        let result = run(&tools, with_kwargs(probe("a", "ok"), end)).await;
        assert_eq!(result.outcome, CallOutcome::Infrastructure, "{end}");
        settle().await;
        assert_eq!((tool.count("create"), tool.count("release")), (1, 1), "{end}");
        // There never was a session, so none was lost.
        let next = run(&tools, resumed(SessionPolicy::Lost, &[("a", "ok")])).await;
        assert_eq!(next.outcome, CallOutcome::Ok, "{end}");
        session(&tools, SessionAction::Release).await;
        assert_eq!((tool.count("create"), tool.count("release")), (2, 2), "{end}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_a_creation_that_fails_try_themselves() {
    let tool = Probe::new(SessionPolicy::Stateless);
    let tools = toolbox(&tool);
    let broken = run(&tools, with_kwargs(probe("a", "ok"), "error"));
    let results = join_all([broken, run(&tools, probe("b", "ok")), run(&tools, probe("c", "ok"))]).await;
    let outcomes: Vec<_> = results.iter().map(|result| result.outcome).collect();
    assert_eq!(outcomes, [CallOutcome::Infrastructure, CallOutcome::Ok, CallOutcome::Ok]);
    tools.close().await.unwrap();
    assert_eq!((tool.count("create"), tool.count("release")), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_leaves_no_half_created_session() {
    let tool = Probe::new(SessionPolicy::Stateless);
    let tools = toolbox(&tool);
    let cut = Duration::from_millis(10);
    let creating = tokio::time::timeout(cut, run(&tools, with_kwargs(probe("a", "ok"), "hang"))).await;
    assert!(creating.is_err());
    settle().await;
    assert_eq!((tool.count("release"), tools.open_sessions()), (1, 0));
    let running = tokio::time::timeout(cut, run(&tools, probe("a", "hang"))).await;
    assert!(running.is_err());
    assert_eq!((tool.count("release"), tools.open_sessions()), (1, 1), "a whole session stays");
    session(&tools, SessionAction::Release).await;
    assert_eq!((tool.count("create"), tool.count("release")), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_release_cancels_running_calls_first() {
    let tool = Probe::new(SessionPolicy::Stateless);
    let tools = Toolbox::builder().tool(tool.clone()).build().unwrap();
    let began = Instant::now();
    let release = async {
        sleep(Duration::from_millis(10)).await;
        session(&tools, SessionAction::Release).await;
    };
    let (result, ()) = tokio::join!(run(&tools, probe("a", "hang")), release);
    assert_eq!(result, ToolResult::text(CallOutcome::Cancelled, "tool `probe`: cancelled"));
    assert_eq!(tool.log(), ["create", "run a", "cut", "release"]);
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_polls_does_not_hold_up_the_release() {
    let tool = Probe::new(SessionPolicy::Stateless);
    let tools = Toolbox::builder().tool(tool.clone()).build().unwrap();
    let mut stuck = Box::pin(run(&tools, probe("a", "hang")));
    assert!((&mut stuck).now_or_never().is_none());
    session(&tools, SessionAction::Release).await;
    assert_eq!(tool.count("release"), 1);
    assert_eq!(stuck.await.outcome, CallOutcome::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_release_waits_for_the_end_of_running_calls() {
    let tool = Probe::new(SessionPolicy::Stateless);
    let tools = Toolbox::builder().tool(tool.clone()).build().unwrap();
    let mut slow = Box::pin(run(&tools, probe("a", "hang")));
    assert!((&mut slow).now_or_never().is_none());
    let mut release = Box::pin(session(&tools, SessionAction::Release));
    assert!((&mut release).now_or_never().is_none());
    sleep(Duration::from_secs(1)).await;
    assert_eq!(tool.log(), ["create", "run a"]);
    tokio::join!(slow, release);
    assert_eq!(tool.log(), ["create", "run a", "cut", "release"]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_release_still_releases() {
    let tool = Probe::new(SessionPolicy::Stateless);
    let tools = toolbox(&tool);
    run(&tools, probe("a", "ok")).await;
    let request = SessionRequest { rollout: ROLLOUT, action: SessionAction::Release };
    drop(tools.sessions().call(request));
    settle().await;
    assert_eq!(tool.count("release"), 1);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_lease_releases() {
    let tool = Probe::new(SessionPolicy::Stateless);
    let tools = Toolbox::builder().tool(tool.clone()).build().unwrap();
    run(&tools, probe("a", "ok")).await;
    sleep(DEFAULT_LEASE * 2).await;
    assert_eq!(tool.count("release"), 0, "no lease while the rollout runs");
    session(&tools, SessionAction::Keep).await;
    sleep(DEFAULT_LEASE - Duration::from_secs(1)).await;
    session(&tools, SessionAction::Keep).await;
    sleep(DEFAULT_LEASE - Duration::from_secs(1)).await;
    run(&tools, probe("b", "ok")).await;
    sleep(DEFAULT_LEASE * 2).await;
    assert_eq!(tool.log(), ["create", "run a", "run b"], "renewed, then ended by a call");
    session(&tools, SessionAction::Keep).await;
    sleep(DEFAULT_LEASE + Duration::from_secs(1)).await;
    assert_eq!(tool.log(), ["create", "run a", "run b", "release"]);
    session(&tools, SessionAction::Release).await;
    assert_eq!(tool.count("release"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_is_what_the_tool_declares() {
    let history = [("c0", "ok"), ("c1", "error"), ("c2", "panic")];
    let check = async |policy, replay, outcome, log: &[&str]| {
        let mut tool = Probe::new(policy);
        tool.spec.replay = replay;
        let tools = toolbox(&tool);
        let result = run(&tools, resumed(policy, &history)).await;
        assert_eq!(result.outcome, outcome, "{policy:?}: {result:?}");
        tools.close().await.unwrap();
        settle().await;
        assert_eq!(tool.log(), log, "{policy:?}");
        result.content.text()
    };
    use {CallOutcome::Infrastructure, CallOutcome::Ok, Replay::Keyed, Replay::Once};
    check(SessionPolicy::Stateless, Keyed, Ok, &["create", "run now", "release"]).await;
    check(SessionPolicy::Reattach, Keyed, Ok, &["create again", "run now", "release"]).await;
    let rebuilt = ["create", "rerun c0", "rerun c1", "rerun c2", "run now", "release"];
    check(SessionPolicy::Rebuild, Keyed, Ok, &rebuilt).await;
    let text = check(SessionPolicy::Rebuild, Once, Infrastructure, &[]).await;
    assert!(text.contains("replay `once`"), "{text}");
    let text = check(SessionPolicy::Lost, Keyed, Infrastructure, &[]).await;
    assert!(text.ends_with("the session of earlier calls was lost, and what it held is gone"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_rebuild_that_meets_the_infrastructure_fails_and_is_released() {
    let tool = Probe::new(SessionPolicy::Rebuild);
    let tools = toolbox(&tool);
    let result = run(&tools, resumed(SessionPolicy::Rebuild, &[("c0", "infra")])).await;
    assert_eq!(result.outcome, CallOutcome::Infrastructure);
    settle().await;
    assert_eq!(tool.log(), ["create", "rerun c0", "release"]);
    run(&tools, resumed(SessionPolicy::Rebuild, &[("c0", "ok")])).await;
    assert_eq!(tool.log()[3..], ["create", "rerun c0", "run now"], "it is still to be rebuilt");
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Call { create: &'static str, execute: &'static str, cut_ms: u64 },
    Keep,
    Release,
    Wait { seconds: u64 },
}

fn act() -> impl Strategy<Value = Act> {
    let what = || prop::sample::select(vec!["ok", "error", "panic", "infra", "hang"]);
    prop_oneof![
        4 => (what(), what(), 0u64..2000).prop_map(|(create, execute, cut_ms)| Act::Call { create, execute, cut_ms }),
        1 => Just(Act::Keep),
        1 => Just(Act::Release),
        1 => (0u64..900).prop_map(|seconds| Act::Wait { seconds }),
    ]
}

proptest! {
    /// Acts start 100 ms after each other; calls run on beside the later ones.
    #[test]
    fn whatever_happens_each_creation_is_released_once(acts in prop::collection::vec(act(), 0..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let tool = Probe::new(SessionPolicy::Stateless);
        let tools = toolbox(&tool);
        runtime.block_on(async {
            let mut start = Duration::ZERO;
            let runs = acts.into_iter().map(|act| {
                start += Duration::from_millis(100);
                let began = start;
                if let Act::Wait { seconds } = act {
                    start += Duration::from_secs(seconds);
                }
                perform(&tools, began, act)
            });
            join_all(runs.collect::<Vec<_>>()).await;
            tools.close().await.unwrap();
            settle().await;
        });
        prop_assert_eq!(tools.open_sessions(), 0);
        prop_assert_eq!(tool.count("create"), tool.count("release"), "{:?}", tool.log());
    }
}

async fn perform(tools: &Toolbox, began: Duration, act: Act) {
    sleep(began).await;
    match act {
        Act::Call { create, execute, cut_ms } => {
            let call = run(tools, with_kwargs(probe("a", execute), create));
            // Over 1 s the call's own timeout comes first.
            drop(tokio::time::timeout(Duration::from_millis(cut_ms), call).await);
        }
        Act::Keep => session(tools, SessionAction::Keep).await,
        Act::Release => session(tools, SessionAction::Release).await,
        Act::Wait { .. } => {}
    }
}
