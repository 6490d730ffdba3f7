//! The words of one action. What is not surely meant is not understood.

use std::time::Duration;

use crate::world::server::Interrupt;
use crate::world::tools::seconds;

/// What the rollout is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    Interrupt,
    Cancel,
}

/// When, while tools run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// So long after the first one started.
    AfterStart(Duration),
    /// One has ended and another has not.
    FirstEnded,
}

/// An action in small letters, without what is in brackets.
pub(super) struct Words {
    /// What is done.
    text: String,
    /// What is said of the server, after a semicolon.
    remark: String,
}

impl Words {
    pub(super) fn new(action: &str) -> Self {
        let action = action.to_lowercase();
        let (text, remark) = action.split_once(';').unwrap_or((&action, ""));
        let text = text.split_once('(').map_or(text, |(text, _)| text);
        Self { text: text.trim().to_owned(), remark: remark.trim().to_owned() }
    }

    fn has(&self, any: &[&str]) -> bool {
        any.iter().any(|part| self.text.contains(part))
    }

    fn starts(&self, any: &[&str]) -> bool {
        any.iter().any(|part| self.text.starts_with(part))
    }

    pub(super) fn change_process(&self) -> bool {
        self.has(&["snapshot"]) || self.text.split_whitespace().any(|word| word == "process")
    }

    pub(super) fn change_weights(&self) -> bool {
        self.has(&["weight", "version"])
    }

    pub(super) fn resume(&self) -> bool {
        self.starts(&["resume", "continue"]) || self.text.ends_with("and resume")
    }

    pub(super) fn signal(&self) -> Option<Signal> {
        if self.starts(&["interrupt", "pause"]) {
            Some(Signal::Interrupt)
        } else {
            self.starts(&["hard cancel", "cancel", "hard-cancel"]).then_some(Signal::Cancel)
        }
    }

    pub(super) fn while_paused(&self) -> bool {
        self.has(&["while paused", "while it is paused", "while interrupted"])
    }

    pub(super) fn before_start(&self) -> bool {
        self.has(&["before the start", "before it starts"])
            || (self.has(&["before request", "before the first request"]) && self.request() == Some(0))
    }

    /// The index of the request that is spoken of, and when its signal comes.
    pub(super) fn with_request(&self, signal: Signal) -> Option<(usize, Interrupt)> {
        let index = self.request()?;
        if self.has(&["before request"]) || self.counts_tokens() {
            return None;
        }
        let is_whole =
            self.has(&["finish", "ends", "ended", "end of", "between", "is complete", "after request"]);
        let during = self.has(&["during", "while", "in the middle of", "last token", "end token"]);
        let interrupt = match signal {
            Signal::Cancel if during => Interrupt::CancelAfterTokens,
            Signal::Cancel => return None,
            Signal::Interrupt if is_whole => Interrupt::Ignored(Duration::ZERO),
            Signal::Interrupt if !during => return None,
            Signal::Interrupt => match self.remark.split_once("answers normally ") {
                Some((_, later)) => Interrupt::Ignored(seconds(later.strip_suffix(" later")?)?),
                None if self.remark.contains("ignores the abort") => Interrupt::Ignored(Duration::ZERO),
                None => Interrupt::AfterTokens,
            },
        };
        Some((index, interrupt))
    }

    /// `after 2 tokens`: where the rest of the answer goes is not said.
    fn counts_tokens(&self) -> bool {
        let mut words = self.text.split_whitespace().peekable();
        std::iter::from_fn(|| Some((words.next()?, words.peek().copied().unwrap_or_default())))
            .any(|(number, word)| word.starts_with("token") && number.parse::<usize>().is_ok())
    }

    /// When, if it is tools that are spoken of.
    pub(super) fn with_tools(&self) -> Option<Moment> {
        let names_tool = self.text.split(|letter: char| !letter.is_alphanumeric()).any(is_tool);
        if !names_tool {
            None
        } else if self.has(&["between"])
            || (self.has(&["while", "before"]) && self.has(&["finish", "ended", "done"]))
        {
            Some(Moment::FirstEnded)
        } else if self.has(&[" after "]) && self.has(&["started", "start"]) {
            Some(Moment::AfterStart(self.time()?))
        } else {
            self.has(&["while", "during"]).then_some(Moment::AfterStart(Duration::ZERO))
        }
    }

    /// `0.1 s after`, `50 ms after`.
    fn time(&self) -> Option<Duration> {
        let (before, _) = self.text.split_once(" after ")?;
        let mut words = before.split_whitespace().rev();
        let unit = words.next()?;
        match unit.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.') {
            whole if whole.len() < unit.len() => seconds(unit),
            "seconds" | "second" => seconds(&format!("{} s", words.next()?)),
            unit => seconds(&format!("{} {unit}", words.next()?)),
        }
    }

    /// `request 2`, `the second request`; the first that is named.
    fn request(&self) -> Option<usize> {
        const ORDINALS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];
        if let Some(index) = ORDINALS.iter().position(|word| self.text.contains(&format!("{word} request"))) {
            return Some(index);
        }
        let (_, rest) = self.text.split_once("request ")?;
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse::<usize>().ok()?.checked_sub(1)
    }
}

/// `tool`, `tools`, `t01`.
fn is_tool(word: &str) -> bool {
    let number = word.strip_prefix('t');
    matches!(word, "tool" | "tools")
        || number.is_some_and(|number| number.len() == 2 && number.bytes().all(|byte| byte.is_ascii_digit()))
}
