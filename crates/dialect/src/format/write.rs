//! Whole turns as a model family writes them.

use std::sync::Arc;

use respool_core::{ParsedCall, ToolCall, ToolSpec};

use super::{ToolFormat, TurnContext, Unwritable, parse};

/// The text of a turn that says something and then makes calls; either may be missing.
///
/// # Errors
/// If it would not be read as it was meant: some calls have no written form, some texts look like
/// calls, and in some families calls stand alone.
pub(crate) fn write_turn(
    format: &'static dyn ToolFormat,
    said: &str,
    calls: &[ToolCall],
    tools: &Arc<[ToolSpec]>,
) -> Result<String, Unwritable> {
    let text = match (said, calls) {
        ("", []) => String::new(),
        (said, []) => format.say(said),
        ("", calls) => format.write(calls, tools)?,
        (said, calls) => format.join(said, &format.write(calls, tools)?),
    };
    let context = TurnContext { tools: Arc::clone(tools), ..TurnContext::default() };
    let turn = parse(format, &text, context, true);
    let unlike = |what: &str| Unwritable {
        format: format.name(),
        what: "this turn".to_owned(),
        reason: format!("{what} would not be read as meant from {text:?}"),
    };
    if turn.content != said.trim() || turn.reasoning.is_some() {
        return Err(unlike("what it says"));
    }
    let are_same = turn.calls.len() == calls.len()
        && turn
            .calls
            .iter()
            .zip(calls)
            .all(|(read, call)| matches!(read, ParsedCall::Call(read) if is_same(read, call)));
    if are_same { Ok(text) } else { Err(unlike("its calls")) }
}

/// Formats have their own ids, and some their own order of keys.
fn is_same(read: &ToolCall, call: &ToolCall) -> bool {
    let value = |call: &ToolCall| serde_json::from_str::<serde_json::Value>(call.arguments.as_str()).ok();
    read.name == call.name && value(read) == value(call)
}
