//! The bytes that each token stands for.

use std::sync::LazyLock;

use respool_core::Token;
use tokenizers::Tokenizer;

use crate::controls::Controls;

/// The bytes of all tokens, one after another.
#[derive(Debug, Default)]
pub(crate) struct ByteTable {
    bytes: Vec<u8>,
    /// Where the bytes of each id end.
    ends: Vec<u32>,
}

/// How the texts of a vocabulary stand for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// One letter a byte, by the table of byte-level BPE.
    ByteLevel,
    /// `▁` is a space and `<0x0A>` a byte.
    SentencePiece,
    /// As it is.
    Literal,
}

impl ByteTable {
    pub(crate) fn new(tokenizer: &Tokenizer, controls: &Controls) -> Self {
        let spelling = spelling_of(tokenizer);
        let from_letters = letters();
        let vocabulary = tokenizer.get_vocab(false);
        let ids = vocabulary.values().copied().chain(controls.iter().map(|control| control.id));
        let mut texts: Vec<Vec<u8>> = vec![Vec::new(); ids.max().map_or(0, |id| id as usize + 1)];
        for (text, id) in &vocabulary {
            texts[*id as usize] = match spelling {
                Spelling::ByteLevel => byte_level(text, &from_letters),
                Spelling::SentencePiece => sentence_piece(text),
                Spelling::Literal => text.clone().into_bytes(),
            };
        }
        for control in controls.iter() {
            texts[control.id as usize] = control.spelling.clone().into_bytes();
        }
        let mut table = Self::default();
        for text in texts {
            table.bytes.extend(text);
            table.ends.push(u32::try_from(table.bytes.len()).unwrap_or(u32::MAX));
        }
        table
    }

    /// One more than the greatest id.
    pub(crate) const fn len(&self) -> usize {
        self.ends.len()
    }

    /// The token's bytes; none for an unknown id.
    pub(crate) fn get(&self, token: Token) -> &[u8] {
        let index = token as usize;
        let Some(end) = self.ends.get(index) else { return &[] };
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..*end as usize]
    }
}

fn spelling_of(tokenizer: &Tokenizer) -> Spelling {
    let decoder = tokenizer.get_decoder().map(serde_json::to_string);
    let decoder = decoder.and_then(Result::ok).unwrap_or_default();
    if decoder.contains("\"ByteLevel\"") {
        Spelling::ByteLevel
    } else if decoder.contains("\"ByteFallback\"") || decoder.contains('▁') {
        Spelling::SentencePiece
    } else {
        Spelling::Literal
    }
}

/// A letter that stands for no byte is kept as it is.
fn byte_level(text: &str, from_letters: &[Option<u8>]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for letter in text.chars() {
        match from_letters.get(letter as usize).copied().flatten() {
            Some(byte) => bytes.push(byte),
            None => bytes.extend(letter.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    bytes
}

/// Byte-level BPE's table: a visible Latin-1 character stands for itself, the other bytes are
/// numbered from U+0100 on.
fn letters() -> Vec<Option<u8>> {
    let mut table = vec![None; 0x200];
    let mut next = 0x100;
    for byte in 0..=u8::MAX {
        let is_visible = matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
        let letter = if is_visible { usize::from(byte) } else { next };
        next += usize::from(!is_visible);
        table[letter] = Some(byte);
    }
    table
}

/// The letters that stand for those bytes.
pub(crate) fn letters_of(bytes: &[u8]) -> String {
    static LETTERS: LazyLock<[char; 0x100]> = LazyLock::new(|| {
        let mut letter_of = ['\0'; 0x100];
        for (letter, byte) in ('\0'..).zip(letters()) {
            if let Some(byte) = byte {
                letter_of[usize::from(byte)] = letter;
            }
        }
        letter_of
    });
    bytes.iter().map(|byte| LETTERS[usize::from(*byte)]).collect()
}

fn sentence_piece(text: &str) -> Vec<u8> {
    let byte = text.strip_prefix("<0x").and_then(|hex| hex.strip_suffix('>'));
    match byte.filter(|hex| hex.len() == 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
        Some(byte) => vec![byte],
        None => text.replace('▁', " ").into_bytes(),
    }
}
