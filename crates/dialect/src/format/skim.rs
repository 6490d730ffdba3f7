//! Finding the end of a value without building it.

use serde::{Deserialize, Serialize};

/// Where in a JSON or Python value the reader is: enough to tell its end from a bracket in a text.
/// What it lets through is not yet valid; the whole value is judged when it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Skim {
    /// One bit for each open bracket, the innermost lowest: 0 for `{`, 1 for `[`, which also stands for `(`.
    open: u128,
    depth: u8,
    /// The quote that ends the text that is open; 0 outside.
    quote: u8,
    escaped: bool,
    python: bool,
}

/// What one byte says of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The value goes on.
    Inside,
    /// This byte ends it.
    Last,
    /// This byte cannot be in it.
    Wrong,
}

impl Skim {
    pub(crate) const fn json() -> Self {
        Self { open: 0, depth: 0, quote: 0, escaped: false, python: false }
    }

    /// Python literals: both quotes, round brackets, line ends in texts.
    pub(crate) const fn python() -> Self {
        Self { python: true, ..Self::json() }
    }

    pub(crate) fn step(&mut self, byte: u8) -> Step {
        if self.quote != 0 {
            return self.text(byte);
        }
        match byte {
            b'"' => self.quote = b'"',
            b'\'' if self.python => self.quote = b'\'',
            b'{' | b'[' => return self.deeper(byte == b'['),
            b'(' if self.python => return self.deeper(true),
            b'}' | b']' => return self.shallower(byte == b']'),
            b')' if self.python => return self.shallower(true),
            b'<' if !self.python => return Step::Wrong,
            _ if self.depth == 0 => return Step::Wrong,
            _ if self.python || byte.is_ascii_graphic() || byte.is_ascii_whitespace() => {}
            _ => return Step::Wrong,
        }
        Step::Inside
    }

    fn text(&mut self, byte: u8) -> Step {
        if self.escaped {
            self.escaped = false;
        } else if byte == b'\\' {
            self.escaped = true;
        } else if byte == self.quote {
            self.quote = 0;
            return if self.depth == 0 { Step::Last } else { Step::Inside };
        } else if byte < 0x20 && !self.python {
            return Step::Wrong;
        }
        Step::Inside
    }

    /// Deeper nesting than 128 is no value: `JsonText` refuses it too.
    fn deeper(&mut self, is_list: bool) -> Step {
        if self.depth == 128 {
            return Step::Wrong;
        }
        self.open = self.open << 1 | u128::from(is_list);
        self.depth += 1;
        Step::Inside
    }

    fn shallower(&mut self, is_list: bool) -> Step {
        if self.depth == 0 || (self.open & 1 == 1) != is_list {
            return Step::Wrong;
        }
        self.open >>= 1;
        self.depth -= 1;
        if self.depth == 0 { Step::Last } else { Step::Inside }
    }
}
