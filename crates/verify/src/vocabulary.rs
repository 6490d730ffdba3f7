//! What a policy may say, in the tokens of a dialect.

use respool_core::Token;

/// What a phrase is, so that a cut can be aimed at its inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PhraseKind {
    /// Plain text.
    Text,
    /// One character of which each token is a piece.
    Character,
    /// A tool call, well-formed or not.
    Call,
    /// Reasoning with its markers.
    Reasoning,
}

/// Tokens that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrase {
    /// What it is.
    pub kind: PhraseKind,
    /// Its tokens, at least one.
    pub tokens: Vec<Token>,
}

impl Phrase {
    /// A phrase of that kind.
    #[must_use]
    pub fn new(kind: PhraseKind, tokens: &[Token]) -> Self {
        Self { kind, tokens: tokens.to_vec() }
    }
}

/// What a policy may say, and what the tasks made for it are about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vocabulary {
    /// What turns are made of.
    pub phrases: Vec<Phrase>,
    /// The token that ends a turn.
    pub stop: Token,
    /// Names of tools that the phrases call.
    pub tools: Vec<String>,
    /// Texts that a turn may end with (stop strings).
    pub stop_strings: Vec<String>,
    /// Texts of first messages.
    pub prompts: Vec<String>,
}
