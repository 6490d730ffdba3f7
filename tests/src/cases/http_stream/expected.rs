//! What is expected of a client, and whether it was so.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use crate::cases::Checked;
use crate::report::Verdict;
use crate::wire::{Collected, finish_word};

/// What is expected; what is not given does not count.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Expected {
    #[serde(default)]
    also_acceptable: Vec<Map<String, Value>>,
    /// For people.
    #[serde(rename = "policy")]
    _policy: Option<IgnoredAny>,
    /// Results that always fail, in words: a result that is equal to one of those above is none of them.
    #[serde(default, rename = "must_not")]
    _must_not: Vec<String>,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

/// Fields that the client has nothing to do with.
const BESIDE: [&str; 3] = ["text", "warning", "version_min"];

impl Expected {
    /// Whether what was seen is the preferred result, or one that is acceptable too.
    pub(super) fn check(&self, seen: &Value) -> Checked {
        let mut first = None;
        for fields in std::iter::once(&self.fields).chain(&self.also_acceptable) {
            match matches(fields, seen)? {
                None => return Ok(()),
                Some(difference) => first = first.or(Some(difference)),
            }
        }
        Err(Verdict::Fail(first.unwrap_or_default()))
    }
}

/// The first field that differs.
fn matches(fields: &Map<String, Value>, seen: &Value) -> Result<Option<String>, Verdict> {
    for (key, expected) in fields.iter().filter(|(key, _)| !BESIDE.contains(&key.as_str())) {
        let Some(found) = seen.get(key) else {
            return Err(Verdict::NotUnderstood(format!("expected.{key}")));
        };
        if !is_equal(expected, found) {
            return Ok(Some(format!("{key}: expected {expected}, found {found}")));
        }
    }
    Ok(None)
}

/// Numbers as f32, the precision of log-probabilities; every flagged value is *missing* here.
fn is_equal(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_equal(a, b)))
        }
        (Value::Number(a), Value::Number(b)) => a.as_f64().map(|a| a as f32) == b.as_f64().map(|b| b as f32),
        (Value::String(a), Value::String(b)) => a == b || (b == "missing" && is_flag(a)),
        (a, b) => a == b,
    }
}

fn is_flag(word: &str) -> bool {
    ["missing", "nan", "inf", "-inf"].contains(&word.to_lowercase().as_str())
}

/// What the client gave, in the words of the cases.
pub(super) fn seen(all: &Collected) -> Value {
    let logprobs: Vec<Value> = all
        .logprobs
        .iter()
        .map(|value| value.get().map_or_else(|| json!("missing"), |value| json!(value)))
        .collect();
    let label = all.spans.last().map(|span| span.version).or_else(|| all.versions.last().copied());
    json!({
        "token_ids": all.tokens,
        "logprobs": logprobs,
        "finish": finish_word(all.finish.as_ref()),
        "complete": all.finish.is_some(),
        "error": all.error.as_ref().map(|error| error.kind().as_str()),
        "weight_version": label.map(|version| version.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: &Value, found: &Value, equal: bool) {
        assert_eq!(is_equal(expected, found), equal, "{expected} and {found}");
    }

    #[test]
    fn flagged_values_are_missing_and_no_number() {
        check(&json!([-0.1, "missing"]), &json!([-0.1_f32, "missing"]), true);
        check(&json!(["-inf"]), &json!(["missing"]), true);
        check(&json!([0.0]), &json!(["missing"]), false);
        check(&json!("stop"), &json!("missing"), false);
        check(&json!([1, 2]), &json!([1]), false);
        check(&json!({"a": 1}), &json!({"a": 1.0, "b": 2}), true);
    }
}
