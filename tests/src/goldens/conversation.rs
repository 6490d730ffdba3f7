//! Goldens of whole conversations: the text, its ids, and its ids with control strings of messages
//! as plain text.

use respool_core::{ControlTokens, Token};
use respool_dialect::{HfDialect, StringArguments, Template};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Checked;
use super::family::Family;
use super::refusal::Refusal;
use crate::item;
use crate::messages::JsonChat;
use crate::report::Verdict;
use crate::text::{check_ids, check_text};

#[derive(Debug, Deserialize)]
struct Golden {
    /// Name of the template, for goldens without a tokenizer.
    template: Option<String>,
    messages: Box<RawValue>,
    tools: Option<Box<RawValue>>,
    template_kwargs: Box<RawValue>,
    add_generation_prompt: bool,
    rendered_text: Rendered,
    token_ids: Option<Vec<Token>>,
    ids_plain: Option<Vec<Token>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Rendered {
    Text(String),
    Error { error: Refusal },
}

/// Checks one conversation of a family.
pub(super) fn check(raw: &RawValue, family: &Family) -> Checked {
    let golden: Golden = item::parse(raw.get())?;
    let dialect = family.dialect(ControlTokens::Parse)?;
    let template = dialect.template(golden.tools.is_some());
    golden.check_rendering(template, dialect.special_tokens())?;
    if let Some(expected) = &golden.token_ids {
        check_ids("token_ids", expected, &golden.encode(dialect)?)?;
    }
    match &golden.ids_plain {
        Some(expected) => {
            let dialect = family.dialect(ControlTokens::Plain)?;
            check_ids("ids_plain", expected, &golden.encode(dialect)?)
        }
        None => Ok(()),
    }
}

/// Checks one rendering of a template that comes without a tokenizer.
pub(super) fn check_template(raw: &RawValue, family: &Family) -> Checked {
    let golden: Golden = item::parse(raw.get())?;
    let name = golden.template.as_deref();
    let name = name.ok_or_else(|| Verdict::NotUnderstood("it names no template".to_owned()))?;
    golden.check_rendering(&family.template(name)?, family.special_tokens())
}

impl Golden {
    fn chat(&self) -> Result<JsonChat, Verdict> {
        let (tools, template_args) = (self.tools.as_deref(), Some(&*self.template_kwargs));
        JsonChat::new(&self.messages, tools, template_args, self.add_generation_prompt)
    }

    fn check_rendering(&self, template: &Template, special_tokens: &[(String, String)]) -> Checked {
        let chat = self.chat()?;
        match (&self.rendered_text, template.render(&chat.input(special_tokens, StringArguments::AsGiven))) {
            (Rendered::Text(expected), Ok(found)) => check_text("rendered_text", expected, &found),
            (Rendered::Text(_), Err(error)) => Err(Verdict::Fail(error.to_string())),
            (Rendered::Error { error }, found) => error.check(found.map_err(|error| error.to_string())),
        }
    }

    fn encode(&self, dialect: &HfDialect) -> Result<Vec<Token>, Verdict> {
        let chat = self.chat()?;
        let encoded = dialect.encode_json(&chat.input(&[], StringArguments::AsGiven));
        encoded.map(|encoded| encoded.tokens).map_err(|error| Verdict::Fail(error.to_string()))
    }
}
