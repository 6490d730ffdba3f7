//! Calls in place of those that could not be read: some templates refuse tool messages after an
//! assistant message without calls, but a turn of nothing but malformed calls is answered by such.
//!
//! Only what the template writes after the turn is used, so what the turn itself would look like with
//! these calls reaches no one.

use minijinja::value::Value;

use crate::python::{Dict, List};

/// A chat in which every tool message has a call before it.
#[derive(Debug)]
pub(crate) struct Chat {
    pub(crate) prefix: Vec<Value>,
    pub(crate) turn: Value,
    pub(crate) new: Vec<Value>,
}

/// What a call is named whose tool message names none.
const UNNAMED: &str = "unknown";

/// The chat with stand-in calls in the assistant messages that need them; `None` if none does.
pub(crate) fn with_calls(prefix: &[Value], turn: &Value, new: &[Value]) -> Option<Chat> {
    let mut all: Vec<Value> = prefix.iter().chain([turn]).chain(new).cloned().collect();
    let mut found = false;
    for at in 0..all.len() {
        let results: Vec<&Dict> = all[at + 1..].iter().map_while(tool_message).collect();
        if !results.is_empty() && lacks_calls(&all[at]) {
            all[at] = turn_of(&results);
            found = true;
        }
    }
    let new = all.split_off(prefix.len() + 1);
    let turn = all.pop().filter(|_| found)?;
    Some(Chat { prefix: all, turn, new })
}

fn tool_message(message: &Value) -> Option<&Dict> {
    message.downcast_object_ref::<Dict>().filter(|dict| dict.text("role") == Some("tool"))
}

fn lacks_calls(message: &Value) -> bool {
    message.downcast_object_ref::<Dict>().is_some_and(|dict| {
        let has_calls = dict.0.get("tool_calls").is_some_and(Value::is_true);
        dict.text("role") == Some("assistant") && !has_calls
    })
}

/// A turn of one call a result and nothing else: templates are particular about what stands beside calls.
fn turn_of(results: &[&Dict]) -> Value {
    let calls = results.iter().map(|result| {
        let function = Dict::of([
            ("name", result.text("name").unwrap_or(UNNAMED).into()),
            ("arguments", Dict::of([]).into_value()),
        ]);
        let mut call = Dict::of([("type", "function".into()), ("function", function.into_value())]);
        if let Some(id) = result.text("tool_call_id") {
            call.set("id", id);
        }
        call.into_value()
    });
    Dict::of([
        ("role", "assistant".into()),
        ("content", "".into()),
        ("tool_calls", List::value(calls.collect())),
    ])
    .into_value()
}

#[cfg(test)]
mod tests;
