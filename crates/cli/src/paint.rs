//! Colours, where somebody sees them.

use std::{
    fmt::{self, Display},
    io::{self, IsTerminal},
};

use crate::screen::wants_colours;

/// Colours texts, or leaves them alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    pub(crate) is_on: bool,
}

/// What a text is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ink {
    /// The policy sampled it.
    Sampled,
    /// The environment gave it.
    Given,
    /// Where something happened to the rollout.
    Mark,
    Title,
}

/// A text with its colour.
pub(crate) struct Painted<'a>(Paint, Ink, &'a str);

impl Paint {
    /// Colours where results go to a person who wants them.
    pub(crate) fn for_stdout() -> Self {
        Self { is_on: io::stdout().is_terminal() && wants_colours() }
    }

    pub(crate) fn ink(self, ink: Ink, text: &str) -> Painted<'_> {
        Painted(self, ink, text)
    }
}

impl Ink {
    const fn code(self) -> &'static str {
        match self {
            Self::Sampled => "32",
            Self::Given => "36",
            Self::Mark => "1;35",
            Self::Title => "1",
        }
    }
}

impl Display for Painted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(Paint { is_on }, ink, text) = self;
        if *is_on && !text.is_empty() {
            write!(f, "\x1b[{}m{text}\x1b[0m", ink.code())
        } else {
            f.write_str(text)
        }
    }
}
