//! Messages in the shape that OpenAI's API and Hugging Face templates share.

use std::fmt;

use respool_core::{Content, ContentPart, Message, ToolCall};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{SeqAccess, Visitor, value::SeqAccessDeserializer},
};

/// One message of the chat. Keys that do not apply are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRecord {
    /// `system`, `developer`, `user`, `assistant` or `tool`.
    pub role: String,
    /// What is said.
    pub content: RecordContent,
    /// Reasoning before the content (assistant only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// Calls in order (assistant only).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCallRecord>,
    /// The call that this answers (tool only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Name of the tool (tool only), or of the speaker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A string, or a list of typed parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordContent {
    /// Plain text.
    Text(String),
    /// Typed parts in order.
    Parts(Vec<PartRecord>),
}

/// One part, as in `{"type": "text", "text": "…"}` or `{"type": "image_url", "image_url": {"url": "…"}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PartRecord {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    ImageUrl {
        /// Where it is.
        image_url: UrlRecord,
    },
    /// A video.
    VideoUrl {
        /// Where it is.
        video_url: UrlRecord,
    },
    /// A sound.
    AudioUrl {
        /// Where it is.
        audio_url: UrlRecord,
    },
}

/// Where a part is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UrlRecord {
    /// Its URL (`data:` included).
    pub url: String,
}

/// A call, as in `{"id": "…", "type": "function", "function": {"name": "…", "arguments": "{…}"}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallRecord {
    /// The call's id.
    pub id: String,
    /// Always `function`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What is called.
    pub function: FunctionRecord,
}

/// What is called, and with what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionRecord {
    /// Name of the tool.
    pub name: String,
    /// A JSON object as a string, exactly as the model wrote it.
    pub arguments: String,
}

impl From<&Message> for MessageRecord {
    fn from(message: &Message) -> Self {
        // How a call ended is counted in the metrics; other readers do not know the key.
        let Message { role, content, reasoning, tool_calls, tool_call_id, name, outcome: _ } = message;
        Self {
            role: role.as_str().to_owned(),
            content: RecordContent::from(content),
            reasoning_content: reasoning.clone(),
            tool_calls: tool_calls.iter().map(ToolCallRecord::from).collect(),
            tool_call_id: tool_call_id.clone(),
            name: name.clone(),
        }
    }
}

impl From<&Content> for RecordContent {
    fn from(content: &Content) -> Self {
        match content {
            Content::Text(text) => Self::Text(text.clone()),
            Content::Parts(parts) => Self::Parts(parts.iter().map(PartRecord::from).collect()),
        }
    }
}

impl From<&ContentPart> for PartRecord {
    fn from(part: &ContentPart) -> Self {
        let at = |url: &String| UrlRecord { url: url.clone() };
        match part {
            ContentPart::Text(text) => Self::Text { text: text.clone() },
            ContentPart::Image(url) => Self::ImageUrl { image_url: at(url) },
            ContentPart::Video(url) => Self::VideoUrl { video_url: at(url) },
            ContentPart::Audio(url) => Self::AudioUrl { audio_url: at(url) },
        }
    }
}

impl From<&ToolCall> for ToolCallRecord {
    fn from(call: &ToolCall) -> Self {
        let ToolCall { id, slot: _, name, arguments } = call;
        let function = FunctionRecord { name: name.clone(), arguments: arguments.as_str().to_owned() };
        Self { id: id.clone(), kind: "function".to_owned(), function }
    }
}

impl Serialize for RecordContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Parts(parts) => parts.serialize(serializer),
        }
    }
}

/// By hand, so that an error says what was expected and not just that nothing matched.
impl<'de> Deserialize<'de> for RecordContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = RecordContent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a list of content parts")
    }

    fn visit_str<E>(self, text: &str) -> Result<RecordContent, E> {
        Ok(RecordContent::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<RecordContent, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(parts)).map(RecordContent::Parts)
    }
}
