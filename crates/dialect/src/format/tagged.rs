//! Parameters written as plain text between tags, typed by the tool's schema.

use respool_core::{JsonText, ToolCall, ToolSpec};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::literal;

/// The parameters of a tool by name, as its schema says.
#[derive(Debug, Default)]
pub(crate) struct Types {
    is_known: bool,
    properties: Map<String, Value>,
}

/// What a text stands for where the schema says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Untyped {
    /// Itself.
    Text,
    /// JSON where it is valid JSON, else itself.
    Json,
}

/// A value in JSON, and whether it was readable only with the lenient option.
pub(crate) type Typed = (String, bool);

impl Types {
    pub(crate) fn of(name: &str, tools: &[ToolSpec]) -> Self {
        let Some(tool) = tools.iter().find(|tool| tool.name == name) else { return Self::default() };
        let schema: Value = serde_json::from_str(tool.schema.as_str()).unwrap_or_default();
        let properties = schema.pointer("/function/parameters/properties").and_then(Value::as_object);
        Self { is_known: properties.is_some(), properties: properties.cloned().unwrap_or_default() }
    }

    /// Whether a parameter may have that name: any, where the tool is not known.
    pub(crate) fn allows(&self, key: &str) -> bool {
        !self.is_known || self.properties.contains_key(key)
    }

    /// The value that a text stands for. What does not fit its type stays a text: the tool's own
    /// check of its arguments then says what is wrong with it.
    pub(crate) fn value(&self, key: &str, raw: &str, untyped: Untyped, is_lenient: bool) -> Typed {
        let types = self.properties.get(key).map(names_of_types).unwrap_or_default();
        let text = (Value::from(raw).to_string(), false);
        let trimmed = raw.trim();
        let has = |name: &str| types.iter().any(|known| known == name);
        if types.is_empty() {
            let is_json = untyped == Untyped::Json && JsonText::new(trimmed).is_ok();
            return if is_json { (trimmed.to_owned(), false) } else { text };
        }
        if types.iter().all(|name| name == "string") {
            return text;
        }
        if trimmed.eq_ignore_ascii_case("null") || (trimmed == "None" && !has("string")) {
            return ("null".to_owned(), false);
        }
        let json = JsonText::new(trimmed).ok();
        let first = trimmed.as_bytes().first().copied().unwrap_or_default();
        let is_number = (first == b'-' || first.is_ascii_digit()) && json.is_some();
        let word = trimmed.to_ascii_lowercase();
        if (has("integer") || has("number")) && is_number && !has("string") {
            (trimmed.to_owned(), false)
        } else if has("boolean") && matches!(word.as_str(), "true" | "false") && !has("string") {
            (word, false)
        } else if ((has("object") && first == b'{') || (has("array") && first == b'[')) && json.is_some() {
            (trimmed.to_owned(), false)
        } else if is_lenient && (has("object") || has("array")) {
            literal::to_json(trimmed, true).map_or(text, |json| (json, true))
        } else {
            text
        }
    }
}

/// The names of the types that a schema allows.
fn names_of_types(schema: &Value) -> Vec<String> {
    let listed = |value: &Value| match value {
        Value::String(name) => vec![name.clone()],
        Value::Array(names) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    if let Some(types) = schema.get("type") {
        return listed(types);
    }
    let choices = ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(*key)?.as_array()).flatten();
    choices.filter_map(|choice| choice.get("type")).flat_map(listed).collect()
}

/// An object in the making, member by member.
#[derive(Debug)]
pub(crate) struct Arguments {
    json: String,
    pub(crate) is_lenient: bool,
}

impl Arguments {
    pub(crate) fn new() -> Self {
        Self { json: "{".to_owned(), is_lenient: false }
    }

    pub(crate) fn add(&mut self, key: &str, (value, is_lenient): Typed) {
        if self.json.len() > 1 {
            self.json.push_str(", ");
        }
        self.json.push_str(&Value::from(key).to_string());
        self.json.push_str(": ");
        self.json.push_str(&value);
        self.is_lenient |= is_lenient;
    }

    pub(crate) fn finish(mut self) -> String {
        self.json.push('}');
        self.json
    }
}

/// What a plain text must not spell, or it would be read as something else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken<'a> {
    /// Markers of a value.
    pub(crate) markers: &'a [&'a str],
    /// An end of the call is data inside a value, unless one of `restart` comes after it.
    pub(crate) close: &'a [&'a str],
    pub(crate) restart: &'a [&'a str],
}

impl<'a> Taken<'a> {
    fn in_text(&self, text: &str) -> Option<&'a str> {
        let spelled = |markers: &'a [&'a str], text: &str| {
            let found = markers.iter().filter_map(|marker| Some((text.find(marker)?, *marker)));
            found.min_by_key(|(at, _)| *at)
        };
        let end = spelled(self.close, text);
        let ended = end.and_then(|(at, marker)| spelled(self.restart, &text[at + marker.len()..]));
        spelled(self.markers, text).or(ended).map(|(_, marker)| marker)
    }
}

/// The parameters of a call as plain texts, each of which [`Types::value`] reads back.
pub(crate) fn plain_texts(
    call: &ToolCall,
    tools: &[ToolSpec],
    untyped: Untyped,
    taken: Taken<'_>,
) -> Result<Vec<(String, String)>, String> {
    let types = Types::of(&call.name, tools);
    let members: indexmap::IndexMap<String, &RawValue> =
        serde_json::from_str(call.arguments.as_str()).map_err(|error| error.to_string())?;
    let mut texts = Vec::new();
    for (key, raw) in members {
        let text = serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| raw.get().to_owned());
        let (read, _) = types.value(&key, &text, untyped, false);
        let same = serde_json::from_str::<Value>(&read).ok() == serde_json::from_str(raw.get()).ok();
        if !same {
            return Err(format!("the text of {key} would be read as another type"));
        }
        if let Some(marker) = taken.in_text(&text) {
            return Err(format!("the text of {key} has {marker} in it"));
        }
        if key.is_empty() || key.contains(['<', '>', '"', '\n']) || key.trim() != key {
            return Err(format!("the name of the parameter {key:?} cannot stand in a tag"));
        }
        texts.push((key, text));
    }
    Ok(texts)
}
