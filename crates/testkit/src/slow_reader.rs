//! A reader of turns that is slow and easy to believe: it has the whole text before it starts, and
//! keeps nothing but what it found.
//!
//! Only the search for calls is done again here. What one call says is asked of the format itself:
//! it sees a call's whole text, so nothing incremental can go wrong there.

mod frame;

use respool_core::{ParsedCall, ParsedTurn};
use respool_dialect::{Block, Ending, Item, ToolFormat, TurnContext};

/// Reads a whole turn's text as [`respool_dialect::parse`] does, where no marker is a token.
#[must_use]
pub fn read_slowly(
    format: &'static dyn ToolFormat,
    text: &str,
    context: &TurnContext,
    complete: bool,
) -> ParsedTurn {
    let at_end = if complete { Ending::TurnEnd } else { Ending::Cut };
    let mut reader = Reader {
        format,
        context,
        at_end,
        turn: ParsedTurn::default(),
        has_text: false,
        is_past_reasoning: false,
    };
    let mut rest = text;
    if let Some(opener) = format.opens_with() {
        let mut block = None;
        rest = reader.call(Some(opener), rest, &mut block);
        reader.end_block(block);
    } else if context.reasoning_open && format.reasoning().is_some() {
        rest = reader.reasoning(rest);
    }
    while !rest.is_empty() {
        rest = reader.piece(rest);
    }
    reader.turn.content = reader.turn.content.trim().to_owned();
    reader.turn
}

struct Reader<'a> {
    format: &'static dyn ToolFormat,
    context: &'a TurnContext,
    at_end: Ending,
    turn: ParsedTurn,
    has_text: bool,
    is_past_reasoning: bool,
}

impl Reader<'_> {
    /// Reads up to and with the next marker, or one call; gives what is left.
    fn piece<'t>(&mut self, text: &'t str) -> &'t str {
        if let Some(text) = self.bare_call(text) {
            return self.outer_call(None, text);
        }
        let (openers, silent) = (self.format.openers(), self.format.silent());
        let reasoning = self.format.reasoning();
        let markers = [openers, silent, reasoning.as_ref().map_or(&[], |pair| pair.as_slice())].concat();
        let Some((at, index)) = frame::first(text, &markers) else {
            self.text(text);
            return "";
        };
        self.text(&text[..at]);
        let rest = &text[at + markers[index].len()..];
        match index.checked_sub(openers.len()) {
            None => self.outer_call(Some(index), rest),
            Some(index) if index < silent.len() => rest,
            Some(index) if index == silent.len() => self.reasoning(rest),
            Some(_) => {
                self.end_without_start();
                rest
            }
        }
    }

    /// The text of a call that begins without a marker, if one begins here.
    fn bare_call<'t>(&self, text: &'t str) -> Option<&'t str> {
        let bare = self.format.bare();
        let trimmed = self.format.trim_before_bare(text, self.is_past_reasoning);
        (!self.has_text && trimmed.starts_with(bare)).then_some(trimmed)
    }

    fn text(&mut self, text: &str) {
        self.has_text |= !text.trim().is_empty();
        self.turn.content.push_str(text);
    }

    /// An end of reasoning that did not begin: the text before it was reasoning.
    fn end_without_start(&mut self) {
        if !self.is_past_reasoning {
            self.is_past_reasoning = true;
            self.has_text = false;
            let block = std::mem::take(&mut self.turn.content);
            self.end_block(Some(block));
        }
    }

    fn end_block(&mut self, block: Option<String>) {
        let Some(block) = block else { return };
        match &mut self.turn.reasoning {
            Some(reasoning) => reasoning.extend(["\n", block.trim()]),
            None => self.turn.reasoning = Some(block.trim().to_owned()),
        }
    }

    /// Reads a reasoning block, and the calls in it where they count; gives what is left.
    fn reasoning<'t>(&mut self, text: &'t str) -> &'t str {
        let close = self.format.reasoning().map_or("", |[_, close]| close);
        let inner = if self.context.options.calls_in_reasoning { self.format.openers() } else { &[] };
        let markers = [&[close], inner].concat();
        let mut block = Some(String::new());
        let mut rest = text;
        let left = loop {
            let Some((at, index)) = frame::first(rest, &markers) else {
                block.get_or_insert_default().push_str(rest);
                break "";
            };
            block.get_or_insert_default().push_str(&rest[..at]);
            rest = &rest[at + markers[index].len()..];
            match index.checked_sub(1) {
                None => break rest,
                Some(opener) => rest = self.call(Some(opener), rest, &mut block),
            }
        };
        self.is_past_reasoning = true;
        self.end_block(Some(block.unwrap_or_default()));
        left
    }

    fn outer_call<'t>(&mut self, opener: Option<usize>, text: &'t str) -> &'t str {
        self.call(opener, text, &mut None)
    }

    /// Reads one framed call; gives what is left.
    fn call<'t>(&mut self, opener: Option<usize>, text: &'t str, block: &mut Option<String>) -> &'t str {
        let framed = frame::frame(&self.format.framing(opener), text, self.at_end);
        let items = self.format.read(&Block {
            opener: opener.map(|opener| self.format.openers()[opener]),
            body: &text[..framed.body],
            ending: framed.ending,
            tools: &self.context.tools,
            is_lenient: self.context.options.lenient_literals,
        });
        items.into_iter().for_each(|item| self.item(item, block));
        &text[framed.next..]
    }

    fn item(&mut self, item: Item, block: &mut Option<String>) {
        match item {
            Item::Text(text) => self.text(&text),
            Item::Reasoning(text) => {
                let mut whole = block.take().unwrap_or_default();
                whole.push_str(&text);
                self.end_block(Some(whole));
            }
            Item::Call { mut call, is_lenient } => {
                self.is_past_reasoning = true;
                let slot = u32::try_from(self.turn.calls.len()).unwrap_or(u32::MAX);
                if is_lenient {
                    self.turn.lenient.push(slot);
                }
                if let ParsedCall::Call(call) = &mut call {
                    call.slot = slot;
                }
                self.turn.calls.push(call);
            }
        }
    }
}

#[cfg(test)]
mod tests;
