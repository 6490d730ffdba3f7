//! GLM 4.5 and 4.7: the name, then keys and values in tags, values as plain text.

use respool_core::{ToolCall, ToolSpec};

use super::tagged::{Arguments, Taken, Types, Untyped, plain_texts};
use super::{Block, Ending, Framing, Item, ToolFormat, Unwritable, json_call};

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";
const KEY: &str = "<arg_key>";
const KEY_END: &str = "</arg_key>";
const VALUE: &str = "<arg_value>";
const VALUE_END: &str = "</arg_value>";

/// A version of the format.
#[derive(Debug)]
pub(crate) struct Glm {
    name: &'static str,
    /// What the model writes between the parts of a call.
    line: &'static str,
}

/// With line ends between the parts.
pub(crate) static GLM4_5: Glm = Glm { name: "glm4_5", line: "\n" };

/// Without.
pub(crate) static GLM4_7: Glm = Glm { name: "glm4_7", line: "" };

impl ToolFormat for Glm {
    fn name(&self) -> &'static str {
        self.name
    }

    fn openers(&self) -> &'static [&'static str] {
        &[OPEN]
    }

    fn framing(&self, _opener: Option<usize>) -> Framing {
        Framing::Tagged { value: [VALUE, VALUE_END], close: &[CLOSE], restart: &[OPEN] }
    }

    fn other_markers(&self) -> &'static [&'static str] {
        &[KEY, KEY_END]
    }

    fn read(&self, block: &Block<'_>) -> Vec<Item> {
        if block.ending == Ending::Cut {
            return vec![Item::malformed("the turn was cut before the tool call's end", block.body)];
        }
        vec![read(block).unwrap_or_else(|reason| Item::malformed(reason, block.body))]
    }

    fn write(&self, calls: &[ToolCall], tools: &[ToolSpec]) -> Result<String, Unwritable> {
        let line = self.line;
        let mut written = Vec::new();
        for call in calls {
            json_call::plain_name(self.name, call, &['<', '>'])?;
            let taken = Taken { markers: &[VALUE_END], close: &[CLOSE], restart: &[OPEN] };
            let texts = plain_texts(call, tools, Untyped::Json, taken)
                .map_err(|reason| Unwritable::call(self.name, &call.name, reason))?;
            let pairs: String = texts
                .iter()
                .map(|(key, text)| format!("{KEY}{key}{KEY_END}{line}{VALUE}{text}{VALUE_END}{line}"))
                .collect();
            written.push(format!("{OPEN}{}{line}{pairs}{CLOSE}", call.name));
        }
        Ok(written.join(line))
    }
}

fn read(block: &Block<'_>) -> Result<Item, String> {
    let (name, mut rest) = block.body.split_at(block.body.find(KEY).unwrap_or(block.body.len()));
    let name = name.trim();
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || matches!(c, '<' | '{')) {
        return Err(format!("{name:?} is no name of a tool"));
    }
    let types = Types::of(name, block.tools);
    let mut arguments = Arguments::new();
    while !rest.trim().is_empty() {
        let (key, value, after) = pair(rest, name)?;
        arguments.add(key, types.value(key, value, Untyped::Json, block.is_lenient));
        rest = after;
    }
    let is_lenient = arguments.is_lenient;
    Ok(match json_call::with_arguments(name, "", &arguments.finish(), false) {
        Item::Call { call, .. } => Item::Call { call, is_lenient },
        other => other,
    })
}

/// The next key and value, and what follows. A begin tag of the value that is left out, and an end
/// tag that is written twice, are read as they were meant.
fn pair<'a>(text: &'a str, name: &str) -> Result<(&'a str, &'a str, &'a str), String> {
    let text = text.trim_start().strip_prefix(KEY);
    let text = text.ok_or_else(|| format!("there is text between the parameters of {name}"))?;
    let (key, mut rest) =
        text.split_once(KEY_END).ok_or_else(|| format!("there is no {KEY_END} after a key"))?;
    let key = key.trim();
    if key.is_empty() || key.contains(['<', '>']) {
        return Err(format!("{key:?} is no name of a parameter"));
    }
    while let Some(after) = rest.trim_start().strip_prefix(KEY_END) {
        rest = after;
    }
    rest = rest.trim_start().strip_prefix(VALUE).unwrap_or(rest);
    match rest.split_once(VALUE_END) {
        Some((value, after)) => Ok((key, value, after)),
        None if rest.contains(KEY) => Err(format!("there is no {VALUE_END} after the value of {key}")),
        None => Ok((key, rest, "")),
    }
}
