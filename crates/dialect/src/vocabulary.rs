//! A tokenizer: text to ids with and without control tokens, ids to bytes.

use std::collections::HashMap;

use respool_core::Token;
use tokenizers::{Model as _, Tokenizer};

use crate::byte_table::ByteTable;
use crate::controls::{Control, Controls};
use crate::opaque::Guarded;

/// A tokenizer in the two forms that are needed, and what each of its tokens stands for.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    /// As loaded: control tokens are found wherever they are spelled out.
    full: Tokenizer,
    /// The same model without control tokens.
    plain: Tokenizer,
    controls: Controls,
    bytes: ByteTable,
}

impl Vocabulary {
    /// From the text of a `tokenizer.json`.
    pub(crate) fn new(tokenizer_json: &[u8]) -> Result<Self, String> {
        let mut full = Tokenizer::from_bytes(tokenizer_json).map_err(|error| error.to_string())?;
        full.with_truncation(None).map_err(|error| error.to_string())?;
        full.with_padding(None);
        let mut plain = Tokenizer::new(full.get_model().clone());
        plain.with_normalizer(full.get_normalizer().cloned()).map_err(|error| error.to_string())?;
        plain.with_pre_tokenizer(full.get_pre_tokenizer().cloned());
        let controls = full.get_added_tokens_decoder().into_iter().map(|(id, token)| Control {
            spelling: token.content,
            id,
            special: token.special,
            takes_left: token.lstrip,
            takes_right: token.rstrip,
            is_verbatim: !token.normalized && !token.single_word,
        });
        let controls = Controls::new(controls.collect()).map_err(|error| error.to_string())?;
        let bytes = ByteTable::new(&full, &controls);
        Ok(Self { full, plain, controls, bytes })
    }

    pub(crate) fn controls(&self) -> &Controls {
        &self.controls
    }

    /// One more than the greatest id.
    pub(crate) const fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn bytes_of(&self, token: Token) -> &[u8] {
        self.bytes.get(token)
    }

    /// The id of a token by its spelling, control token or not.
    pub(crate) fn id_of(&self, spelling: &str) -> Option<Token> {
        let control = self.controls.spelled(spelling).map(|control| control.id);
        control.or_else(|| self.full.get_model().token_to_id(spelling))
    }

    /// The ids of a text; control tokens are found wherever they are spelled out.
    pub(crate) fn encode(&self, text: &str) -> Result<Vec<Token>, String> {
        encode(&self.full, text)
    }

    /// As [`Self::encode`], where all control tokens are verbatim: each text between two of them is
    /// tokenized by itself, unless its ids are `known`.
    pub(crate) fn encode_pieces(
        &self,
        text: &str,
        known: &HashMap<String, Vec<Token>>,
    ) -> Result<Vec<Token>, String> {
        let mut ids = Vec::new();
        for (piece, control) in self.controls.split(text) {
            match known.get(piece) {
                Some(known) => ids.extend_from_slice(known),
                None => ids.append(&mut encode(&self.plain, piece)?),
            }
            ids.extend(control.map(|control| control.id));
        }
        Ok(ids)
    }

    /// The ids of a text in which no control token is found inside or across the plain ranges.
    pub(crate) fn encode_guarded(&self, guarded: &Guarded) -> Result<Vec<Token>, String> {
        if guarded.plain.is_empty() {
            return self.encode(&guarded.text);
        }
        let text = guarded.text.as_str();
        let mut plain = guarded.plain.iter().peekable();
        let (mut ids, mut start, mut at) = (Vec::new(), 0, 0);
        while let Some((range, control)) = self.controls.find(text, at) {
            while plain.next_if(|plain| plain.end <= range.start).is_some() {}
            if let Some(plain) = plain.peek().filter(|plain| plain.start < range.end) {
                at = plain.end.max(range.start + 1);
                continue;
            }
            let before = &text[start..range.start];
            let before = if control.takes_left { before.trim_end() } else { before };
            ids.append(&mut encode(&self.plain, before)?);
            ids.push(control.id);
            let after = &text[range.end..];
            let skipped = if control.takes_right { after.len() - after.trim_start().len() } else { 0 };
            start = range.end + skipped;
            at = start;
        }
        ids.append(&mut encode(&self.plain, &text[start..])?);
        Ok(ids)
    }
}

fn encode(tokenizer: &Tokenizer, text: &str) -> Result<Vec<Token>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let encoding = tokenizer.encode_fast(text, false).map_err(|error| error.to_string())?;
    Ok(encoding.get_ids().to_vec())
}
