//! Chat messages, as templates and trainers know them.

use crate::{CallOutcome, JsonText};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Instructions to the model.
    System,
    /// Instructions to the model, in the newer families' spelling.
    Developer,
    /// The user, or an interaction that plays the user.
    User,
    /// The policy.
    Assistant,
    /// A tool's answer.
    Tool,
}

impl Role {
    /// The name that templates use: `system`, `developer`, `user`, `assistant`, `tool`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    /// The role of that name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::System, Self::Developer, Self::User, Self::Assistant, Self::Tool]
            .into_iter()
            .find(|role| role.as_str() == name)
    }
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Plain text: templates see a string.
    Text(String),
    /// Typed parts in order: templates see a list.
    Parts(Vec<ContentPart>),
}

/// One part of a message's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentPart {
    /// Text.
    Text(String),
    /// An image by its URL (`data:` included).
    Image(String),
    /// A video by its URL.
    Video(String),
    /// A sound by its URL.
    Audio(String),
}

impl Content {
    /// All text in it, joined without separators; other parts are left out.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => parts
                .iter()
                .filter_map(|part| match part {
                    ContentPart::Text(text) => Some(text.as_str()),
                    ContentPart::Image(_) | ContentPart::Video(_) | ContentPart::Audio(_) => None,
                })
                .collect(),
        }
    }

    /// Length of the text in bytes, without joining it.
    #[must_use]
    pub fn text_len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Parts(parts) => parts
                .iter()
                .map(|part| match part {
                    ContentPart::Text(text) => text.len(),
                    ContentPart::Image(_) | ContentPart::Video(_) | ContentPart::Audio(_) => 0,
                })
                .sum(),
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A tool call of an assistant turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The call's id, as templates want it: unique within the rollout.
    pub id: String,
    /// Position among all call attempts of the turn, from 0.
    pub slot: u32,
    /// Name of the tool.
    pub name: String,
    /// The arguments, a JSON object, as the model wrote it: key order, numbers and escapes kept.
    pub arguments: JsonText,
}

/// One message of the chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
    /// Reasoning before the content (assistant only), without its markers.
    pub reasoning: Option<String>,
    /// Calls in order (assistant only).
    pub tool_calls: Vec<ToolCall>,
    /// The call that this answers (tool only).
    pub tool_call_id: Option<String>,
    /// Name of the tool (tool only), or of the speaker.
    pub name: Option<String>,
    /// How the call ended (tool messages that a rollout appended only). Templates do not see it.
    pub outcome: Option<CallOutcome>,
}

impl Message {
    /// A message of that role with that content and nothing else.
    #[must_use]
    pub fn new(role: Role, content: impl Into<Content>) -> Self {
        Self {
            role,
            content: content.into(),
            reasoning: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            name: None,
            outcome: None,
        }
    }
}
