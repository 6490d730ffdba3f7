//! Qwen3-Coder and MiniMax M2: a tag around the call, one around each parameter, values as plain text.

use respool_core::{ToolCall, ToolSpec};

use super::tagged::{Arguments, Types, Untyped, plain_texts};
use super::{Block, Ending, Framing, Item, ToolFormat, Unwritable, json_call};

/// A format of tags.
#[derive(Debug)]
pub(crate) struct Tags {
    name: &'static str,
    openers: &'static [&'static str],
    /// What ends a block that the first or second opener began, and what begins another one.
    close: [&'static [&'static str]; 2],
    restart: [&'static [&'static str]; 2],
    /// Around a call: before its name, after its name, at its end.
    function: [&'static str; 3],
    /// Around a parameter.
    parameter: [&'static str; 3],
    /// Before and after all calls of a block, when written.
    block: [&'static str; 2],
    /// What stands around a value that is not a part of it.
    line: &'static str,
    /// Whether one block holds all calls of a turn.
    shares_block: bool,
}

/// Qwen3-Coder.
pub(crate) static QWEN3_CODER: Tags = Tags {
    name: "qwen3_coder",
    openers: &["<tool_call>", "<function="],
    close: [&["</tool_call>"], &["</function>"]],
    restart: [&["<tool_call>"], &["<tool_call>", "<function="]],
    function: ["<function=", ">", "</function>"],
    parameter: ["<parameter=", ">", "</parameter>"],
    block: ["<tool_call>\n", "\n</tool_call>"],
    line: "\n",
    shares_block: false,
};

/// MiniMax M2.
pub(crate) static MINIMAX_M2: Tags = Tags {
    name: "minimax_m2",
    openers: &["<minimax:tool_call>", "<invoke name=\""],
    close: [&["</minimax:tool_call>"], &["</invoke>"]],
    restart: [&["<minimax:tool_call>"], &["<minimax:tool_call>", "<invoke name=\""]],
    function: ["<invoke name=\"", "\">", "</invoke>"],
    parameter: ["<parameter name=\"", "\">", "</parameter>"],
    block: ["<minimax:tool_call>\n", "\n</minimax:tool_call>"],
    line: "",
    shares_block: true,
};

impl ToolFormat for Tags {
    fn name(&self) -> &'static str {
        self.name
    }

    fn openers(&self) -> &'static [&'static str] {
        self.openers
    }

    fn framing(&self, opener: Option<usize>) -> Framing {
        let opener = usize::from(opener == Some(1));
        Framing::Tagged {
            value: [self.parameter[0], self.parameter[2]],
            close: self.close[opener],
            restart: self.restart[opener],
        }
    }

    fn silent(&self) -> &'static [&'static str] {
        self.close[0]
    }

    fn read(&self, block: &Block<'_>) -> Vec<Item> {
        let [begin, ..] = self.function;
        let bare = block.opener == Some(begin);
        let mut items = Vec::new();
        let mut rest = block.body;
        if !bare {
            let Some((before, after)) = rest.split_once(begin) else {
                return vec![Item::malformed(format!("there is no {begin} in the tool call"), block.body)];
            };
            if !before.trim().is_empty() {
                return vec![Item::malformed(format!("there is text before {begin}"), block.body)];
            }
            rest = after;
        }
        loop {
            let mut call = Reader { tags: self, block, text: rest, at: 0, value_end: None };
            match call.call() {
                Ok(item) => items.push(item),
                Err(reason) => items.push(Item::malformed(reason, rest)),
            }
            match rest[call.at..].split_once(begin) {
                Some((_, after)) => rest = after,
                None => return items,
            }
        }
    }

    fn write(&self, calls: &[ToolCall], tools: &[ToolSpec]) -> Result<String, Unwritable> {
        let [before, after] = self.block;
        let written = calls.iter().map(|call| self.written(call, tools)).collect::<Result<Vec<_>, _>>()?;
        Ok(if self.shares_block {
            format!("{before}{}{after}", written.join("\n"))
        } else {
            written.iter().map(|call| format!("{before}{call}{after}")).collect::<Vec<_>>().join("\n")
        })
    }
}

impl Tags {
    fn written(&self, call: &ToolCall, tools: &[ToolSpec]) -> Result<String, Unwritable> {
        json_call::plain_name(self.name, call, &['<', '>', '"'])?;
        let (line, [begin, named, end], [open, keyed, close]) = (self.line, self.function, self.parameter);
        let forbidden = [close, open];
        let texts = plain_texts(call, tools, Untyped::Text, &forbidden).map_err(|reason| Unwritable {
            format: self.name,
            name: call.name.clone(),
            reason,
        })?;
        let parameters: String = texts
            .iter()
            .map(|(key, text)| format!("{open}{key}{keyed}{line}{text}{line}{close}\n"))
            .collect();
        Ok(format!("{begin}{}{named}\n{parameters}{end}", call.name))
    }
}

/// Reads one call; its begin marker is behind.
struct Reader<'a> {
    tags: &'a Tags,
    block: &'a Block<'a>,
    text: &'a str,
    at: usize,
    /// Where the next end of a value is, as far as it was looked for: each byte is searched once.
    value_end: Option<usize>,
}

impl<'a> Reader<'a> {
    fn call(&mut self) -> Result<Item, String> {
        let [_, named, end] = self.tags.function;
        let name =
            self.until(named).ok_or_else(|| format!("there is no {named} after the tool's name"))?.trim();
        if name.is_empty() || name.contains(['<', '\n']) {
            return Err(format!("{name:?} is no name of a tool"));
        }
        let types = Types::of(name, self.block.tools);
        let mut arguments = Arguments::new();
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with(self.tags.parameter[0]) {
                self.at += self.tags.parameter[0].len();
                let (key, raw) = self.parameter(name, &types)?;
                arguments.add(key, types.value(key, raw, Untyped::Text, self.block.is_lenient));
            } else if trimmed.starts_with(end) || (trimmed.is_empty() && self.block.ending != Ending::Cut) {
                self.at += trimmed.len().min(end.len());
                let is_lenient = arguments.is_lenient;
                return Ok(match json_call::with_arguments(name, "", &arguments.finish(), false) {
                    Item::Call { call, .. } => Item::Call { call, is_lenient },
                    other => other,
                });
            } else if trimmed.is_empty() {
                return Err("the turn was cut before the tool call's end".to_owned());
            } else {
                return Err(format!("there is text between the parameters of {name}"));
            }
        }
    }

    fn parameter(&mut self, name: &str, types: &Types) -> Result<(&'a str, &'a str), String> {
        let [begin, keyed, close] = self.tags.parameter;
        let key =
            self.until(keyed).map(str::trim).filter(|key| !key.is_empty() && !key.contains(['<', '\n']));
        let key = key.ok_or_else(|| format!("a parameter of {name} has no name"))?;
        if self.value_end.is_none_or(|end| end < self.at) {
            self.value_end =
                Some(self.text[self.at..].find(close).map_or(self.text.len(), |end| self.at + end));
        }
        let own_end = self.value_end.unwrap_or(self.text.len());
        let mut end = own_end;
        let mut from = self.at;
        // The end tag is often left out: the next parameter then ends the value.
        while let Some(next) = self.text[from..end].find(begin).map(|next| from + next) {
            let next_key = self.text[next + begin.len()..].split(keyed).next().unwrap_or_default();
            if self.text[..next].ends_with('\n') && types.allows(next_key.trim()) && !next_key.contains('\n')
            {
                end = next;
                break;
            }
            from = next + begin.len();
        }
        if end == self.text.len() {
            if self.block.ending == Ending::Cut {
                return Err("the turn was cut before the tool call's end".to_owned());
            }
            let function_end = self.text[self.at..].find(self.tags.function[2]);
            end = function_end.map_or(end, |end| self.at + end);
        }
        let raw = &self.text[self.at..end];
        self.at = if end == own_end && end < self.text.len() { end + close.len() } else { end };
        let line = self.tags.line;
        let raw = raw.strip_prefix(line).unwrap_or(raw);
        Ok((key, raw.strip_suffix(line).unwrap_or(raw)))
    }

    fn until(&mut self, marker: &str) -> Option<&'a str> {
        let (before, _) = self.text[self.at..].split_once(marker)?;
        self.at += before.len() + marker.len();
        Some(before)
    }
}
