//! Python literals, read into JSON text. Nothing is evaluated: names, operators and calls are refused.

use std::fmt::Write as _;

/// Deeper nesting is refused, as `JsonText` does.
const MAX_DEPTH: usize = 128;

/// Reads literals from the begin of a text on.
#[derive(Clone, Debug)]
pub(crate) struct Literals<'a> {
    pub(crate) rest: &'a str,
    /// Also JSON's `true`, `false` and `null`, and line ends inside quotes.
    pub(crate) is_lenient: bool,
}

/// The JSON text of a whole text that is one Python literal.
pub(crate) fn to_json(text: &str, is_lenient: bool) -> Result<String, String> {
    let mut literals = Literals { rest: text, is_lenient };
    let mut json = String::new();
    literals.value(&mut json, 0)?;
    literals.skip_space();
    if literals.rest.is_empty() { Ok(json) } else { Err(literals.expected("the end of the value")) }
}

impl<'a> Literals<'a> {
    pub(crate) fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
    }

    /// Takes a sign, and the white space before it.
    pub(crate) fn eat(&mut self, sign: char) -> bool {
        self.skip_space();
        let after = self.rest.strip_prefix(sign);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    pub(crate) fn expected(&self, what: &str) -> String {
        match self.rest.chars().next() {
            Some(found) => format!("expected {what}, found {found:?}"),
            None => format!("expected {what}, found the end"),
        }
    }

    /// A name, maybe with dots; empty if there is none.
    pub(crate) fn name(&mut self) -> &'a str {
        self.skip_space();
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let len = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let starts = self.rest.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let (name, rest) = self.rest.split_at(if starts { len } else { 0 });
        self.rest = rest;
        name
    }

    pub(crate) fn value(&mut self, json: &mut String, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err("the value nests deeper than 128".to_owned());
        }
        self.skip_space();
        match self.rest.chars().next() {
            Some('{') => self.dict(json, depth),
            Some('[') => self.list(json, ']', depth),
            Some('(') => self.list(json, ')', depth),
            Some('"' | '\'') => self.text(json),
            Some('0'..='9' | '.' | '-' | '+') => self.number(json),
            _ => self.word(json),
        }
    }

    fn dict(&mut self, json: &mut String, depth: usize) -> Result<(), String> {
        self.eat('{');
        json.push('{');
        let mut is_first = true;
        while !self.eat('}') {
            if !is_first {
                json.push_str(", ");
            }
            is_first = false;
            self.skip_space();
            if !self.rest.starts_with(['"', '\'']) {
                return Err(self.expected("a key in quotes"));
            }
            self.text(json)?;
            if !self.eat(':') {
                return Err(self.expected("':'"));
            }
            json.push_str(": ");
            self.value(json, depth + 1)?;
            if !self.eat(',') && !self.rest.starts_with('}') {
                return Err(self.expected("',' or '}'"));
            }
        }
        json.push('}');
        Ok(())
    }

    /// A list, or a tuple: JSON has no other word for it.
    fn list(&mut self, json: &mut String, close: char, depth: usize) -> Result<(), String> {
        self.rest = &self.rest[1..];
        json.push('[');
        let mut is_first = true;
        while !self.eat(close) {
            if !is_first {
                json.push_str(", ");
            }
            is_first = false;
            self.value(json, depth + 1)?;
            if !self.eat(',') && !self.rest.starts_with(close) {
                return Err(self.expected(&format!("',' or {close:?}")));
            }
        }
        json.push(']');
        Ok(())
    }

    fn word(&mut self, json: &mut String) -> Result<(), String> {
        let before = self.rest;
        let word = match self.name() {
            "True" => "true",
            "False" => "false",
            "None" => "null",
            word @ ("true" | "false" | "null") if self.is_lenient => word,
            _ => {
                self.rest = before;
                return Err(self.expected("a literal value"));
            }
        };
        json.push_str(word);
        Ok(())
    }

    /// JSON wants digits on both sides of the point; Python allows `_` between digits.
    fn number(&mut self, json: &mut String) -> Result<(), String> {
        let before = self.rest;
        let mut previous = ' ';
        let len = self.rest.find(|c: char| {
            let is_part = c.is_ascii_alphanumeric()
                || matches!(c, '.' | '_')
                || (matches!(c, '+' | '-') && matches!(previous, ' ' | 'e' | 'E'));
            previous = c;
            !is_part
        });
        let (text, rest) = self.rest.split_at(len.unwrap_or(self.rest.len()));
        let sign = if text.starts_with('-') { "-" } else { "" };
        let digits = text.trim_start_matches(['-', '+']);
        let misplaced = digits.starts_with('_') || digits.ends_with('_') || digits.contains("__");
        let digits = digits.replace('_', "");
        let (mantissa, exponent) = match digits.find(['e', 'E']) {
            Some(at) => digits.split_at(at),
            None => (digits.as_str(), ""),
        };
        let mantissa = match mantissa.split_once('.') {
            Some(("", "")) => String::new(),
            Some((whole, "")) => format!("{whole}.0"),
            Some(("", part)) => format!("0.{part}"),
            _ => mantissa.to_owned(),
        };
        let number = format!("{sign}{mantissa}{exponent}");
        if misplaced || respool_core::JsonText::new(number.as_str()).is_err() {
            self.rest = before;
            return Err(format!("{text:?} is no number"));
        }
        self.rest = rest;
        json.push_str(&number);
        Ok(())
    }

    /// One text, or several beside each other, which Python joins.
    fn text(&mut self, json: &mut String) -> Result<(), String> {
        json.push('"');
        while let Some(quote @ ('"' | '\'')) = self.rest.chars().next() {
            let triple = if quote == '"' { "\"\"\"" } else { "'''" };
            let end = if self.rest.starts_with(triple) { triple } else { &triple[..1] };
            self.rest = &self.rest[end.len()..];
            self.quoted(json, end)?;
            self.skip_space();
        }
        json.push('"');
        Ok(())
    }

    fn quoted(&mut self, json: &mut String, end: &str) -> Result<(), String> {
        loop {
            if let Some(after) = self.rest.strip_prefix(end) {
                self.rest = after;
                return Ok(());
            }
            let Some(c) = self.rest.chars().next() else {
                return Err(self.expected(&format!("{end} at the end of the text")));
            };
            self.rest = &self.rest[c.len_utf8()..];
            match c {
                '\\' => self.escape(json)?,
                '\n' if end.len() == 1 && !self.is_lenient => {
                    return Err("a line ends inside quotes".to_owned());
                }
                c => push(json, u32::from(c)),
            }
        }
    }

    fn escape(&mut self, json: &mut String) -> Result<(), String> {
        let Some(c) = self.rest.chars().next() else { return Err(self.expected("an escape")) };
        self.rest = &self.rest[c.len_utf8()..];
        let code = match c {
            '\n' => return Ok(()),
            'n' => 0x0a,
            't' => 0x09,
            'r' => 0x0d,
            'b' => 0x08,
            'f' => 0x0c,
            'a' => 0x07,
            'v' => 0x0b,
            '\\' | '\'' | '"' => u32::from(c),
            '/' if self.is_lenient => u32::from(c),
            'x' => self.code(2, 16)?,
            'u' => self.code(4, 16)?,
            'U' => self.code(8, 16)?,
            '0'..='7' => {
                let more = self.rest.bytes().take(2).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
                c.to_digit(8).unwrap_or(0) << (3 * more) | if more == 0 { 0 } else { self.code(more, 8)? }
            }
            // As Python has it: an escape that means nothing stays as it is.
            other => {
                push(json, u32::from('\\'));
                u32::from(other)
            }
        };
        push(json, code);
        Ok(())
    }

    fn code(&mut self, digits: usize, radix: u32) -> Result<u32, String> {
        let text = self.rest.get(..digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let code =
            text.and_then(|text| u32::from_str_radix(text, radix).ok()).filter(|code| *code < 0x11_0000);
        let code = code.ok_or_else(|| self.expected(&format!("{digits} digits of a character's code")))?;
        self.rest = &self.rest[digits..];
        Ok(code)
    }
}

/// One character of a JSON text. Half a surrogate pair stays an escape.
fn push(json: &mut String, code: u32) {
    match char::from_u32(code) {
        Some('"') => json.push_str("\\\""),
        Some('\\') => json.push_str("\\\\"),
        Some('\n') => json.push_str("\\n"),
        Some(c) if code >= 0x20 => json.push(c),
        _ => {
            let _ = write!(json, "\\u{code:04x}");
        }
    }
}

/// The Python literal of a JSON value.
pub(crate) fn from_json(value: &serde_json::Value, out: &mut String) {
    use serde_json::Value;
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        // A JSON text is a Python text: all its escapes mean the same but `\/`, which is not written.
        Value::Number(_) | Value::String(_) => {
            let _ = write!(out, "{value}");
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                from_json(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (index, (key, item)) in members.iter().enumerate() {
                let comma = if index == 0 { "" } else { ", " };
                let _ = write!(out, "{comma}{}: ", Value::from(key.as_str()));
                from_json(item, out);
            }
            out.push('}');
        }
    }
}
