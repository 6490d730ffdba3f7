//! Control tokens: the added tokens of a tokenizer, special or not, found by their spelling.

use std::ops::Range;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use respool_core::Token;

/// One control token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Control {
    pub(crate) spelling: String,
    pub(crate) id: Token,
    pub(crate) special: bool,
    /// The token also takes white space before it.
    pub(crate) takes_left: bool,
    /// The token also takes white space after it.
    pub(crate) takes_right: bool,
    /// It is looked for in the text as it is, and found wherever it is spelled out.
    pub(crate) is_verbatim: bool,
}

/// All control tokens. Where several match, the leftmost wins, then the longest.
#[derive(Debug)]
pub(crate) struct Controls {
    all: Vec<Control>,
    finder: AhoCorasick,
}

impl Controls {
    pub(crate) fn new(mut all: Vec<Control>) -> Result<Self, aho_corasick::BuildError> {
        all.retain(|control| !control.spelling.is_empty());
        all.sort_by_key(|control| control.id);
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(all.iter().map(|control| control.spelling.as_bytes()))?;
        Ok(Self { all, finder })
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Control> {
        self.all.iter()
    }

    /// The control token with that spelling.
    pub(crate) fn spelled(&self, spelling: &str) -> Option<&Control> {
        self.all.iter().find(|control| control.spelling == spelling)
    }

    /// Whether a tokenizer cuts a text exactly where [`Self::find`] finds them, and nowhere else.
    pub(crate) fn are_verbatim(&self) -> bool {
        self.all.iter().all(|control| control.is_verbatim && !control.takes_left && !control.takes_right)
    }

    /// The first control token at or after byte `from`.
    pub(crate) fn find(&self, text: &str, from: usize) -> Option<(Range<usize>, &Control)> {
        let found = self.finder.find(Input::new(text).span(from..text.len()))?;
        Some((found.range(), &self.all[found.pattern().as_usize()]))
    }

    /// The texts between control tokens, each with the token after it; the last has none.
    pub(crate) fn split<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (&'a str, Option<&'a Control>)> {
        let mut from = Some(0);
        std::iter::from_fn(move || {
            let start = from?;
            let found = self.find(text, start);
            from = found.as_ref().map(|(range, _)| range.end);
            let end = found.as_ref().map_or(text.len(), |(range, _)| range.start);
            Some((&text[start..end], found.map(|(_, control)| control)))
        })
    }

    /// The first special control token of a text.
    pub(crate) fn find_special(&self, text: &str) -> Option<(Range<usize>, &Control)> {
        let mut from = 0;
        while let Some((range, control)) = self.find(text, from) {
            if control.special {
                return Some((range, control));
            }
            from = range.end;
        }
        None
    }
}
