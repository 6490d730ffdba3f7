//! A call written as a JSON object with `name` and `arguments` (R5).

use std::borrow::Cow;
use std::collections::BTreeMap;

use respool_core::{JsonText, ParsedCall, ToolCall};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Item, Unwritable, literal};

/// The first JSON value of a text, and how many bytes it takes; the error says why there is none.
pub(crate) fn first_value(text: &str) -> Result<(&str, usize), serde_json::Error> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    match values.next() {
        Some(Ok(raw)) => Ok((raw.get(), values.byte_offset())),
        Some(Err(error)) => Err(error),
        None => Err(serde::de::Error::custom("there is no JSON value")),
    }
}

/// Reads a body that is one call, or with `many` a list of calls, as JSON; with `is_lenient` also as a
/// Python literal.
pub(crate) fn items(body: &str, many: bool, is_lenient: bool) -> Vec<Item> {
    let body = body.trim();
    match first_value(body) {
        Ok((json, end)) if body[end..].trim().is_empty() => values(json, many, false),
        read => {
            let python = is_lenient.then(|| literal::to_json(body, true).ok()).flatten();
            match (python, read) {
                (Some(json), _) => values(&json, many, true),
                (None, Ok(_)) => {
                    vec![Item::malformed("there is text after the JSON value of the call", body)]
                }
                (None, Err(error)) => {
                    vec![Item::malformed(format!("the tool call is not valid JSON: {error}"), body)]
                }
            }
        }
    }
}

fn values(json: &str, many: bool, is_lenient: bool) -> Vec<Item> {
    let one = |json: &str| Item::Call { call: read(json), is_lenient };
    match serde_json::from_str::<Vec<&RawValue>>(json) {
        Ok(calls) if many => calls.into_iter().map(|call| one(call.get())).collect(),
        _ => vec![one(json)],
    }
}

/// Judges one JSON value as the body of a call: an object with `name`, and `arguments` or `parameters`.
pub(crate) fn read(json: &str) -> ParsedCall {
    let malformed = |reason: String| ParsedCall::Malformed { reason, text: json.to_owned() };
    if !json.starts_with('{') {
        return malformed(format!("a tool call must be a JSON object with a name, found {}", kind(json)));
    }
    let members = match members(json) {
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
    let raw = members.get("arguments").or_else(|| members.get("parameters"));
    let id = members.get("id").and_then(|id| String::deserialize(*id).ok()).unwrap_or_default();
    named(name, id, raw.map_or("null", |raw| raw.get()))
}

/// The members of a JSON object. The last of two equal keys wins, as in Python.
pub(crate) fn members(json: &str) -> Result<BTreeMap<Cow<'_, str>, &RawValue>, serde_json::Error> {
    serde_json::from_str(json)
}

/// A call whose name stands outside the JSON text of its arguments; with `is_lenient` these may be a
/// Python literal. No text at all is `{}`.
pub(crate) fn with_arguments(name: &str, id: &str, text: &str, is_lenient: bool) -> Item {
    let text = text.trim();
    if name.is_empty() {
        return Item::malformed("the tool call has no name", text);
    }
    let call = |json: &str| named(name.to_owned(), id.to_owned(), json);
    match first_value(if text.is_empty() { "{}" } else { text }) {
        Ok((json, end)) if end >= text.len() || text[end..].trim().is_empty() => Item::call(call(json)),
        read => match (is_lenient.then(|| literal::to_json(text, true).ok()).flatten(), read) {
            (Some(json), _) => Item::Call { call: call(&json), is_lenient: true },
            (None, Ok(_)) => Item::malformed(format!("there is text after the arguments of {name}"), text),
            (None, Err(error)) => {
                Item::malformed(format!("the arguments of {name} are not valid JSON: {error}"), text)
            }
        },
    }
}

fn named(name: String, id: String, raw: &str) -> ParsedCall {
    match arguments(raw) {
        Arguments::Object(arguments) => ParsedCall::Call(ToolCall { id, slot: 0, name, arguments }),
        Arguments::Other(found) => ParsedCall::Wrong {
            reason: format!("the arguments of {name} must be a JSON object, found {found}"),
            name,
        },
        Arguments::Unreadable(reason) => ParsedCall::Malformed {
            reason: format!("the arguments of {name} are {reason}"),
            text: raw.to_owned(),
        },
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

/// Whether a name can stand for itself, outside quotes.
pub(crate) fn plain_name(
    format: &'static str,
    call: &ToolCall,
    forbidden: &[char],
) -> Result<(), Unwritable> {
    let name = call.name.as_str();
    let is_plain = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || forbidden.contains(&c));
    let reason = || format!("its name must have letters without white space and without {forbidden:?}");
    if is_plain { Ok(()) } else { Err(Unwritable::call(format, name, reason())) }
}
