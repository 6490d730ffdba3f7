//! The chat template's part of a check.

use minijinja::value::Value;
use respool_core::{Chat, Dialect as _, JsonText, Message, ToolSpec};
use serde::Serialize;

use crate::changes::common_suffix;
use crate::controls::Control;
use crate::dialect::HfDialect;
use crate::{messages, sample};

/// What a chat template does.
#[derive(Clone, Debug, Serialize)]
pub struct TemplateCheck {
    /// The names of all templates of the model folder.
    pub names: Vec<String>,
    /// Whether chats with tools have a template of their own.
    pub has_tool_template: bool,
    /// What it reads beside messages, tools, special tokens and the generation prompt: arguments that
    /// can be given, and functions.
    pub reads: Vec<String>,
    /// What it does with system messages.
    pub system: SystemMessage,
    /// Whether it shows tools to the model.
    pub shows_tools: bool,
    /// Whether it writes the tool calls of earlier turns.
    pub writes_calls: bool,
    /// What it writes where a turn begins; some write nothing, and what ends the message before does.
    pub generation_prompt: String,
    /// The prompt ends with the end of the message before: no turn begins there.
    pub begins_no_turn: bool,
    /// The token with which it ends the last turn, if that is none of the dialect's stop tokens.
    pub other_stop: Option<String>,
}

/// What a template does with system messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SystemMessage {
    /// It writes those that are there.
    AsGiven,
    /// Where there is none, it writes text of its own before the first message.
    Adds {
        /// The text.
        text: String,
    },
    /// It refuses them.
    Refuses {
        /// Why.
        reason: String,
    },
}

/// What every chat template is given.
const USUAL: [&str; 7] =
    ["messages", "tools", "documents", "add_generation_prompt", "namespace", "range", "raise_exception"];

impl TemplateCheck {
    pub(super) fn of(dialect: &HfDialect) -> Self {
        let is_special = |name: &str| {
            name.ends_with("_token") || dialect.special_tokens().iter().any(|(known, _)| known == name)
        };
        let mut reads: Vec<_> =
            [false, true].iter().flat_map(|tools| dialect.template(*tools).reads()).collect();
        reads.retain(|name| !USUAL.contains(&name.as_str()) && !is_special(name));
        reads.sort();
        reads.dedup();
        let prompt = |messages: &[Message], tools: &[ToolSpec]| text(dialect, messages, tools);
        let plain = prompt(&[sample::question()], &[]);
        let ending = plain.as_deref().map(|text| after(text, sample::QUESTION)).unwrap_or_default();
        let with_tools = prompt(&[sample::question()], &[sample::tool()]);
        Self {
            names: dialect.template_names().to_vec(),
            has_tool_template: !std::ptr::eq(dialect.template(false), dialect.template(true)),
            reads,
            system: SystemMessage::of(
                dialect,
                plain.as_deref(),
                prompt(&[sample::system(), sample::question()], &[]),
            ),
            shows_tools: with_tools.is_ok_and(|text| text.contains("look_up")),
            writes_calls: prompt(
                &[sample::question(), sample::call_turn(), sample::result()],
                &[sample::tool()],
            )
            .is_ok_and(|text| text.contains(sample::WORD)),
            generation_prompt: dialect
                .generation_prompt()
                .map_or_else(|_| String::new(), |ids| dialect.decode(&ids)),
            begins_no_turn: is_stop(dialect, last_control(dialect, ending)),
            other_stop: other_stop(dialect),
        }
    }
}

impl SystemMessage {
    /// From a chat without and one with a system message.
    fn of(dialect: &HfDialect, without: Result<&str, &String>, with: Result<String, String>) -> Self {
        let with = match with {
            Ok(with) => with,
            Err(reason) => return Self::Refuses { reason },
        };
        let (given, asked) = (sample::SYSTEM, sample::QUESTION);
        let header = without.unwrap_or_default().split(asked).next().unwrap_or_default();
        let between = with.split(given).nth(1).unwrap_or_default().split(asked).next().unwrap_or_default();
        let own = &header[..header.len() - common_suffix(header, between)];
        let own: Vec<_> = dialect.vocabulary.controls().split(own).map(|(text, _)| text).collect();
        let own = own.join("\n");
        // Less are the names of roles and their brackets.
        let words = own.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count();
        if words > 2 { Self::Adds { text: own.trim().to_owned() } } else { Self::AsGiven }
    }
}

/// The text of the prompt, or why there is none.
pub(super) fn text(dialect: &HfDialect, messages: &[Message], tools: &[ToolSpec]) -> Result<String, String> {
    let chat = Chat { messages, tools, template_args: &JsonText::empty_object() };
    dialect.encode_chat(&chat).map(|prompt| dialect.decode(&prompt.tokens)).map_err(|error| error.message)
}

fn after<'a>(text: &'a str, what: &str) -> &'a str {
    text.rsplit_once(what).map_or("", |(_, after)| after)
}

fn last_control<'a>(dialect: &'a HfDialect, text: &'a str) -> Option<&'a Control> {
    dialect.vocabulary.controls().split(text).filter_map(|(_, control)| control).last()
}

fn is_stop(dialect: &HfDialect, control: Option<&Control>) -> bool {
    control.is_some_and(|control| dialect.stop_tokens().contains(&control.id))
}

/// What is written after the turn of a chat that ends with it.
fn other_stop(dialect: &HfDialect) -> Option<String> {
    let messages =
        [sample::question(), sample::answer()].map(|message| messages::message(&message, &dialect.fields));
    let scene = dialect.scene(Value::from(()), &JsonText::empty_object()).ok()?;
    let text = dialect.template(false).render_values(&scene, messages.to_vec(), false).ok()?;
    let (_, stop) = dialect.vocabulary.controls().find(after(&text, sample::ANSWER), 0)?;
    (!is_stop(dialect, Some(stop))).then(|| stop.spelling.clone())
}
