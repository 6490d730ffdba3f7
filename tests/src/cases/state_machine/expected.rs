//! What a case expects, name by name. A name that is not known is not understood.

use std::collections::BTreeMap;
use std::fmt::Debug;

use respool_core::{AgentLoopOutput, CallOutcome, Finish, PolicyVersion, Role, Transcript};
use serde_json::Value;
use serde_json::value::RawValue;

use super::run::Facts;
use crate::cases::Checked;
use crate::item;
use crate::json::Json;
use crate::report::Verdict;

/// Compares all that is expected.
pub(super) fn check(facts: &Facts, expected: &RawValue) -> Checked {
    let expected: BTreeMap<String, Box<RawValue>> = item::parse(expected.get())?;
    for (name, value) in &expected {
        let found = fact(facts, name, value)?;
        let (found, wanted) = (parse(&found.to_string())?, parse(value.get())?);
        if found != wanted {
            return Err(Verdict::Fail(format!("{name}: {found}, expected {wanted}")));
        }
    }
    Ok(())
}

fn parse(text: &str) -> Result<Json, Verdict> {
    Json::parse(text).map_err(|error| Verdict::NotUnderstood(error.to_string()))
}

/// The fact of that name, in the form that the case writes it. `wanted` is looked at only where
/// the case itself says how much it gives.
fn fact(facts: &Facts, name: &str, wanted: &RawValue) -> Result<Value, Verdict> {
    let data = facts.output.data();
    let transcript = &data.transcript;
    let value = match name {
        "policy" | "rationale" => return item::parse(wanted.get()),
        "response_ids" => transcript.response_ids().into(),
        "response_mask" => transcript.response_mask().into(),
        "response_logprobs" => logprobs(transcript),
        "token_versions" => {
            transcript.token_versions().iter().map(|version| version.map(|v| v.0)).collect::<Vec<_>>().into()
        }
        "response_len" => transcript.response_len().into(),
        "num_turns" => data.num_turns().into(),
        "assistant_turns" => data.assistant_turns.into(),
        "user_turns" => data.user_turns.into(),
        "version_min" => versions(transcript).min().map(|v| v.0).into(),
        "version_max" => versions(transcript).max().map(|v| v.0).into(),
        "aborts" | "aborts_reported" => data.interrupts().into(),
        "requests_sent" => facts.requests.len().into(),
        "requests" => requests(facts, wanted)?,
        "finish" => finish(&facts.output, wanted)?,
        "status" => status(facts).into(),
        "pending" => pending(&facts.output).into(),
        "pause_completes" => true.into(),
        "malformed" => data.calls_with(CallOutcome::Malformed).into(),
        "wasted_tokens" => data.wasted_tokens.into(),
        "tool_runs" => serde_json::json!(facts.tools.started),
        "tools_released" => facts.tools.released.keys().cloned().collect::<Vec<_>>().into(),
        "tool_calls" => tool_calls(&facts.output),
        "tool_results" => tool_results(&facts.output),
        "tool_results_recorded" => recorded(&facts.output),
        "every_call_has_exactly_one_result" => every_call_answered(&facts.output).into(),
        "order_kept" => order_kept(&facts.output),
        "ends_with_generated_token" => (transcript.response_mask().last() == Some(&1)).into(),
        "end_token_count_between_turns" => end_tokens(transcript, facts.end_token).into(),
        "same_as_without_process_change" => facts.same_without_process_change.into(),
        "cancel_latency_s_max" => return latency(facts, wanted),
        _ => return Err(Verdict::NotUnderstood(format!("expected.{name}"))),
    };
    Ok(value)
}

fn logprobs(transcript: &Transcript) -> Value {
    // As the cases write them: the shortest text that gives the same f32.
    let shortest = |value: f32| serde_json::from_str::<Value>(&value.to_string()).unwrap_or(Value::Null);
    let values = transcript.response_logprobs();
    values
        .into_iter()
        .map(|value| value.and_then(|value| value.get()).map_or(Value::Null, shortest))
        .collect()
}

fn versions(transcript: &Transcript) -> impl Iterator<Item = PolicyVersion> {
    transcript.token_versions().into_iter().flatten()
}

/// A request has what the case gives of it: `prompt_ids`, `max_tokens`, or both.
fn requests(facts: &Facts, wanted: &RawValue) -> Result<Value, Verdict> {
    let wanted: Vec<serde_json::Map<String, Value>> = item::parse(wanted.get())?;
    let none = serde_json::Map::new();
    let requests = facts.requests.iter().zip(wanted.iter().chain(std::iter::repeat(&none)));
    requests
        .map(|(request, wanted)| {
            let fields = wanted.keys().map(|name| {
                let value = match name.as_str() {
                    "prompt_ids" => request.prompt_ids.clone().into(),
                    "max_tokens" => request.max_tokens.into(),
                    _ => return Err(Verdict::NotUnderstood(format!("expected.requests: {name}"))),
                };
                Ok((name.clone(), value))
            });
            fields.collect::<Result<serde_json::Map<_, _>, _>>().map(Value::Object)
        })
        .collect()
}

/// Our reason, in the word that the case uses where that word means it too.
fn finish(output: &AgentLoopOutput, wanted: &RawValue) -> Result<Value, Verdict> {
    let (AgentLoopOutput::Completed(trajectory) | AgentLoopOutput::Failed { trajectory, .. }) = output else {
        return Ok("interrupted".into());
    };
    let wanted: String = item::parse(wanted.get())?;
    let finish = &trajectory.finish;
    let is_meant = match wanted.as_str() {
        "length" => matches!(finish, Finish::ResponseLength | Finish::ContextLength | Finish::TurnLength),
        "max_turns" => matches!(finish, Finish::AssistantTurns | Finish::UserTurns),
        "stop" => *finish == Finish::Answered,
        "other" => matches!(finish, Finish::Repetition | Finish::Other(_)),
        _ => false,
    };
    Ok(if is_meant { wanted.into() } else { finish.name().into() })
}

fn status(facts: &Facts) -> &'static str {
    match &facts.output {
        AgentLoopOutput::Completed(trajectory) if trajectory.finish == Finish::Cancelled => "cancelled",
        AgentLoopOutput::Completed(_) => "finished",
        AgentLoopOutput::Cancelled { .. } => "paused",
        AgentLoopOutput::Failed { .. } if facts.requests.is_empty() => "rejected",
        AgentLoopOutput::Failed { .. } => "failed",
    }
}

fn pending(output: &AgentLoopOutput) -> &'static str {
    use respool_core::AgentState;
    match output {
        AgentLoopOutput::Cancelled { state: AgentState::Generating { .. } | AgentState::Pending, .. } => {
            "next request"
        }
        AgentLoopOutput::Cancelled { state: AgentState::ProcessingTools { .. }, .. } => "tools",
        AgentLoopOutput::Cancelled { state: AgentState::Interacting { .. }, .. } => "interaction",
        AgentLoopOutput::Cancelled { .. }
        | AgentLoopOutput::Completed(_)
        | AgentLoopOutput::Failed { .. } => "nothing",
    }
}

fn tool_calls(output: &AgentLoopOutput) -> Value {
    let calls = output.data().messages.iter().flat_map(|message| &message.tool_calls);
    let arguments = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    calls
        .map(|call| serde_json::json!({"name": call.name, "arguments": arguments(call.arguments.as_str())}))
        .collect()
}

fn tool_results(output: &AgentLoopOutput) -> Value {
    let results = output.data().messages.iter().filter(|message| message.role == Role::Tool);
    let is_error = |outcome: Option<CallOutcome>| outcome.is_some_and(|outcome| outcome != CallOutcome::Ok);
    results
        .map(|message| serde_json::json!({"for": message.name, "error": is_error(message.outcome)}))
        .collect()
}

fn recorded(output: &AgentLoopOutput) -> Value {
    let results = output.data().calls.iter().map(|call| (call.name.clone(), call.outcome.as_str().into()));
    Value::Object(results.collect())
}

/// Ids of calls and of the results that answer them. What could not be read is no call, though it is
/// answered too.
fn answered(output: &AgentLoopOutput) -> (Vec<&str>, Vec<&str>) {
    let messages = &output.data().messages;
    let calls = messages.iter().flat_map(|message| &message.tool_calls).map(|call| call.id.as_str());
    let of_calls = messages.iter().filter(|message| message.outcome != Some(CallOutcome::Malformed));
    let results = of_calls.filter_map(|message| message.tool_call_id.as_deref());
    (calls.collect(), results.collect())
}

fn every_call_answered(output: &AgentLoopOutput) -> bool {
    let (mut calls, mut results) = answered(output);
    calls.sort_unstable();
    results.sort_unstable();
    calls == results
}

fn order_kept(output: &AgentLoopOutput) -> Value {
    let (calls, results) = answered(output);
    if calls == results { true.into() } else { format!("calls {calls:?}, results {results:?}").into() }
}

/// End tokens before the last turn's tokens, divided among the turns that were followed by one.
fn end_tokens(transcript: &Transcript, end: u32) -> usize {
    let mask = transcript.response_mask();
    let last_given = mask.iter().rposition(|mask| *mask == 0).unwrap_or(0);
    let between = transcript.response_ids()[..last_given].iter().filter(|token| **token == end).count();
    let turns = transcript.runs().iter().filter(|run| !run.is_sampled()).count().max(1);
    between / turns
}

/// A bound: the expected value itself where it holds.
fn latency(facts: &Facts, wanted: &RawValue) -> Result<Value, Verdict> {
    let bound: f64 = item::parse(wanted.get())?;
    let found = facts.cancel_latency.map(|latency| latency.as_secs_f64());
    let holds = found.is_some_and(|found| found <= bound);
    if holds { item::parse(wanted.get()) } else { Ok(describe(found)) }
}

fn describe(value: impl Debug) -> Value {
    format!("{value:?}").into()
}
