//! Text that has come and is not settled yet.

use serde::{Deserialize, Serialize};

/// The end of a turn's text that is not settled yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Input {
    text: String,
    /// How much of `text` is settled: it is dropped from time to time, not at once.
    start: usize,
    /// Bytes of the turn before `text`.
    base: usize,
    /// Where markers that came as one token begin, in bytes of the turn.
    tokens: Vec<usize>,
    pub(crate) ended: bool,
}

/// What a search for markers finds. Offsets are bytes of [`Input::rest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The marker of that index in the list begins at `at`.
    Marker { at: usize, index: usize },
    /// No marker begins before `until`; what follows may become one.
    Nothing { until: usize },
}

impl Input {
    /// The text that is not settled.
    pub(crate) fn rest(&self) -> &str {
        self.text.get(self.start..).unwrap_or_default()
    }

    /// Bytes of the turn before [`Self::rest`].
    pub(crate) const fn offset(&self) -> usize {
        self.base + self.start
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// The next text that is pushed is one token that stands for a marker.
    pub(crate) fn mark_token(&mut self) {
        self.tokens.push(self.base + self.text.len());
    }

    /// The first `len` bytes of the rest are settled.
    pub(crate) const fn settle(&mut self, len: usize) {
        self.start += len;
    }

    /// Forgets what is settled, if it is the greater part: every byte is moved once at most.
    pub(crate) fn compact(&mut self) {
        if self.start * 2 < self.text.len() {
            return;
        }
        self.text.drain(..self.start);
        self.base += self.start;
        self.start = 0;
        let gone = self.tokens.partition_point(|at| *at < self.base);
        self.tokens.drain(..gone);
    }

    /// Whether the offsets of a restored input can be relied on.
    pub(crate) fn is_sound(&self) -> bool {
        self.text.is_char_boundary(self.start) && self.base.checked_add(self.text.len()).is_some()
    }

    /// Looks for the first of some markers from byte `from` of the rest on; of two that begin at one
    /// place the one that is listed first counts. A marker that the tokenizer has as one token (it
    /// is in `single`) counts only where that token was sampled, never where its letters are spelled out.
    pub(crate) fn find(&self, from: usize, markers: &[&str], single: &[String]) -> Found {
        let bytes = self.rest().as_bytes();
        let first: Vec<u8> = markers.iter().filter_map(|marker| marker.bytes().next()).collect();
        let mut at = from;
        while let Some(next) = bytes[at..].iter().position(|byte| first.contains(byte)) {
            at += next;
            match self.marker_at(at, markers, single) {
                Found::Nothing { until } if until > at => at = until,
                found => return found,
            }
        }
        Found::Nothing { until: bytes.len() }
    }

    /// Whether a marker begins just there; `until` is `at` if one may, and the next byte if none can.
    pub(crate) fn marker_at(&self, at: usize, markers: &[&str], single: &[String]) -> Found {
        let rest = &self.rest().as_bytes()[at..];
        for (index, marker) in markers.iter().enumerate() {
            if rest.starts_with(marker.as_bytes()) && self.counts(at, marker, single) {
                return Found::Marker { at, index };
            }
            if !self.ended && rest.len() < marker.len() && marker.as_bytes().starts_with(rest) {
                return Found::Nothing { until: at };
            }
        }
        Found::Nothing { until: at + 1 }
    }

    fn counts(&self, at: usize, marker: &str, single: &[String]) -> bool {
        !single.iter().any(|token| token == marker)
            || self.tokens.binary_search(&(self.offset() + at)).is_ok()
    }
}
