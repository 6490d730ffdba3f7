//! Goldens of continuations: what is appended after a sampled turn. Each is asked twice: with the
//! messages as JSON, and with ours, as a rollout does.

use respool_core::{
    Chat, Continuation, ControlTokens, Dialect, DialectError, Encoded, JsonText, Message, Token, ToolSpec,
};
use respool_dialect::{HfDialect, StringArguments};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Checked;
use super::family::Family;
use super::refusal::Refusal;
use crate::item;
use crate::messages::{JsonChat, json_text, read_messages, read_tools};
use crate::report::Verdict;
use crate::text::{check_ids, check_text};

#[derive(Debug, Deserialize)]
struct Golden {
    prefix_messages: Vec<Box<RawValue>>,
    tools: Option<Box<RawValue>>,
    template_kwargs: Box<RawValue>,
    assistant_message: Box<RawValue>,
    new_messages: Box<RawValue>,
    prompt_text: Option<String>,
    prompt_ids: Option<Vec<Token>>,
    sampled_ids: Option<Vec<Token>>,
    suffix_text: Option<String>,
    suffix_ids: Option<Vec<Token>>,
    suffix_ids_plain: Option<Vec<Token>>,
    append_only: Option<bool>,
    error: Option<Refusal>,
}

/// Checks one continuation of a family.
pub(super) fn check(raw: &RawValue, family: &Family) -> Checked {
    let golden: Golden = item::parse(raw.get())?;
    let parse = family.dialect(ControlTokens::Parse)?;
    golden.check_prompt(parse)?;
    golden.check_suffix(parse, golden.suffix_ids.as_deref())?;
    match &golden.suffix_ids_plain {
        Some(expected) => golden.check_suffix(family.dialect(ControlTokens::Plain)?, Some(expected)),
        None => Ok(()),
    }
}

impl Golden {
    fn check_prompt(&self, dialect: &HfDialect) -> Checked {
        let Some(expected) = &self.prompt_ids else { return Ok(()) };
        let (messages, tools) =
            (read_messages(&list(&self.prefix_messages)?)?, read_tools(self.tools.as_deref())?);
        let template_args = json_text(&self.template_kwargs)?;
        let chat = Chat { messages: &messages, tools: &tools, template_args: &template_args };
        let prompt = dialect.encode_chat(&chat).map_err(|error| Verdict::Fail(error.to_string()))?;
        check_tokens("prompt", dialect, self.prompt_text.as_deref(), Some(expected), &prompt.tokens)
    }

    fn check_suffix(&self, dialect: &HfDialect, ids: Option<&[Token]>) -> Checked {
        self.check_found("as JSON", self.continue_json(dialect)?, dialect, ids)?;
        self.check_found("as messages", self.continue_messages(dialect)?, dialect, ids)
    }

    fn check_found(
        &self,
        way: &str,
        found: Result<Encoded, DialectError>,
        dialect: &HfDialect,
        ids: Option<&[Token]>,
    ) -> Checked {
        if let Some(refusal) = &self.error {
            return refusal.check(found.map_err(|error| error.to_string()));
        }
        let Encoded { tokens, changes } = found.map_err(|error| Verdict::Fail(format!("{way}: {error}")))?;
        check_tokens(&format!("suffix {way}"), dialect, self.suffix_text.as_deref(), ids, &tokens)?;
        match self.append_only {
            Some(append_only) if append_only != changes.is_empty() => Err(Verdict::Fail(format!(
                "append_only {way}: expected {append_only}, found the changes {changes:?}"
            ))),
            _ => Ok(()),
        }
    }

    fn last_token(&self) -> Option<Token> {
        self.sampled_ids.as_ref().and_then(|ids| ids.last()).copied()
    }

    /// Prefix and sampled turn.
    fn chat(&self) -> Result<Box<RawValue>, Verdict> {
        list(self.prefix_messages.iter().chain([&self.assistant_message]))
    }

    fn continue_json(&self, dialect: &HfDialect) -> Result<Result<Encoded, DialectError>, Verdict> {
        let chat = JsonChat::new(&self.chat()?, self.tools.as_deref(), Some(&self.template_kwargs), true)?;
        let new_messages: JsonText = json_text(&self.new_messages)?;
        let input = chat.input(&[], StringArguments::AsGiven);
        Ok(dialect.encode_continuation_json(&input, &new_messages, self.last_token()))
    }

    fn continue_messages(&self, dialect: &HfDialect) -> Result<Result<Encoded, DialectError>, Verdict> {
        let messages: Vec<Message> = read_messages(&self.chat()?)?;
        let tools: Vec<ToolSpec> = read_tools(self.tools.as_deref())?;
        let new_messages = read_messages(&self.new_messages)?;
        let template_args = json_text(&self.template_kwargs)?;
        Ok(dialect.encode_continuation(&Continuation {
            chat: Chat { messages: &messages, tools: &tools, template_args: &template_args },
            new_messages: &new_messages,
            last_token: self.last_token(),
        }))
    }
}

/// Compares tokens with a text and with ids. Tokenizers may normalise, so the text is compared with
/// what its own ids decode to.
fn check_tokens(
    what: &str,
    dialect: &HfDialect,
    text: Option<&str>,
    ids: Option<&[Token]>,
    found: &[Token],
) -> Checked {
    if let Some(text) = text {
        let expected = dialect.encode_text(text).map_err(|error| Verdict::Fail(error.to_string()))?;
        check_text(&format!("{what} text"), &dialect.decode(&expected), &dialect.decode(found))?;
    }
    ids.map_or(Ok(()), |ids| check_ids(&format!("{what} ids"), ids, found))
}

/// A JSON list of these values.
fn list<'a>(values: impl IntoIterator<Item = &'a Box<RawValue>>) -> Result<Box<RawValue>, Verdict> {
    let values: Vec<&str> = values.into_iter().map(|value| value.get()).collect();
    RawValue::from_string(format!("[{}]", values.join(", ")))
        .map_err(|error| Verdict::NotUnderstood(error.to_string()))
}
