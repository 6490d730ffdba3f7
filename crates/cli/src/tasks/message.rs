//! Messages of a prompt.

use respool_core::{Content, ContentPart, JsonText, Message, Role, ToolCall};
use respool_format::{PartRecord, RecordContent};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::value::RawValue;

/// A message as datasets have it: like a trajectory's, but content may be null and arguments an
/// object.
#[derive(Debug, Deserialize)]
pub(super) struct RowMessage {
    #[serde(deserialize_with = "role")]
    role: Role,
    #[serde(default)]
    content: Option<RecordContent>,
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<RowCall>>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default)]
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct RowCall {
    #[serde(default)]
    id: Option<String>,
    function: RowFunction,
}

#[derive(Debug, Deserialize)]
struct RowFunction {
    name: String,
    #[serde(deserialize_with = "arguments")]
    arguments: JsonText,
}

fn role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Role, D::Error> {
    let name = String::deserialize(deserializer)?;
    let expected = "expected system, developer, user, assistant or tool";
    Role::from_name(&name).ok_or_else(|| D::Error::custom(format!("no role {name:?}, {expected}")))
}

/// An object, or a string that holds one.
fn arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<JsonText, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    let text = match serde_json::from_str::<String>(raw.get()) {
        Ok(text) => text,
        Err(_) => raw.get().to_owned(),
    };
    let json = JsonText::new(text).map_err(D::Error::custom)?;
    if json.is_object() {
        Ok(json)
    } else {
        Err(D::Error::custom("expected an object or a string that holds one"))
    }
}

impl From<RowMessage> for Message {
    fn from(message: RowMessage) -> Self {
        let RowMessage { role, content, reasoning_content, tool_calls, tool_call_id, name } = message;
        let content = content.map_or_else(|| Content::from(""), to_content);
        let tool_calls =
            (0..).zip(tool_calls.unwrap_or_default()).map(|(slot, call)| to_call(slot, call)).collect();
        Self { role, content, reasoning: reasoning_content, tool_calls, tool_call_id, name, outcome: None }
    }
}

fn to_content(content: RecordContent) -> Content {
    match content {
        RecordContent::Text(text) => Content::Text(text),
        RecordContent::Parts(parts) => Content::Parts(parts.into_iter().map(to_part).collect()),
    }
}

fn to_part(part: PartRecord) -> ContentPart {
    match part {
        PartRecord::Text { text } => ContentPart::Text(text),
        PartRecord::ImageUrl { image_url } => ContentPart::Image(image_url.url),
        PartRecord::VideoUrl { video_url } => ContentPart::Video(video_url.url),
        PartRecord::AudioUrl { audio_url } => ContentPart::Audio(audio_url.url),
    }
}

fn to_call(slot: u32, call: RowCall) -> ToolCall {
    let RowCall { id, function: RowFunction { name, arguments } } = call;
    ToolCall { id: id.unwrap_or_else(|| format!("prompt{slot}")), slot, name, arguments }
}
