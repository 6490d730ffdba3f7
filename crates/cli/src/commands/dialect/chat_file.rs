//! Messages and tools that a person wrote in a file, kept letter for letter.

use std::{fs, path::Path};

use anyhow::{Context, anyhow};
use respool_core::JsonText;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

/// What a chat template is to render.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ChatFile {
    pub(super) messages: JsonText,
    pub(super) tools: Option<JsonText>,
}

/// What is asked of a message; the template may ask for more.
#[derive(Deserialize)]
struct Message {
    #[serde(rename = "role")]
    _role: String,
}

/// What is asked of a tool.
#[derive(Deserialize)]
struct Tool {
    #[serde(rename = "function")]
    _function: Function,
}

#[derive(Deserialize)]
struct Function {
    #[serde(rename = "name")]
    _name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Both {
    #[serde(rename = "messages")]
    _messages: Vec<Message>,
    #[serde(rename = "tools")]
    _tools: Option<Vec<Tool>>,
}

#[derive(Deserialize)]
struct Texts {
    messages: Box<RawValue>,
    tools: Option<Box<RawValue>>,
}

impl ChatFile {
    /// Reads a file of messages, and another one of tools, which wins over tools beside the messages.
    pub(super) fn read(messages: &Path, tools: Option<&Path>) -> anyhow::Result<Self> {
        let mut chat = Self::parse(&text_of(messages)?, &messages.display().to_string())?;
        if let Some(path) = tools {
            let (text, name) = (text_of(path)?, path.display().to_string());
            check::<Vec<Tool>>(&text, &name)
                .context("expected a list of tools {\"type\": \"function\", \"function\": {…}}")?;
            chat.tools = Some(json(&text, &name)?);
        }
        Ok(chat)
    }

    /// Whether there is a tool: templates that are two have one for such chats.
    pub(super) fn has_tools(&self) -> bool {
        let tools = self.tools.as_ref().map(|tools| serde_json::from_str::<Vec<&RawValue>>(tools.as_str()));
        tools.is_some_and(|tools| tools.is_ok_and(|tools| !tools.is_empty()))
    }

    /// `name` is for messages.
    fn parse(text: &str, name: &str) -> anyhow::Result<Self> {
        if !text.trim_start().starts_with('{') {
            check::<Vec<Message>>(text, name)
                .context("expected a list of messages, or an object with messages and tools")?;
            return Ok(Self { messages: json(text, name)?, tools: None });
        }
        check::<Both>(text, name).context("expected an object with messages and tools")?;
        let Texts { messages, tools } = serde_json::from_str(text)?;
        let tools = tools.map(|tools| json(tools.get(), name)).transpose()?;
        Ok(Self { messages: json(messages.get(), name)?, tools })
    }
}

fn text_of(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn json(text: &str, name: &str) -> anyhow::Result<JsonText> {
    JsonText::new(text).with_context(|| name.to_owned())
}

/// Says where in the file something is not of that shape.
fn check<T: DeserializeOwned>(text: &str, name: &str) -> anyhow::Result<()> {
    let mut reader = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize::<_, T>(&mut reader).map_err(|error| {
        match error.path().to_string().as_str() {
            "." => anyhow!("{name}: {}", error.inner()),
            field => anyhow!("{name}: {field}: {}", error.inner()),
        }
    })?;
    reader.end().with_context(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str, says: &[&str]) {
        let error = format!("{:#}", ChatFile::parse(text, "chat.json").unwrap_err());
        for part in says {
            assert!(error.contains(part), "{text}: {error} does not say {part}");
        }
    }

    #[test]
    fn a_list_or_an_object_is_kept_as_written() {
        let list = r#" [{"role": "user", "content": "A", "n": 1e400}] "#;
        let chat = ChatFile::parse(list, "").unwrap();
        assert_eq!((chat.messages.as_str(), chat.tools), (list, None));
        let object = r#"{"tools": [{"function": {"name": "f"}}], "messages": [ ]}"#;
        let chat = ChatFile::parse(object, "").unwrap();
        assert_eq!(chat.messages.as_str(), "[ ]");
        assert_eq!(chat.tools.unwrap().as_str(), r#"[{"function": {"name": "f"}}]"#);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        wrong("", &["chat.json", "line 1", "a list of messages"]);
        wrong("[{\"role\": \"user\"},\n{\"content\": 1}]", &["chat.json", "[1]", "role", "line 2"]);
        wrong("[{\"role\": 3}]", &["[0].role", "expected a string", "line 1"]);
        wrong("{\"messages\": {}}", &["messages", "expected a sequence"]);
        wrong("{\"messages\": [], \"tool\": []}", &["tool", "unknown field"]);
        wrong("{\"messages\": [], \"tools\": [{\"name\": 1}]}", &["tools[0]", "function"]);
        wrong("[] []", &["chat.json", "trailing"]);
    }
}
