//! What a turn has to be read as, and whether it was.

use respool_core::{ParsedCall, ParsedTurn, ToolCall};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Checked;
use crate::json::Json;
use crate::report::Verdict;

/// What is expected of a turn; what is not given does not count.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Expected {
    calls: Option<Vec<ExpectedCall>>,
    malformed: Option<usize>,
    content: Option<String>,
    /// Further results that pass.
    also_acceptable: Vec<Self>,
    /// Results that always fail, in words.
    must_not: Vec<String>,
    /// For people.
    #[serde(rename = "policy")]
    _policy: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedCall {
    name: String,
    arguments: Option<Json>,
    arguments_text_contains: Option<String>,
    arguments_key_order: Option<Vec<String>>,
    id: Option<String>,
}

/// A turn as it was read, in the cases' words.
#[derive(Debug)]
pub(super) struct Found<'a> {
    calls: Vec<&'a ToolCall>,
    malformed: usize,
    content: &'a str,
}

impl<'a> From<&'a ParsedTurn> for Found<'a> {
    /// A call whose arguments are no object runs no tool either: the cases count it as malformed.
    fn from(turn: &'a ParsedTurn) -> Self {
        let calls: Vec<&ToolCall> = turn
            .calls
            .iter()
            .filter_map(|call| match call {
                ParsedCall::Call(call) => Some(call),
                ParsedCall::Wrong { .. } | ParsedCall::Malformed { .. } => None,
            })
            .collect();
        Self { malformed: turn.calls.len() - calls.len(), calls, content: turn.content.trim() }
    }
}

impl Expected {
    /// Whether that is how the turn had to be read.
    pub(super) fn check(&self, found: &Found<'_>) -> Checked {
        let difference = self.matches(found).err();
        let matched = match difference {
            None => Some(self),
            Some(_) => self.also_acceptable.iter().find(|other| other.matches(found).is_ok()),
        };
        match matched {
            Some(matched) => self.check_words(found, matched.is_exact()),
            None => Err(Verdict::Fail(difference.unwrap_or_default())),
        }
    }

    /// `exact`: the result matched calls that are given in full, so that nothing is left open which
    /// words could forbid.
    fn check_words(&self, found: &Found<'_>, exact: bool) -> Checked {
        for words in &self.must_not {
            match forbids(words, found) {
                Some(true) => return Err(Verdict::Fail(format!("there is {words}"))),
                Some(false) => {}
                None if exact => {}
                None => return Err(Verdict::NotUnderstood(format!("expected.must_not: {words:?}"))),
            }
        }
        Ok(())
    }

    fn is_exact(&self) -> bool {
        self.calls.as_ref().is_some_and(|calls| calls.iter().all(|call| call.arguments.is_some()))
    }

    fn matches(&self, found: &Found<'_>) -> Result<(), String> {
        if let Some(calls) = &self.calls {
            let names = |names: Vec<&str>| names.join(", ");
            let expected = names(calls.iter().map(|call| call.name.as_str()).collect());
            let seen = names(found.calls.iter().map(|call| call.name.as_str()).collect());
            if expected != seen || calls.len() != found.calls.len() {
                return Err(format!("calls: expected [{expected}], found [{seen}]"));
            }
            for (at, (call, seen)) in calls.iter().zip(&found.calls).enumerate() {
                call.matches(seen).map_err(|what| format!("call {at}: {what}"))?;
            }
        }
        if let Some(malformed) = self.malformed.filter(|malformed| *malformed != found.malformed) {
            return Err(format!("malformed: expected {malformed}, found {}", found.malformed));
        }
        match &self.content {
            Some(content) if content.trim() != found.content => {
                Err(format!("content: expected {:?}, found {:?}", content.trim(), found.content))
            }
            _ => Ok(()),
        }
    }
}

/// Whether words forbid what was found; `None` where we cannot read them.
fn forbids(words: &str, found: &Found<'_>) -> Option<bool> {
    let any = |forbidden: &dyn Fn(&ToolCall) -> bool| Some(found.calls.iter().any(|call| forbidden(call)));
    if let Some(name) = words.strip_prefix("a call named ") {
        any(&|call| call.name == name)
    } else if words == "a call with empty arguments" {
        any(&|call| Json::parse(call.arguments.as_str()).is_ok_and(|value| value.keys().is_empty()))
    } else if !words.contains(char::is_whitespace) {
        any(&|call| call.arguments.as_str().contains(words))
    } else {
        None
    }
}

impl ExpectedCall {
    fn matches(&self, found: &ToolCall) -> Result<(), String> {
        let text = found.arguments.as_str();
        let value = Json::parse(text).map_err(|error| format!("arguments {text:?}: {error}"))?;
        if let Some(expected) = self.arguments.as_ref().filter(|expected| **expected != value) {
            return Err(format!("arguments: expected {expected}, found {text}"));
        }
        if let Some(part) = self.arguments_text_contains.as_ref().filter(|part| !text.contains(part.as_str()))
        {
            return Err(format!("arguments: expected {part:?} in it, found {text}"));
        }
        if let Some(order) = self.arguments_key_order.as_ref().filter(|order| **order != value.keys()) {
            return Err(format!("arguments: expected keys {order:?}, found {:?}", value.keys()));
        }
        match &self.id {
            Some(id) if *id != found.id => Err(format!("id: expected {id:?}, found {:?}", found.id)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
