//! What a check tells about reasoning.

use respool_core::{Chat, Dialect as _, JsonText, Message};
use serde::Serialize;

use super::template::text;
use crate::dialect::HfDialect;
use crate::sample;

/// What a dialect does with reasoning.
#[derive(Clone, Debug, Serialize)]
pub struct ThinkingCheck {
    /// What begins and ends a block of reasoning in a turn; `None` where channels tell it.
    pub markers: Option<[&'static str; 2]>,
    /// Whether the prompt opens the block, so that a turn begins inside it.
    pub prompt_opens: bool,
    /// The fields in which the template takes the reasoning of a message; without any it is written
    /// into the content.
    pub fields: Vec<&'static str>,
    /// Where the template reads `enable_thinking`: what it writes where a turn begins without thinking.
    pub without: Option<String>,
    /// Whether reasoning is still there after tool results; `None` where that could not be rendered.
    pub kept_after_tool_results: Option<bool>,
    /// Whether reasoning is still there after the next user message.
    pub kept_after_user: Option<bool>,
}

impl ThinkingCheck {
    pub(super) fn of(dialect: &HfDialect) -> Self {
        let thinking = |turn: Message| Message { reasoning: Some(sample::REASONING.to_owned()), ..turn };
        let kept = |messages: &[Message], tools| {
            text(dialect, messages, tools).ok().map(|text| text.contains(sample::REASONING))
        };
        let called = [sample::question(), thinking(sample::call_turn()), sample::result()];
        let answered = [sample::question(), thinking(sample::answer()), sample::next_question()];
        let prompt = dialect.generation_prompt().unwrap_or_default();
        Self {
            markers: dialect.tool_format().reasoning(),
            prompt_opens: dialect.turn_context(&prompt, &[]).reasoning_open,
            fields: dialect.fields.names().to_vec(),
            without: without_thinking(dialect),
            kept_after_tool_results: kept(&called, &[sample::tool()]),
            kept_after_user: kept(&answered, &[]),
        }
    }
}

fn without_thinking(dialect: &HfDialect) -> Option<String> {
    if !dialect.template(false).reads().iter().any(|name| name == "enable_thinking") {
        return None;
    }
    let args = JsonText::new(r#"{"enable_thinking": false}"#).ok()?;
    let chat = Chat { messages: &[sample::question()], tools: &[], template_args: &args };
    let prompt = dialect.decode(&dialect.encode_chat(&chat).ok()?.tokens);
    let (_, after) = prompt.rsplit_once(sample::QUESTION)?;
    let opening = dialect.decode(&dialect.generation_prompt().ok()?);
    // What differs is at the end: the turn's end stands before it.
    let begin = opening.trim_end().lines().next().unwrap_or_default();
    let begin = after.rfind(begin).unwrap_or(0);
    Some(after[begin..].to_owned())
}
