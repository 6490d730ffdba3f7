//! Tokens as an answer shows them: where a fault lies, it lies here.

use bytes::{BufMut, BytesMut};
use respool_core::{GenerateDelta, Logprob, Token};

use crate::BadLogprob;
use crate::plan::DataFault;

/// A log-probability as it is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// The token whose it is said to be.
    pub(crate) id: Token,
    pub(crate) value: Value,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Number(f32),
    Bad(BadLogprob),
}

/// The tokens of one chunk.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) tokens: Vec<Token>,
    /// One for each token, but for faults.
    pub(crate) shown: Vec<Shown>,
    pub(crate) text: String,
}

impl Chunk {
    pub(crate) fn clear(&mut self) {
        self.tokens.clear();
        self.shown.clear();
        self.text.clear();
    }

    /// Appends a delta that begins at this offset of the answer.
    pub(crate) fn push(&mut self, delta: &GenerateDelta, offset: u32, fault: Option<DataFault>) {
        for (at, (token, logprob)) in (offset..).zip(delta.tokens.iter().zip(&delta.logprobs)) {
            let honest = Shown::new(*token, *logprob);
            self.tokens.push(*token);
            match fault {
                Some(DataFault::WrongId { at: wrong }) if wrong == at => {
                    self.shown.push(Shown { id: honest.id ^ 1, ..honest });
                }
                Some(DataFault::Bad { at: wrong, value }) if wrong == at => {
                    self.shown.push(Shown { value: Value::Bad(value), ..honest });
                }
                Some(DataFault::Extra { at: wrong }) if wrong == at => {
                    self.shown.extend([honest, honest]);
                }
                _ => self.shown.push(honest),
            }
        }
    }

    /// The last token once more.
    pub(crate) fn repeat_last(&mut self) {
        self.tokens.extend(self.tokens.last().copied());
        self.shown.extend(self.shown.last().copied());
    }
}

impl Shown {
    fn new(id: Token, logprob: Logprob) -> Self {
        Self { id, value: logprob.get().map_or(Value::Bad(BadLogprob::Null), Value::Number) }
    }
}

impl Value {
    /// A value so much lower; what is no number stays.
    pub(crate) fn less(self, difference: f32) -> Self {
        match self {
            Self::Number(number) => Self::Number(number - difference),
            Self::Bad(_) => self,
        }
    }
}

/// What JSON texts are put together from.
pub(crate) trait JsonOut {
    fn text(&mut self, text: &str);
    fn number(&mut self, number: impl itoa::Integer);
    fn float(&mut self, number: f64);
    fn quoted(&mut self, text: &str);
    fn value(&mut self, value: Value);
    /// A list, with commas.
    fn list<T>(&mut self, items: impl IntoIterator<Item = T>, write: impl FnMut(&mut Self, T));
}

impl JsonOut for BytesMut {
    fn text(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, number: impl itoa::Integer) {
        self.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    fn float(&mut self, number: f64) {
        // Writing to memory cannot fail, nor can a number.
        let _ = serde_json::to_writer(self.writer(), &number);
    }

    fn quoted(&mut self, text: &str) {
        let _ = serde_json::to_writer(self.writer(), text);
    }

    fn value(&mut self, value: Value) {
        match value {
            // As f64, as Python writes it: read back, the same f32.
            Value::Number(number) => self.float(f64::from(number)),
            Value::Bad(BadLogprob::Null) => self.text("null"),
            Value::Bad(BadLogprob::Nan) => self.text("NaN"),
            Value::Bad(BadLogprob::NegativeInfinity) => self.text("-Infinity"),
        }
    }

    fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.text("[");
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.text(",");
            }
            write(self, item);
        }
        self.text("]");
    }
}
