//! R6: whose fault a failure is, and what the policy is told.

use super::*;

#[track_caller]
fn check(result: &ToolResult, outcome: CallOutcome, text: &str) {
    assert_eq!(result, &ToolResult::text(outcome, text));
}

#[tokio::test(start_paused = true)]
async fn every_failure_is_a_result_with_a_text() {
    let tool = Probe::new(SessionPolicy::Stateless);
    let tools = toolbox(&tool);
    let unknown = run(&tools, request(call("prob", "a", &json!({})))).await;
    check(&unknown, CallOutcome::Wrong, "unknown tool `prob`, expected one of `probe`");
    let failed = run(&tools, probe("a", "error")).await;
    check(&failed, CallOutcome::Wrong, "tool `probe`: failed: no such file");
    let panicked = run(&tools, probe("a", "panic")).await;
    check(&panicked, CallOutcome::Wrong, "tool `probe`: failed: panicked: index out of range");
    let infra = run(&tools, probe("a", "infra")).await;
    check(&infra, CallOutcome::Infrastructure, "tool `probe`: infrastructure error: connection lost");
    let late = run(&tools, probe("a", "hang")).await;
    check(&late, CallOutcome::Infrastructure, "tool `probe`: timed out after 1s");
    assert_eq!(run(&tools, probe("a", "ok")).await.outcome, CallOutcome::Ok, "the session goes on");
}

#[tokio::test]
async fn bad_arguments_are_named_and_the_function_does_not_run() {
    let tools = Toolbox::builder().tool(calculator().unwrap()).build().unwrap();
    let result = run(&tools, request(call("calculator", "a", &json!({"expr": "1"})))).await;
    let text = "tool `calculator`: bad arguments: missing field `expression` at line 1 column 12";
    check(&result, CallOutcome::Wrong, text);
}

#[tokio::test(start_paused = true)]
async fn a_silent_or_broken_tool_does_not_disturb_its_siblings() {
    for broken in ["hang", "panic", "error", "infra"] {
        let tool = Probe::new(SessionPolicy::Stateless);
        let tools = toolbox(&tool);
        let began = Instant::now();
        let results = join_all([run(&tools, probe("t01", broken)), run(&tools, probe("t02", 0.05))]).await;
        assert_ne!(results[0].outcome, CallOutcome::Ok);
        assert_eq!(results[1].outcome, CallOutcome::Ok);
        assert!(began.elapsed() <= Duration::from_millis(1500));
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_have_a_timeout_of_its_own() {
    let tool = Probe::new(SessionPolicy::Stateless);
    let own = Duration::from_millis(100);
    let tools = Toolbox::builder().tool_with_timeout(tool, own).build().unwrap();
    let result = run(&tools, probe("a", "hang")).await;
    check(&result, CallOutcome::Infrastructure, "tool `probe`: timed out after 100ms");
}

#[tokio::test]
async fn rewards_and_metrics_must_be_finite() {
    let output = |reward: f64, metric: f64| async move {
        let spec = function_spec("score", "", &json!({})).unwrap();
        let function = move |_: serde_json::Value| async move {
            Ok(ToolOutput::new("x").with_reward(reward).with_metric("depth", metric))
        };
        let tools = Toolbox::builder().tool(function_tool(spec, function)).build().unwrap();
        run(&tools, request(call("score", "a", &json!({})))).await
    };
    let good = output(0.5, 2.0).await;
    assert_eq!((good.reward, good.metrics), (Some(0.5), vec![("depth".to_owned(), 2.0)]));
    let nan = output(f64::NAN, 2.0).await;
    check(&nan, CallOutcome::Wrong, "tool `score`: failed: the reward is NaN, expected a finite number");
    let infinite = output(0.5, f64::INFINITY).await;
    check(&infinite, CallOutcome::Wrong, "tool `score`: failed: depth is inf, expected a finite number");
}

#[tokio::test]
async fn the_idempotency_key_is_the_calls_own() {
    let first = call("t", "a", &json!({}));
    let second = call("t", "b", &json!({}));
    let key =
        |call: &ToolCall, rebuilding| ExecuteRequest { rollout: ROLLOUT, call, rebuilding }.idempotency_key();
    assert_eq!(key(&first, false), key(&first, true));
    assert_ne!(key(&first, false), key(&second, false));
}
