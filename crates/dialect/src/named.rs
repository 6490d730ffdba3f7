//! The chat templates of a model folder by name: most have one, some have one for tools or for retrieval.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value as Json;

use crate::load::{LoadError, Parts, TOKENIZER_CONFIG, wrong};
use crate::options::DialectOptions;

/// Where additional templates are, each in a file by its name.
const FOLDER: &str = "additional_chat_templates";
/// The template that is used unless another one is named.
const DEFAULT: &str = "default";
/// The template for chats with tools.
const TOOL_USE: &str = "tool_use";

/// Source of each template by its name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Templates(BTreeMap<String, String>);

/// The templates that a dialect uses.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) template: String,
    /// For chats with tools, if it is another one.
    pub(crate) tool_template: Option<String>,
    /// Of all that there are.
    pub(crate) names: Vec<String>,
}

impl Templates {
    /// `chat_template` of a tokenizer's configuration, one text or a list of named ones; then the files,
    /// which win.
    pub(crate) fn read(field: Option<&Json>, parts: &Parts<'_>) -> Result<Self, LoadError> {
        let mut named = BTreeMap::new();
        match field {
            None | Some(Json::Null) => {}
            Some(Json::String(text)) => {
                named.insert(DEFAULT.to_owned(), text.clone());
            }
            Some(Json::Array(entries)) => {
                for entry in entries {
                    let text = |key: &str| entry.get(key).and_then(Json::as_str).map(str::to_owned);
                    let (name, source) =
                        text("name").zip(text("template")).ok_or_else(|| wrong_field(entry))?;
                    named.insert(name, source);
                }
            }
            Some(other) => return Err(wrong_field(other)),
        }
        let default = parts.chat_template.map(|source| (DEFAULT.to_owned(), source.to_owned()));
        named.extend(default.into_iter().chain(parts.additional_templates.iter().cloned()));
        Ok(Self(named))
    }

    /// The one that the options give or name; else the default, and the one for tools beside it.
    pub(crate) fn choose(&self, options: &DialectOptions) -> Result<Chosen, LoadError> {
        let names = self.0.keys().cloned().collect();
        let found = |name: &str| self.0.get(name).cloned();
        if let Some(source) = &options.template {
            return Ok(Chosen { template: source.clone(), tool_template: None, names });
        }
        if let Some(name) = &options.template_name {
            let template = found(name)
                .ok_or_else(|| LoadError::UnknownTemplate { name: name.clone(), known: self.names() })?;
            return Ok(Chosen { template, tool_template: None, names });
        }
        let template = found(DEFAULT).ok_or_else(|| LoadError::Field {
            file: TOKENIZER_CONFIG,
            field: "chat_template".to_owned(),
            expected: "a template here or in chat_template.jinja, or template_name where they have names",
            found: self.names(),
        })?;
        Ok(Chosen { template, tool_template: found(TOOL_USE), names })
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}

fn wrong_field(found: &Json) -> LoadError {
    wrong(TOKENIZER_CONFIG, "chat_template", "a text or a list of {name, template}", found)
}

/// Name and source of a model folder's additional templates; empty where there is no folder for them.
pub(crate) fn additional(folder: &Path) -> Result<Vec<(String, String)>, LoadError> {
    let folder = folder.join(FOLDER);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| LoadError::Read { path, error }
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(failed(&folder))? {
        let path = entry.map_err(failed(&folder))?.path();
        if path.extension().is_some_and(|extension| extension == "jinja") {
            let source = std::fs::read_to_string(&path).map_err(failed(&path))?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            found.push((name, source));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
