//! JSON carried as checked text: no tree, so no key order, number or escape is ever changed.

use std::fmt;

/// A text that is one valid JSON value (RFC 8259), kept byte for byte as it was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JsonText(String);

/// Where and why a text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not valid JSON at byte {at}: expected {expected}")]
pub struct InvalidJson {
    /// Offset in bytes.
    pub at: usize,
    /// What would have been valid there.
    pub expected: &'static str,
}

/// Deeper nesting is refused, so that no reader of the text can overflow its stack.
const MAX_DEPTH: usize = 128;

impl JsonText {
    /// Checks the text; white space around the value is kept too.
    ///
    /// # Errors
    /// If it is not exactly one JSON value, or nests deeper than 128.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidJson> {
        let text = text.into();
        let mut check = Check { bytes: text.as_bytes(), at: 0 };
        check.white_space();
        check.value(0)?;
        check.white_space();
        if check.at < text.len() {
            return Err(check.expected("the end"));
        }
        Ok(Self(text))
    }

    /// The empty object, `{}`.
    #[must_use]
    pub fn empty_object() -> Self {
        Self("{}".to_owned())
    }

    /// The text as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the value is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0.trim_start().starts_with('{')
    }
}

impl fmt::Display for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A recognizer: it builds nothing, it only moves on.
struct Check<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Check<'_> {
    fn expected(&self, expected: &'static str) -> InvalidJson {
        InvalidJson { at: self.at, expected }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn white_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<(), InvalidJson> {
        if depth > MAX_DEPTH {
            return Err(self.expected("nesting of at most 128"));
        }
        match self.peek() {
            Some(b'{') => self.list(depth, b'}', "',' or '}'", Self::member),
            Some(b'[') => self.list(depth, b']', "',' or ']'", Self::value),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            _ => Err(self.expected("a value")),
        }
    }

    fn list(
        &mut self,
        depth: usize,
        close: u8,
        separator: &'static str,
        item: fn(&mut Self, usize) -> Result<(), InvalidJson>,
    ) -> Result<(), InvalidJson> {
        self.at += 1;
        self.white_space();
        if self.eat(close) {
            return Ok(());
        }
        loop {
            self.white_space();
            item(self, depth + 1)?;
            self.white_space();
            if self.eat(close) {
                return Ok(());
            }
            if !self.eat(b',') {
                return Err(self.expected(separator));
            }
        }
    }

    fn member(&mut self, depth: usize) -> Result<(), InvalidJson> {
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key in double quotes"));
        }
        self.string()?;
        self.white_space();
        if !self.eat(b':') {
            return Err(self.expected("':'"));
        }
        self.white_space();
        self.value(depth)
    }

    fn string(&mut self) -> Result<(), InvalidJson> {
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(self.expected("'\"'")),
                Some(0..=0x1f) => return Err(self.expected("an escaped control character")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<(), InvalidJson> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.expected("four hexadecimal digits"));
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.expected("an escape such as \\n or \\u0041")),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), InvalidJson> {
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
        Ok(())
    }

    fn digits(&mut self) -> Result<(), InvalidJson> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.expected("a digit")) } else { Ok(()) }
    }

    fn word(&mut self, word: &'static [u8]) -> Result<(), InvalidJson> {
        if self.bytes[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.expected("true, false or null"))
        }
    }
}

#[cfg(test)]
mod tests;
