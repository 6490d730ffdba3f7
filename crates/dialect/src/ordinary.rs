//! Conversations of the shapes that are tried at load: a system message at most, a user message,
//! then turns that are each followed by one result a call, or by a user message.

use respool_core::{Chat, Content, Continuation, Message, Role};

/// Most results of a turn for which the template was tried.
pub(crate) const MOST_RESULTS: usize = 4;

/// Whether the chat has one of the shapes, and nothing in it that was not tried: other template
/// arguments, parts of content, names of speakers, empty turns.
pub(crate) fn is_ordinary(next: &Continuation<'_>) -> bool {
    let Chat { messages, tools: _, template_args } = next.chat;
    let system = messages.first().is_some_and(|first| first.role == Role::System);
    let mut rest = &messages[usize::from(system)..];
    if template_args.as_str() != "{}" || !messages[..usize::from(system)].iter().all(is_plain) {
        return false;
    }
    if !take_user(&mut rest) {
        return false;
    }
    loop {
        let Some((turn, after)) = rest.split_first() else { return false };
        if !is_turn(turn) {
            return false;
        }
        rest = after;
        let is_last = rest.is_empty();
        if is_last {
            rest = next.new_messages;
        }
        if !take_answers(&mut rest, turn.tool_calls.len()) {
            return false;
        }
        if is_last {
            return rest.is_empty();
        }
    }
}

/// Takes what has to follow a turn with so many calls.
fn take_answers(rest: &mut &[Message], calls: usize) -> bool {
    if calls == 0 {
        return take_user(rest);
    }
    if calls > MOST_RESULTS || rest.len() < calls {
        return false;
    }
    let (results, after) = rest.split_at(calls);
    *rest = after;
    results.iter().all(is_result)
}

fn take_user(rest: &mut &[Message]) -> bool {
    let Some((first, after)) = rest.split_first() else { return false };
    *rest = after;
    first.role == Role::User && is_plain(first)
}

/// A turn that says or calls something, and whose reasoning, if it is there, is not blank.
fn is_turn(message: &Message) -> bool {
    let Message { role, content: Content::Text(text), reasoning, tool_calls, tool_call_id, name, outcome: _ } =
        message
    else {
        return false;
    };
    *role == Role::Assistant
        && (!tool_calls.is_empty() || !text.trim().is_empty())
        && reasoning.as_ref().is_none_or(|text| !text.trim().is_empty())
        && tool_call_id.is_none()
        && name.is_none()
}

fn is_result(message: &Message) -> bool {
    let Message { role, content: Content::Text(_), reasoning, tool_calls, tool_call_id, name, outcome: _ } =
        message
    else {
        return false;
    };
    *role == Role::Tool
        && reasoning.is_none()
        && tool_calls.is_empty()
        && tool_call_id.is_some()
        && name.is_some()
}

/// Text and nothing else.
fn is_plain(message: &Message) -> bool {
    let Message { role: _, content: Content::Text(_), reasoning, tool_calls, tool_call_id, name, outcome: _ } =
        message
    else {
        return false;
    };
    reasoning.is_none() && tool_calls.is_empty() && tool_call_id.is_none() && name.is_none()
}
