//! Messages and tools as test data writes them: the chat format of the HTTP APIs.

use respool_core::{
    Content, ContentPart, JsonText, Message, Replay, Role, SessionPolicy, ToolCall, ToolSpec,
};
use respool_dialect::{RenderInput, StringArguments};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::report::Verdict;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireMessage {
    role: String,
    content: Option<WireContent>,
    /// Each family's template has its own name for it.
    #[serde(alias = "reasoning", alias = "thinking")]
    reasoning_content: Option<String>,
    tool_calls: Option<Vec<WireCall>>,
    tool_call_id: Option<String>,
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum WireContent {
    Text(String),
    Parts(Vec<WirePart>),
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum WirePart {
    Text { text: String },
}

#[derive(Debug, Deserialize)]
struct WireCall {
    id: Option<String>,
    function: WireFunction,
}

#[derive(Debug, Deserialize)]
struct WireFunction {
    name: String,
    arguments: Box<RawValue>,
}

#[derive(Debug, Deserialize)]
struct WireTool {
    function: WireToolFunction,
}

#[derive(Debug, Deserialize)]
struct WireToolFunction {
    name: String,
}

/// Reads a list of messages.
///
/// # Errors
/// If one has a form that our messages do not have; without content it counts as empty.
pub(crate) fn read_messages(list: &RawValue) -> Result<Vec<Message>, Verdict> {
    let messages: Vec<WireMessage> = read(list, "messages")?;
    messages.into_iter().map(message).collect()
}

/// Reads a list of tool schemas; `None` is none.
///
/// # Errors
/// If one has no name.
pub(crate) fn read_tools(list: Option<&RawValue>) -> Result<Vec<ToolSpec>, Verdict> {
    let Some(list) = list else { return Ok(Vec::new()) };
    let tools: Option<Vec<Box<RawValue>>> = read(list, "tools")?;
    tools.unwrap_or_default().iter().map(|schema| tool(schema)).collect()
}

/// A chat as JSON, which can say more than our messages: null content, arguments as text.
#[derive(Debug)]
pub(crate) struct JsonChat {
    messages: JsonText,
    tools: Option<JsonText>,
    template_args: JsonText,
    add_generation_prompt: bool,
}

impl JsonChat {
    /// A chat; without `template_args` there are none.
    ///
    /// # Errors
    /// If one of them nests too deep.
    pub(crate) fn new(
        messages: &RawValue,
        tools: Option<&RawValue>,
        template_args: Option<&RawValue>,
        add_generation_prompt: bool,
    ) -> Result<Self, Verdict> {
        Ok(Self {
            messages: json_text(messages)?,
            tools: tools.map(json_text).transpose()?,
            template_args: template_args.map_or_else(|| Ok(JsonText::empty_object()), json_text)?,
            add_generation_prompt,
        })
    }

    /// What a template is called with.
    pub(crate) fn input<'a>(
        &'a self,
        special_tokens: &'a [(String, String)],
        string_arguments: StringArguments,
    ) -> RenderInput<'a> {
        RenderInput {
            messages: &self.messages,
            tools: self.tools.as_ref(),
            template_args: &self.template_args,
            special_tokens,
            add_generation_prompt: self.add_generation_prompt,
            string_arguments,
        }
    }
}

/// A JSON value as our values carry it.
///
/// # Errors
/// If it nests too deep.
pub(crate) fn json_text(raw: &RawValue) -> Result<JsonText, Verdict> {
    JsonText::new(raw.get()).map_err(|error| Verdict::NotUnderstood(error.to_string()))
}

fn read<'de, T: Deserialize<'de>>(raw: &'de RawValue, what: &str) -> Result<T, Verdict> {
    serde_json::from_str(raw.get()).map_err(|error| Verdict::NotUnderstood(format!("{what}: {error}")))
}

fn tool(schema: &RawValue) -> Result<ToolSpec, Verdict> {
    let WireTool { function } = read(schema, "tools")?;
    Ok(ToolSpec {
        name: function.name,
        schema: json_text(schema)?,
        replay: Replay::default(),
        session: SessionPolicy::default(),
    })
}

fn message(wire: WireMessage) -> Result<Message, Verdict> {
    let WireMessage { role, content, reasoning_content, tool_calls, tool_call_id, name } = wire;
    let role = Role::from_name(&role)
        .ok_or_else(|| Verdict::NotUnderstood(format!("messages: unknown role {role:?}")))?;
    let calls = tool_calls.unwrap_or_default().into_iter().zip(0..).map(|(call, slot)| tool_call(call, slot));
    let content = match content {
        Some(WireContent::Text(text)) => Content::Text(text),
        Some(WireContent::Parts(parts)) => {
            Content::Parts(parts.into_iter().map(|WirePart::Text { text }| ContentPart::Text(text)).collect())
        }
        None => Content::Text(String::new()),
    };
    let tool_calls = calls.collect::<Result<_, _>>()?;
    Ok(Message {
        reasoning: reasoning_content,
        tool_calls,
        tool_call_id,
        name,
        ..Message::new(role, content)
    })
}

/// Arguments may be written as a string that holds the object.
fn tool_call(wire: WireCall, slot: u32) -> Result<ToolCall, Verdict> {
    let WireCall { id, function: WireFunction { name, arguments } } = wire;
    let arguments = match serde_json::from_str::<String>(arguments.get()) {
        Ok(text) => JsonText::new(text).map_err(|error| Verdict::NotUnderstood(error.to_string()))?,
        Err(_) => json_text(&arguments)?,
    };
    Ok(ToolCall { id: id.unwrap_or_default(), slot, name, arguments })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).expect("json")
    }

    #[test]
    fn arguments_are_kept_as_written() {
        let messages = r#"[{"role": "assistant", "content": "", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "a", "arguments": {"z": 1e5, "a": 2.0}}},
            {"function": {"name": "b", "arguments": "{\"n\": 9007199254740993}"}}]}]"#;
        let messages = read_messages(&raw(messages)).expect("messages");
        let calls = &messages[0].tool_calls;
        assert_eq!(calls[0].arguments.as_str(), r#"{"z": 1e5, "a": 2.0}"#);
        assert_eq!(calls[1].arguments.as_str(), r#"{"n": 9007199254740993}"#);
        assert_eq!(calls[1].slot, 1);
    }

    #[test]
    fn other_forms_are_not_understood() {
        for json in [
            r#"[{"role": "poet", "content": ""}]"#,
            r#"[{"content": ""}]"#,
            r#"{}"#,
            r#"[{"role": "user", "mood": 1}]"#,
        ] {
            assert!(matches!(read_messages(&raw(json)), Err(Verdict::NotUnderstood(_))), "{json}");
        }
        assert!(read_tools(Some(&raw(r#"[{"function": {}}]"#))).is_err());
        assert_eq!(read_tools(Some(&raw("null"))).expect("tools"), []);
    }
}
