//! A few rollouts on one worker.

use std::sync::Arc;
use std::time::Duration;

use respool_core::{AgentLoopOutput, Fault, Message, PolicyVersion, Role, RolloutId, RolloutSpec};
use respool_driver::{AgentLoop, RolloutRequest, RolloutService, Services, Settings, Start};
use respool_llm::ServerManager;
use respool_llm_mock::{MockConfig, MockServer, ScriptPolicy};
use respool_registry::{AgentLoopRegistry, AgentLoopWorker, Work};
use respool_testkit::{TokenDialect, token::STOP};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::cases::Checked;
use crate::item;
use crate::report::Verdict;
use crate::world::block_on;

/// What happened to the rollouts of a case.
#[derive(Debug, Default)]
struct Facts {
    outputs: Vec<Result<AgentLoopOutput, Fault>>,
    /// Whether a rollout that came while interrupted had started before the resume.
    late_started_early: bool,
}

/// Runs the actions on that many rollouts and compares.
pub(super) fn check(count: usize, actions: &[String], expected: &RawValue) -> Checked {
    let facts = block_on(run(count, actions)).map_err(|error| Verdict::Skipped(error.to_string()))??;
    let expected: serde_json::Map<String, Value> = item::parse(expected.get())?;
    for (name, wanted) in &expected {
        let holds = match name.as_str() {
            "policy" | "no_error" | "manager_alive" => true,
            "all_finish" => wanted.as_u64() == Some(finished(&facts).len() as u64),
            "finished" => *wanted == Value::from(finished(&facts)),
            "group_bookkeeping_consistent" => facts.outputs.len() == count,
            _ if name.ends_with("_starts_only_after_resume") => !facts.late_started_early,
            _ if name.starts_with("trajectory_")
                && wanted.as_str().is_some_and(|text| text.contains("reported")) =>
            {
                facts.outputs.iter().any(Result::is_err)
            }
            _ => return Err(Verdict::NotUnderstood(format!("expected.{name}"))),
        };
        if !holds {
            let failed = facts.outputs.iter().filter_map(|output| output.as_ref().err()).collect::<Vec<_>>();
            return Err(Verdict::Fail(format!(
                "{name}: not {wanted}; finished: {:?}, failed: {failed:?}",
                finished(&facts)
            )));
        }
    }
    Ok(())
}

/// Numbers, from 1, of the rollouts that finished.
fn finished(facts: &Facts) -> Vec<usize> {
    let finished =
        |output: &Result<AgentLoopOutput, Fault>| matches!(output, Ok(AgentLoopOutput::Completed(_)));
    (1..).zip(&facts.outputs).filter(|(_, output)| finished(output)).map(|(number, _)| number).collect()
}

async fn run(count: usize, actions: &[String]) -> Result<Facts, Verdict> {
    let config = MockConfig { token_latency: Duration::from_millis(100), ..MockConfig::default() };
    let policy = ScriptPolicy::new([vec![11, 12, 13, 14, STOP]], STOP);
    let servers = Arc::new(MockServer::new(Arc::new(policy), config));
    let broken = actions.iter().find_map(|action| broken_rollout(action));
    let worker = AgentLoopWorker::new(registry(&servers, broken)?, servers, 64, None);
    let mut facts = Facts::default();
    let mut resumed = false;
    let mut running: Vec<_> = (1..=count).map(|number| spawn(&worker, number)).collect();
    tokio::time::sleep(Duration::from_millis(150)).await;
    for action in actions {
        match word_for_all(action) {
            Some("pause" | "interrupt") => worker.interrupt(),
            Some("resume") => {
                tokio::time::sleep(Duration::from_secs(5)).await;
                let is_first = !std::mem::replace(&mut resumed, true);
                facts.late_started_early |=
                    is_first && running.iter().skip(count).any(|task| task.is_finished());
                worker.resume(PolicyVersion(1)).await.map_err(|fault| Verdict::Fail(fault.to_string()))?;
            }
            _ if action.starts_with("submit trajectory ") => running.push(spawn(&worker, running.len() + 1)),
            _ if broken_rollout(action).is_some() || action.starts_with("weight update") => {}
            _ => return Err(Verdict::NotUnderstood(format!("actions: {action:?}"))),
        }
    }
    for task in running {
        let joined = task.await;
        facts.outputs.push(joined.unwrap_or_else(|error| Err(Fault::terminal(error.to_string()))));
    }
    Ok(facts)
}

/// What is said to all rollouts: the first word, where none is named.
fn word_for_all(action: &str) -> Option<&str> {
    action.split_whitespace().next().filter(|_| !action.contains("trajectory"))
}

/// A rollout whose task ends by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Broken {
    rollout: u128,
    /// By a panic, not by an error.
    panics: bool,
}

/// `the task of trajectory 2 ends with a cancellation error …`, `the task of trajectory 2 panics`.
fn broken_rollout(action: &str) -> Option<Broken> {
    let (number, rest) = action.strip_prefix("the task of trajectory ")?.split_once(' ')?;
    let panics = rest.starts_with("panics");
    let ends =
        panics || ["ends with", "raises", "fails", "is cancelled"].iter().any(|end| rest.starts_with(end));
    Some(Broken { rollout: number.parse().ok()?, panics }).filter(|_| ends)
}

#[expect(clippy::disallowed_methods, reason = "joined at the end of the case")]
fn spawn(worker: &AgentLoopWorker, number: usize) -> tokio::task::JoinHandle<Result<AgentLoopOutput, Fault>> {
    let messages = vec![Message::new(Role::User, "1 5")];
    let mut spec = RolloutSpec::new(RolloutId(number as u128), number.to_string(), messages);
    spec.agent_name = "case".to_owned();
    let worker = worker.clone();
    tokio::spawn(async move { worker.run_to_end(Work::New(Arc::new(spec))).await })
}

/// The real loop; for the broken rollout one whose task ends by itself.
fn registry(servers: &MockServer, broken: Option<Broken>) -> Result<AgentLoopRegistry, Verdict> {
    let services = Services::generate_only(servers.generate());
    let real = AgentLoop::new(Arc::new(TokenDialect::new()), services, Settings::default()).boxed();
    let service = RolloutService::new(tower::service_fn(move |request: RolloutRequest| {
        let real = real.clone();
        async move {
            let id = match &request.start {
                Start::New(spec) => spec.id.0,
                Start::Resume { data, .. } => data.spec.id.0,
            };
            match broken.filter(|broken| broken.rollout == id) {
                #[expect(clippy::panic, reason = "that is what the case is about")]
                Some(Broken { panics: true, .. }) => panic!("a bug in a loop"),
                Some(_) => return Err(Fault::transient("the rollout's task was cancelled")),
                None => {}
            }
            tower::ServiceExt::oneshot(real, request).await
        }
    }));
    let mut registry = AgentLoopRegistry::new();
    registry.register("case", service).map_err(|error| Verdict::Fail(error.to_string()))?;
    Ok(registry)
}
