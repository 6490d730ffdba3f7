//! A vocabulary made for one case: every byte is a token, and so is whatever the case names.

use std::collections::BTreeMap;

use respool_core::Token;
use respool_dialect::{Clock, DialectOptions, HfDialect, Parts};
use serde_json::json;

use crate::clock;
use crate::report::Verdict;

/// Tokens by id. Single bytes that no token stands for are added at the end, so that every text
/// can be encoded.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    pieces: BTreeMap<Token, Vec<u8>>,
    added: BTreeMap<Token, (String, bool)>,
    stop: Option<String>,
}

impl Vocabulary {
    /// The token of these bytes: the one that is there, or a new one.
    pub(crate) fn token(&mut self, bytes: &[u8]) -> Token {
        if let Some((token, _)) = self.pieces.iter().find(|(_, piece)| *piece == bytes) {
            return *token;
        }
        let token = self.free();
        self.pieces.insert(token, bytes.to_vec());
        token
    }

    /// Gives an id a text; one id has one text.
    pub(crate) fn insert(&mut self, token: Token, text: &str) {
        self.pieces.insert(token, text.as_bytes().to_vec());
    }

    /// Adds a control token.
    pub(crate) fn add_control(&mut self, token: Token, text: &str, special: bool) {
        self.added.insert(token, (text.to_owned(), special));
    }

    /// The lowest id above all others.
    pub(crate) fn free(&self) -> Token {
        let last = self.pieces.keys().chain(self.added.keys()).max();
        last.map_or(0, |last| last + 1)
    }

    /// Adds a token that ends turns: the one of that text, or a new one.
    pub(crate) fn add_stop(&mut self, text: &str) -> Token {
        let known = self.added.iter().find(|(_, (added, _))| added == text).map(|(token, _)| *token);
        let token = known.unwrap_or_else(|| self.free());
        self.add_control(token, text, true);
        self.stop = Some(text.to_owned());
        token
    }

    /// A dialect of these tokens that reads calls of that format; its template writes the bare messages.
    ///
    /// # Errors
    /// If the tokens do not make a tokenizer.
    pub(crate) fn dialect_of(self, tool_format: &str) -> Result<HfDialect, Verdict> {
        let template = "{% for message in messages %}{{ message.content }}{% endfor %}";
        let options =
            DialectOptions { tool_format: tool_format.to_owned(), ..DialectOptions::new(clock::unset()) };
        self.build(template, options)
    }

    /// A dialect of these tokens with that template.
    ///
    /// # Errors
    /// If the template does not compile, or the tokens do not make a tokenizer.
    pub(crate) fn dialect_with(self, template: &str, clock: Clock) -> Result<HfDialect, Verdict> {
        let options = DialectOptions { tool_format: "hermes".to_owned(), ..DialectOptions::new(clock) };
        self.build(template, options)
    }

    fn build(mut self, template: &str, options: DialectOptions) -> Result<HfDialect, Verdict> {
        if self.stop.is_none() {
            self.add_stop("<|end of the stub's turn|>");
        }
        let config = json!({"eos_token": self.stop}).to_string();
        let parts = Parts {
            name: "of the case",
            tokenizer: &self.tokenizer_json(),
            tokenizer_config: &config,
            chat_template: Some(template),
            additional_templates: &[],
            generation_config: None,
            model_config: None,
        };
        HfDialect::from_parts(&parts, options).map_err(|error| Verdict::Fail(error.to_string()))
    }

    /// The `tokenizer.json` of a byte-level BPE without merges.
    fn tokenizer_json(mut self) -> String {
        for byte in 0..=u8::MAX {
            self.token(&[byte]);
        }
        let pieces = self.pieces.iter().map(|(token, piece)| (spelled(piece), *token));
        // The loader numbers control tokens anew unless the model has them too.
        let controls = self.added.iter().map(|(token, (text, _))| (text.clone(), *token));
        let vocab: BTreeMap<String, Token> = pieces.chain(controls).collect();
        let added: Vec<_> = self
            .added
            .iter()
            .map(|(token, (text, special))| {
                json!({"id": token, "content": text, "single_word": false, "lstrip": false, "rstrip": false,
                       "normalized": false, "special": special})
            })
            .collect();
        let byte_level =
            json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
        json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "normalizer": null,
            "pre_tokenizer": byte_level, "post_processor": null, "decoder": byte_level,
            "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                      "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
                      "vocab": vocab, "merges": []},
        })
        .to_string()
    }
}

/// How byte-level BPE spells a token.
fn spelled(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| spelling(*byte)).collect()
}

/// How byte-level BPE spells a byte: visible Latin-1 characters as they are, the others from U+0100 on.
fn spelling(byte: u8) -> char {
    let visible = |byte: u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    if visible(byte) {
        return char::from(byte);
    }
    let hidden_before = (0..byte).filter(|other| !visible(*other)).count() as u32;
    char::from_u32(0x100 + hidden_before).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use respool_core::Dialect as _;

    use super::*;

    #[test]
    fn bytes_are_spelled_as_byte_level_bpe_does() {
        assert_eq!(spelled(" \n!é".as_bytes()), "ĠĊ!Ã©");
        let all: std::collections::BTreeSet<char> = (0..=u8::MAX).map(spelling).collect();
        assert_eq!(all.len(), 256);
    }

    #[test]
    fn a_piece_has_one_token() {
        let mut vocabulary = Vocabulary::default();
        vocabulary.insert(7, "x");
        assert_eq!((vocabulary.token(b"x"), vocabulary.token(b"yz"), vocabulary.token(b"yz")), (7, 8, 8));
        vocabulary.add_control(50, "<end>", true);
        assert_eq!(vocabulary.free(), 51);
    }

    #[test]
    fn a_dialect_keeps_the_ids() {
        let mut vocabulary = Vocabulary::default();
        vocabulary.insert(7, " x");
        vocabulary.add_control(300, "<｜call｜>", false);
        let stop = vocabulary.add_stop("<|end|>");
        let dialect = vocabulary.dialect_of("hermes").expect("a dialect");
        assert_eq!(dialect.decode(&[7, 300, stop]), " x<｜call｜><|end|>");
        assert_eq!(dialect.stop_tokens(), [stop]);
        let text = "北京 x<|end|>";
        assert_eq!(dialect.decode(&dialect.encode_text(text).expect("ids")), text);
    }
}
