//! The tokenizer's part of a check.

use respool_core::{Dialect as _, Token};
use serde::Serialize;

use crate::dialect::HfDialect;

/// What a tokenizer has.
#[derive(Clone, Debug, Serialize)]
pub struct TokenCheck {
    /// One more than the greatest id.
    pub vocabulary: u32,
    /// How many tokens are found wherever they are spelled out.
    pub control_tokens: usize,
    /// The tokens that templates see by name.
    pub special: Vec<SpecialToken>,
    /// The tokens that end a turn.
    pub stop: Vec<SpecialToken>,
    /// Texts that are not the same after encoding and decoding, and what they are then.
    pub changed: Vec<[String; 2]>,
}

/// A token with a meaning.
#[derive(Clone, Debug, Serialize)]
pub struct SpecialToken {
    /// What it is called, such as `eos_token`.
    pub name: String,
    /// Its spelling.
    pub text: String,
    /// Its id; `None` if the tokenizer has no such token.
    pub id: Option<Token>,
}

/// A text that means something to the tool-call format.
#[derive(Clone, Debug, Serialize)]
pub struct MarkerCheck {
    /// The text.
    pub text: &'static str,
    /// Its ids: one where it is a control token, and counts only where that was sampled.
    pub ids: Vec<Token>,
    /// Whether the chat template writes it.
    pub in_template: bool,
}

/// White space, line ends, letters of several bytes, digits and signs.
const SAMPLES: [&str; 5] =
    ["  two  spaces ", "\ttab\r\nlines\n\n", "naïve 北京 😀", "x = 3.14e-5;", "{\"k\": [1, 2]}"];

impl TokenCheck {
    pub(super) fn of(dialect: &HfDialect) -> Self {
        let special = dialect.special_tokens().iter().map(|(name, text)| SpecialToken {
            name: name.clone(),
            text: text.clone(),
            id: dialect.token(text),
        });
        let stop = dialect.stop_tokens().iter().map(|id| SpecialToken {
            name: "stop".to_owned(),
            text: dialect.decode(&[*id]),
            id: Some(*id),
        });
        let changed = SAMPLES.iter().filter_map(|text| {
            let ids = dialect.encode_text(text).ok()?;
            Some([(*text).to_owned(), dialect.decode(&ids)]).filter(|[before, after]| before != after)
        });
        Self {
            vocabulary: dialect.vocab_size(),
            control_tokens: dialect.vocabulary.controls().iter().count(),
            special: special.collect(),
            stop: stop.collect(),
            changed: changed.collect(),
        }
    }
}

pub(super) fn markers(dialect: &HfDialect) -> Vec<MarkerCheck> {
    let format = dialect.tool_format();
    let lists = [format.openers(), format.silent(), format.other_markers()].concat();
    let all = lists.into_iter().chain(format.reasoning().into_iter().flatten());
    let written = dialect.template(true).source();
    let marker = |text: &'static str| MarkerCheck {
        text,
        ids: dialect.encode_text(text).unwrap_or_default(),
        in_template: written.contains(text),
    };
    all.map(marker).collect()
}
