//! A call written as a JSON object with `name` and `arguments` (R5).

use std::borrow::Cow;
use std::collections::BTreeMap;

use respool_core::{JsonText, ParsedCall, ToolCall};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The first JSON value of a text, and how many bytes it takes; the error says why there is none.
pub(crate) fn first_value(text: &str) -> Result<(&str, usize), serde_json::Error> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    match values.next() {
        Some(Ok(raw)) => Ok((raw.get(), values.byte_offset())),
        Some(Err(error)) => Err(error),
        None => Err(serde::de::Error::custom("there is no JSON value")),
    }
}

/// Judges one JSON value as the body of a call.
pub(crate) fn read(json: &str, slot: u32) -> ParsedCall {
    let malformed = |reason: String| ParsedCall::Malformed { reason, text: json.to_owned() };
    if !json.starts_with('{') {
        return malformed(format!("a tool call must be a JSON object with a name, found {}", kind(json)));
    }
    // The last of two equal keys wins, as in Python.
    let members: BTreeMap<Cow<'_, str>, &RawValue> = match serde_json::from_str(json) {
        Ok(members) => members,
        Err(error) => return malformed(format!("the tool call is no readable JSON object: {error}")),
    };
    let name = match members.get("name").map(|name| (name, String::deserialize(*name))) {
        None => return malformed("the tool call has no name".to_owned()),
        Some((_, Ok(name))) if !name.is_empty() => name,
        Some((raw, _)) => {
            return malformed(format!(
                "the tool call's name must be a text that is not empty, found {}",
                raw.get()
            ));
        }
    };
    let raw = members.get("arguments").map_or("null", |raw| raw.get());
    match arguments(raw) {
        Arguments::Object(arguments) => {
            ParsedCall::Call(ToolCall { id: String::new(), slot, name, arguments })
        }
        Arguments::Other(found) => ParsedCall::Wrong {
            reason: format!("the arguments of {name} must be a JSON object, found {found}"),
            name,
        },
        Arguments::Unreadable(reason) => malformed(format!("the arguments of {name} are {reason}")),
    }
}

enum Arguments {
    Object(JsonText),
    Other(&'static str),
    Unreadable(String),
}

/// Missing and null are `{}`; a text that holds an object is decoded once.
fn arguments(raw: &str) -> Arguments {
    let object = |text: &str| match JsonText::new(text) {
        Ok(json) => Arguments::Object(json),
        Err(error) => Arguments::Unreadable(error.to_string()),
    };
    match raw.as_bytes().first() {
        Some(b'n') => Arguments::Object(JsonText::empty_object()),
        Some(b'{') => object(raw),
        Some(b'"') => {
            let inner: String = serde_json::from_str(raw).unwrap_or_default();
            match JsonText::new(inner.trim()) {
                Ok(json) if json.is_object() => Arguments::Object(json),
                _ => Arguments::Other("a text that holds none"),
            }
        }
        _ => Arguments::Other(kind(raw)),
    }
}

fn kind(json: &str) -> &'static str {
    match json.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a text",
        Some(b't' | b'f') => "true or false",
        Some(b'n') => "null",
        Some(_) => "a number",
        None => "nothing",
    }
}
