//! A rollout of two turns, as tokens.

use respool_core::{Chat, Continuation, Dialect as _, JsonText, Message, Token, ToolCall, ToolSpec};
use serde::Serialize;

use crate::dialect::HfDialect;
use crate::sample;

/// Tokens that came from one side.
#[derive(Clone, Debug, Serialize)]
pub struct ExamplePiece {
    /// Whether the policy would have sampled them: mask 1.
    pub sampled: bool,
    /// Their ids.
    pub ids: Vec<Token>,
    /// The text of each; bytes that are no text by themselves are replaced.
    pub tokens: Vec<String>,
}

/// A question, a call, its result and an answer; without the call where the template takes no results.
/// `None` if nothing can be continued.
pub(super) fn two_turns(dialect: &HfDialect) -> Option<Vec<ExamplePiece>> {
    let tools = [sample::tool()];
    rollout(dialect, &tools, &sample::call_turn(), &sample::result())
        .or_else(|| rollout(dialect, &[], &sample::answer(), &sample::next_question()))
}

fn rollout(
    dialect: &HfDialect,
    tools: &[ToolSpec],
    first: &Message,
    next: &Message,
) -> Option<Vec<ExamplePiece>> {
    let args = JsonText::empty_object();
    let chat = |messages| Chat { messages, tools, template_args: &args };
    let messages = [sample::question(), first.clone()];
    let prompt = dialect.encode_chat(&chat(&messages[..1])).ok()?.tokens;
    let said = if first.tool_calls.is_empty() { sample::ANSWER } else { "" };
    let turn = turn(dialect, said, &first.tool_calls, tools)?;
    let continuation = Continuation {
        chat: chat(&messages),
        new_messages: std::slice::from_ref(next),
        last_token: turn.last().copied(),
    };
    let appended = dialect.with_next(&continuation, |next| dialect.encode_in_context(next)).ok()?.tokens;
    let answer = self::turn(dialect, "An ox is an animal.", &[], tools)?;
    let pieces = [(false, prompt), (true, turn), (false, appended), (true, answer)];
    Some(pieces.into_iter().map(|(sampled, ids)| piece(dialect, sampled, ids)).collect())
}

/// A turn as the policy would write it, with its stop token.
fn turn(dialect: &HfDialect, said: &str, calls: &[ToolCall], tools: &[ToolSpec]) -> Option<Vec<Token>> {
    let text = dialect.write_turn(said, calls, &tools.into()).ok()?;
    let mut ids = dialect.encode_text(&text).ok()?;
    let is_ended = ids.last().is_some_and(|last| dialect.stop_tokens().contains(last));
    ids.extend(dialect.stop_tokens().first().filter(|_| !is_ended));
    Some(ids)
}

fn piece(dialect: &HfDialect, sampled: bool, ids: Vec<Token>) -> ExamplePiece {
    ExamplePiece { sampled, tokens: ids.iter().map(|id| dialect.decode(&[*id])).collect(), ids }
}
