//! A quick way through the events that come for each token: one walk over the text that builds
//! nothing. It is as strict as the decoders of serde, and gives up (`None`) on all that is not
//! usual, such as an escape in a text that matters: then they decide.

use std::borrow::Cow;

use respool_core::{Logprob, Token};

use super::json::Text;

/// Deeper than any event is.
const MAX_DEPTH: u8 = 32;

/// A place in a JSON text. Its methods take one value each, `None` being anything they do not expect.
pub(super) struct Scan<'a> {
    text: &'a str,
    at: usize,
    depth: u8,
}

impl<'a> Scan<'a> {
    /// Reads a text that is one value.
    pub(super) fn whole<T>(text: &'a [u8], read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let mut scan = Self { text: str::from_utf8(text).ok()?, at: 0, depth: 0 };
        let value = read(&mut scan)?;
        scan.peek().is_none().then_some(value)
    }

    /// An object; `field` takes the value of a key.
    pub(super) fn object(&mut self, mut field: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        self.sequence(b'{', b'}', |scan, _| {
            let key = scan.string()?;
            scan.expect(b':')?;
            field(scan, key)
        })
    }

    /// A list; `entry` takes one of its entries, by its place.
    pub(super) fn list(&mut self, entry: impl FnMut(&mut Self, usize) -> Option<()>) -> Option<()> {
        self.sequence(b'[', b']', entry)
    }

    /// A field that is there once at most, `null` or what `read` takes.
    pub(super) fn field<T>(
        &mut self,
        field: &mut Option<Option<T>>,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<()> {
        if field.is_some() {
            return None;
        }
        *field =
            Some(if self.peek()? == b'n' { self.word("null").map(|()| None)? } else { Some(read(self)?) });
        Some(())
    }

    /// A list of what `read` takes, without its first entries; how many it has with them.
    pub(super) fn tail<T>(
        &mut self,
        skip: usize,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<(usize, Vec<T>)> {
        let (mut total, mut items) = (0, Vec::new());
        self.list(|scan, at| {
            total = at + 1;
            if at < skip { scan.skip() } else { read(scan).map(|item| items.push(item)) }
        })?;
        Some((total, items))
    }

    pub(super) fn tokens(&mut self) -> Option<Vec<Token>> {
        self.tail(0, Self::token).map(|(_, tokens)| tokens)
    }

    pub(super) fn token(&mut self) -> Option<Token> {
        self.number()?.parse().ok()
    }

    /// A number, or `null` for none.
    pub(super) fn logprob(&mut self) -> Option<Logprob> {
        if self.peek()? == b'n' {
            return self.word("null").map(|()| Logprob::MISSING);
        }
        let value: f64 = self.number()?.parse().ok()?;
        Some(Logprob::new(value as f32))
    }

    /// A text without escapes.
    pub(super) fn text(&mut self) -> Option<Text<'a>> {
        self.string().map(|text| Text(Cow::Borrowed(text)))
    }

    /// Any value, unread.
    pub(super) fn raw(&mut self) -> Option<&'a str> {
        self.peek()?;
        let start = self.at;
        self.skip()?;
        self.text.get(start..self.at)
    }

    /// Any value.
    pub(super) fn skip(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.skip_string(),
            b'{' => self.object(|scan, _| scan.skip()),
            b'[' => self.list(|scan, _| scan.skip()),
            b'n' => self.word("null"),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            _ => self.number().map(drop),
        }
    }

    fn sequence(
        &mut self,
        open: u8,
        close: u8,
        mut entry: impl FnMut(&mut Self, usize) -> Option<()>,
    ) -> Option<()> {
        self.expect(open)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut entries = 0;
        while entries > 0 || self.peek()? != close {
            entry(self, entries)?;
            entries += 1;
            if self.peek()? != b',' {
                break;
            }
            self.at += 1;
        }
        self.depth -= 1;
        self.expect(close)
    }

    fn string(&mut self) -> Option<&'a str> {
        self.expect(b'"')?;
        let start = self.at;
        self.at += plain(self.rest());
        let text = self.text.get(start..self.at);
        self.eat(b'"').then_some(text)?
    }

    fn skip_string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            self.at += plain(self.rest());
            self.at += match self.rest() {
                [b'"', ..] => break,
                [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
                [b'\\', b'u', hex @ ..] if hex.get(..4)?.iter().all(u8::is_ascii_hexdigit) => 6,
                _ => return None,
            };
        }
        self.at += 1;
        Some(())
    }

    /// A number's text.
    fn number(&mut self) -> Option<&'a str> {
        self.peek()?;
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _sign = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        self.text.get(start..self.at)
    }

    fn digits(&mut self) -> Option<()> {
        let digits = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        (digits > 0).then_some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.rest().starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.text.as_bytes().get(self.at) == Some(&byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.peek();
        self.eat(byte).then_some(())
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }
}

/// How many bytes come before a quote, a backslash or a control character; eight are looked at at
/// once.
fn plain(text: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    let (words, rest) = text.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The high bit of each byte that is less than the limit (and, maybe, of some after it).
        let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
        let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
        let found = (is(b'"') | is(b'\\') | below(word, b' ')) & (ONES << 7);
        if found != 0 {
            return at * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let stops = |&byte: &u8| matches!(byte, b'"' | b'\\') || byte < b' ';
    words.len() * 8 + rest.iter().position(stops).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests;
