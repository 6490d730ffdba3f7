//! Rollouts that call tools in their first turn and answer in their second.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use respool_core::{
    AgentLoopOutput, CallOutcome, GenerateFinish, Limits, Message, Role, RolloutId, RolloutSpec, Token,
};
use respool_driver::{AgentLoop, Control, RolloutRequest, Services, Settings, Start};
use respool_interact::Rewards;
use respool_testkit::{TokenDialect, token};
use respool_tools::Toolbox;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::ServiceExt;

use crate::cases::Checked;
use crate::item;
use crate::report::Verdict;
use crate::world::block_on;
use crate::world::server::{Interrupt, Reply, ScriptedServer};
use crate::world::tools::{Behaviour, Counts, Seen, StubTool, behaviour};

/// Calls of one turn.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Batch {
    calls: Vec<String>,
    #[serde(default)]
    tools: BTreeMap<String, String>,
    tool_timeout_s: Option<f64>,
    max_parallel_calls: Option<u32>,
}

/// One rollout for each way in which a call can end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ends {
    runs: usize,
    ends: Vec<String>,
}

/// Something that happens to a rollout.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Event {
    event: String,
}

struct Facts {
    output: AgentLoopOutput,
    wall: Duration,
    seen: Counts,
}

/// Runs the calls and compares.
pub(super) fn check(input: &Batch, expected: &RawValue) -> Checked {
    let timeout = input.tool_timeout_s.map_or(Ok(Duration::from_secs(60)), |seconds| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|error| Verdict::NotUnderstood(format!("tool_timeout_s: {error}")))
    })?;
    let quick = "0 s".to_owned();
    let tools = input.calls.iter().map(|name| {
        let words = input.tools.get(name).unwrap_or(&quick);
        Ok((name.as_str(), behaviour(words)?))
    });
    let tools = tools.collect::<Result<BTreeMap<_, _>, Verdict>>()?;
    let facts = block_on(run(&input.calls, &tools, timeout, input.max_parallel_calls, None));
    let facts = facts.map_err(|error| Verdict::Skipped(error.to_string()))??;
    let mut expected: serde_json::Map<String, Value> = item::parse(expected.get())?;
    let others = expected.remove("also_acceptable");
    let difference = match compare(&facts, &expected) {
        Err(Verdict::Fail(difference)) => difference,
        other => return other,
    };
    let others: Vec<serde_json::Map<String, Value>> = match others {
        Some(others) => {
            serde_json::from_value(others).map_err(|error| Verdict::NotUnderstood(error.to_string()))?
        }
        None => Vec::new(),
    };
    if others.iter().any(|other| compare(&facts, other).is_ok()) {
        Ok(())
    } else {
        Err(Verdict::Fail(difference))
    }
}

fn compare(facts: &Facts, expected: &serde_json::Map<String, Value>) -> Checked {
    for (name, wanted) in expected {
        let found = match name.as_str() {
            "policy" => continue,
            "results_in_order" => results(facts, wanted),
            "result_order" => called(facts),
            "run" => facts.seen.started.keys().cloned().collect::<Vec<_>>().into(),
            "concurrency_max" => facts.seen.most_running.into(),
            "wall_s_max" => bounded(facts.wall, wanted),
            "trajectory_continues" => matches!(facts.output, AgentLoopOutput::Completed(_)).into(),
            _ if name.ends_with("_released") => {
                (facts.seen.released.get(name.trim_end_matches("_released")) == Some(&1)).into()
            }
            tool if facts.output.data().calls.iter().any(|call| call.name == tool) => {
                over_limit(facts, tool, wanted)
            }
            _ => return Err(Verdict::NotUnderstood(format!("expected.{name}"))),
        };
        if found != *wanted {
            return Err(Verdict::Fail(format!("{name}: {found}, expected {wanted}")));
        }
    }
    Ok(())
}

/// The tool messages in order, each with what the case gives of it.
fn results(facts: &Facts, wanted: &Value) -> Value {
    let wanted = wanted.as_array().map(Vec::as_slice).unwrap_or_default();
    let messages = facts.output.data().messages.iter().filter(|message| message.role == Role::Tool);
    let results =
        messages.zip(wanted.iter().chain(std::iter::repeat(&Value::Null))).map(|(message, wanted)| {
            let text = message.content.text();
            match wanted.get("error").and_then(Value::as_str) {
                Some("timeout")
                    if message.outcome == Some(CallOutcome::Infrastructure) && text.contains("time") =>
                {
                    json!({"for": message.name, "error": "timeout"})
                }
                Some(_) => json!({"for": message.name, "error": text}),
                None => json!({"for": message.name, "text": text}),
            }
        });
    results.collect()
}

fn called(facts: &Facts) -> Value {
    let messages = facts.output.data().messages.iter().filter(|message| message.role == Role::Tool);
    messages.map(|message| json!(message.name)).collect()
}

fn bounded(wall: Duration, wanted: &Value) -> Value {
    let holds = wanted.as_f64().is_some_and(|bound| wall.as_secs_f64() <= bound);
    if holds { wanted.clone() } else { wall.as_secs_f64().into() }
}

/// What became of a call that was not run.
fn over_limit(facts: &Facts, tool: &str, wanted: &Value) -> Value {
    let data = facts.output.data();
    let counted = data.calls.iter().any(|call| call.name == tool && call.outcome == CallOutcome::OverLimit);
    let answered = data.messages.iter().any(|message| {
        message.role == Role::Tool
            && message.name.as_deref() == Some(tool)
            && message.content.text().contains("Error")
    });
    match (counted, answered) {
        (true, true) => "answered with an error text".into(),
        (true, false) if wanted.as_str().is_some_and(|text| text.contains("counted")) => wanted.clone(),
        (counted, answered) => format!("counted: {counted}, answered: {answered}").into(),
    }
}

/// Every way out releases once.
pub(super) fn check_ends(input: &Ends, expected: &RawValue) -> Checked {
    if input.runs != input.ends.len() {
        return Err(Verdict::NotUnderstood(format!("{} runs with {} ends", input.runs, input.ends.len())));
    }
    let mut runs = Vec::new();
    for end in &input.ends {
        let cancel = (end == "trajectory cancelled").then_some(Duration::from_millis(100));
        let behaviour = match end.as_str() {
            "normal" => Behaviour::Answers { text: "ok".to_owned(), after: Duration::ZERO },
            "tool returns error" => Behaviour::Raises,
            "tool panics" => Behaviour::Panics,
            "timeout" | "trajectory cancelled" => Behaviour::Hangs,
            "create fails after acquiring" => Behaviour::FailsToCreate,
            _ => return Err(Verdict::NotUnderstood(format!("ends: {end:?}"))),
        };
        let tools = BTreeMap::from([("t01", behaviour)]);
        let calls = ["t01".to_owned()];
        let run = run(&calls, &tools, Duration::from_secs(1), None, cancel);
        runs.push(block_on(run).map_err(|error| Verdict::Skipped(error.to_string()))??.seen);
    }
    let total = |counts: fn(&Counts) -> &BTreeMap<String, usize>| -> usize {
        runs.iter().flat_map(|run| counts(run).values()).sum()
    };
    let once_each = runs.iter().all(|run| run.created == run.released && run.created.get("t01") == Some(&1));
    let found = json!({
        "create_count": total(|run| &run.created),
        "release_count": total(|run| &run.released),
        "release_once_each": once_each,
    });
    let expected: Value = item::parse(expected.get())?;
    if found == expected { Ok(()) } else { Err(Verdict::Fail(format!("{found}, expected {expected}"))) }
}

/// A lost sandbox says nothing about the policy. That a rollout is tried again is the rollout
/// manager's, which is not built.
pub(super) fn check_event(input: &Event, expected: &RawValue) -> Checked {
    let has = |any: &[&str]| any.iter().any(|part| input.event.contains(part));
    if !has(&["sandbox", "connection", "tool server"])
        || !has(&["lost", "refused", "reset", "gone", "unreachable"])
    {
        return Err(Verdict::NotUnderstood(format!("event {:?}", input.event)));
    }
    let tools = BTreeMap::from([("t01", Behaviour::Unreachable)]);
    let facts = block_on(run(&["t01".to_owned()], &tools, Duration::from_secs(1), None, None));
    let facts = facts.map_err(|error| Verdict::Skipped(error.to_string()))??;
    let data = facts.output.data();
    let flagged = data.calls_with(CallOutcome::Infrastructure) > 0;
    let expected: serde_json::Map<String, Value> = item::parse(expected.get())?;
    for (name, wanted) in &expected {
        let found: Value = match name.as_str() {
            "policy" => continue,
            "sample_status" if flagged => "infrastructure_failure".into(),
            "sample_status" => "ok".into(),
            "reward" => data.reward_score.into(),
            "counted_in_metrics" => flagged.into(),
            _ => return Err(Verdict::NotUnderstood(format!("expected.{name}"))),
        };
        if found != *wanted {
            return Err(Verdict::Fail(format!("{name}: {found}, expected {wanted}")));
        }
    }
    Ok(())
}

async fn run(
    calls: &[String],
    tools: &BTreeMap<&str, Behaviour>,
    timeout: Duration,
    max_parallel_calls: Option<u32>,
    cancel_after: Option<Duration>,
) -> Result<Facts, Verdict> {
    let seen = Seen::default();
    let mut builder = Toolbox::builder().timeout(timeout);
    for (name, behaviour) in tools {
        builder = builder.tool(StubTool::new(name, behaviour.clone(), &seen)?);
    }
    let toolbox = builder.build().map_err(|error| Verdict::NotUnderstood(format!("tools: {error}")))?;
    let server = ScriptedServer::new(vec![reply(call_tokens(calls)?), reply(vec![14, token::STOP])], false);
    let services = Services {
        tools: toolbox.service(),
        sessions: toolbox.sessions(),
        ..Services::generate_only(server.service())
    };
    let dialect = Arc::new(TokenDialect::new());
    let agent_loop = AgentLoop::new(dialect, services, Settings::default()).boxed();
    let rewards = Arc::new(Rewards::built_in());
    let service = respool_registry::with_reward(agent_loop, rewards, "exact_match");
    let control = Control::new();
    let start = Instant::now();
    let request =
        RolloutRequest::new(Start::New(Arc::new(spec(&toolbox, max_parallel_calls))), control.clone());
    let call = service.oneshot(request);
    let cancel = async {
        if let Some(after) = cancel_after {
            tokio::time::sleep(after).await;
            control.cancel();
        }
    };
    let (output, ()) = tokio::join!(call, cancel);
    let output = output.map_err(|fault| Verdict::Fail(format!("the loop failed: {fault}")))?;
    let wall = start.elapsed();
    toolbox.close().await.map_err(|fault| Verdict::Fail(format!("closing the toolbox: {fault}")))?;
    Ok(Facts { output, wall, seen: seen.counts() })
}

fn spec(toolbox: &Toolbox, max_parallel_calls: Option<u32>) -> RolloutSpec {
    let mut spec = RolloutSpec::new(RolloutId(1), "case", vec![Message::new(Role::User, "1 5")]);
    spec.tools = toolbox.specs();
    spec.ground_truth = respool_core::JsonText::new("\"e\"").ok();
    spec.limits = Limits { max_parallel_calls: max_parallel_calls.unwrap_or(u32::MAX), ..Limits::default() };
    spec
}

fn reply(tokens: Vec<Token>) -> Reply {
    let finish = Some(GenerateFinish::Stop);
    Reply { tokens, logprobs: None, finish, version: 0, interrupt: Interrupt::Never }
}

/// One call token for each name, then the end of the turn.
fn call_tokens(calls: &[String]) -> Result<Vec<Token>, Verdict> {
    let number = |name: &String| -> Option<Token> {
        name.strip_prefix('t')?.parse().ok().filter(|number| *number < 100)
    };
    let tokens = calls.iter().map(|name| {
        let number = number(name).ok_or_else(|| Verdict::NotUnderstood(format!("calls: {name:?}")))?;
        Ok(token::CALL + number)
    });
    tokens.chain([Ok(token::STOP)]).collect()
}
