//! From checked JSON text to the template's values: key order and every digit kept.

use indexmap::IndexMap;
use minijinja::value::Value;
use respool_core::JsonText;

use super::value::{Dict, List, number};

/// The value of a text. `JsonText` is valid and nests at most 128 deep, so reading cannot fail.
pub(crate) fn read(json: &JsonText) -> Value {
    Reader { text: json.as_str(), at: 0 }.value()
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn white_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Value {
        self.white_space();
        match self.peek() {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => Value::from(self.string()),
            b't' => self.word(4, Value::from(true)),
            b'f' => self.word(5, Value::from(false)),
            b'n' => self.word(4, Value::from(())),
            _ => {
                let start = self.at;
                while matches!(self.peek(), b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') {
                    self.at += 1;
                }
                number(&self.text[start..self.at])
            }
        }
    }

    fn word(&mut self, len: usize, value: Value) -> Value {
        self.at += len;
        value
    }

    /// Whether another item follows; moves past the separator or the closing bracket.
    fn more(&mut self, close: u8) -> bool {
        self.white_space();
        let byte = self.peek();
        if byte == close || byte == 0 {
            self.at += 1;
            return false;
        }
        self.at += usize::from(byte == b',');
        self.white_space();
        true
    }

    /// As in Python, the last of two equal keys wins, at the place of the first.
    fn object(&mut self) -> Value {
        self.at += 1;
        let mut entries = IndexMap::new();
        while self.more(b'}') {
            let key = self.string();
            self.white_space();
            self.at += 1;
            entries.insert(key, self.value());
        }
        Dict(entries).into_value()
    }

    fn array(&mut self) -> Value {
        self.at += 1;
        let mut items = Vec::new();
        while self.more(b']') {
            items.push(self.value());
        }
        List::value(items)
    }

    fn string(&mut self) -> String {
        let start = self.at + 1;
        let mut end = start;
        let bytes = self.text.as_bytes();
        while end < bytes.len() && bytes[end] != b'"' {
            end += 1 + usize::from(bytes[end] == b'\\');
        }
        let end = end.min(bytes.len());
        self.at = end + 1;
        unescape(&self.text[start..end])
    }
}

/// The text of a JSON string without its quotes. Half a surrogate pair, which Rust's texts cannot
/// hold, becomes U+FFFD.
fn unescape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escaped = &rest[at + 1..];
        let (c, len) = match escaped.as_bytes().first() {
            Some(b'n') => ('\n', 1),
            Some(b'r') => ('\r', 1),
            Some(b't') => ('\t', 1),
            Some(b'b') => ('\u{8}', 1),
            Some(b'f') => ('\u{c}', 1),
            Some(b'u') => code_point(escaped),
            Some(byte) => (char::from(*byte), 1),
            None => break,
        };
        out.push(c);
        rest = &escaped[len..];
    }
    out.push_str(rest);
    out
}

/// The character of `uXXXX`, or of a surrogate pair `uXXXX\uXXXX`, and how long its text is.
fn code_point(escaped: &str) -> (char, usize) {
    let unit = |text: &str| text.get(1..5).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let high = unit(escaped).unwrap_or(0xfffd);
    if (0xd800..0xdc00).contains(&high)
        && let Some(low) =
            escaped.get(5..).and_then(|next| next.strip_prefix('\\')).filter(|next| next.starts_with('u'))
        && let Some(low) = unit(low).filter(|low| (0xdc00..0xe000).contains(low))
    {
        let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        return (char::from_u32(code).unwrap_or('\u{fffd}'), 11);
    }
    (char::from_u32(high).unwrap_or('\u{fffd}'), 5)
}
