//! Where a call ends: the part of reading that has to know what is still to come.

use serde::{Deserialize, Serialize};

use super::input::{Found, Input};
use super::skim::{Skim, Step};

/// How the text of a call, or of several, is told from what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// A header that may be empty, then one value whose end its own brackets tell.
    Value(ValueFraming),
    /// Tags around values: what is inside a value is data, whatever it spells.
    Tagged {
        /// What begins and ends a value.
        value: [&'static str; 2],
        /// What ends the call.
        close: &'static [&'static str],
        /// What begins another call.
        restart: &'static [&'static str],
    },
    /// Everything up to an end marker.
    Message {
        /// What ends it.
        close: &'static [&'static str],
        /// What begins another one.
        restart: &'static [&'static str],
    },
}

/// The parts of [`Framing::Value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueFraming {
    /// The value begins after one of these.
    pub separators: &'static [&'static str],
    /// The value also begins at the first `{`, and at a `[` that only white space comes before.
    pub bare: bool,
    /// Whether it is a Python literal; JSON otherwise.
    pub python: bool,
    /// What may stand between the value and the end marker beside white space.
    pub tails: &'static [&'static str],
    /// What ends the call.
    pub close: &'static [&'static str],
    /// What begins another call.
    pub restart: &'static [&'static str],
    /// Whether other text between value and end marker spoils the call. Otherwise the call ends
    /// with its value and the end marker may be missing.
    pub strict_end: bool,
}

/// How a call's text came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By its end marker, or with its value where the format needs none.
    Closed,
    /// Another call began.
    NextCall,
    /// The turn stopped.
    TurnEnd,
    /// A limit cut the turn.
    Cut,
}

/// A call whose end has come. Offsets are bytes of the input's rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Framed {
    pub(crate) body: usize,
    /// Where reading goes on.
    pub(crate) next: usize,
    pub(crate) ending: Ending,
}

/// How far the search for a call's end is. The body begins with the input's rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    Header {
        at: usize,
    },
    Value {
        at: usize,
        skim: Skim,
    },
    /// The value ended at `end`.
    After {
        at: usize,
        end: usize,
    },
    /// Nothing but an end marker is looked for.
    Scan {
        at: usize,
    },
    /// In a tagged value. An end marker in it is data if the value's own end comes.
    InTag {
        at: usize,
        close: Option<(usize, usize)>,
    },
}

impl Phase {
    pub(crate) const START: Self = Self::Header { at: 0 };

    /// Whether the offsets of a restored phase can be relied on.
    pub(crate) fn is_sound(&self, rest: &str) -> bool {
        let fits = |at: usize| rest.is_char_boundary(at);
        match *self {
            Self::Header { at } | Self::Value { at, .. } | Self::Scan { at } => at <= rest.len(),
            Self::After { at, end } => at <= rest.len() && fits(at) && fits(end),
            Self::InTag { at, close } => {
                at <= rest.len() && close.is_none_or(|(body, next)| fits(body) && fits(next))
            }
        }
    }
}

/// The search for one call's end.
pub(crate) struct Search<'a> {
    pub(crate) input: &'a Input,
    pub(crate) single: &'a [String],
    /// How the turn ended, once it has.
    pub(crate) at_end: Ending,
}

impl Search<'_> {
    /// Moves on as far as the input allows; `None` if the end may still be to come.
    pub(crate) fn run(&self, framing: &Framing, phase: &mut Phase) -> Option<Framed> {
        loop {
            let moved = match framing {
                Framing::Value(value) => self.value(value, *phase),
                Framing::Tagged { value, close, restart } => self.tagged(value, close, restart, *phase),
                Framing::Message { close, restart } => self.scan(close, restart, *phase),
            };
            match moved {
                Moved::To(next) => *phase = next,
                Moved::Wait(at) => {
                    *phase = at;
                    return None;
                }
                Moved::End(framed) => return Some(framed),
            }
        }
    }

    fn value(&self, framing: &ValueFraming, phase: Phase) -> Moved {
        match phase {
            Phase::Header { at } => self.header(framing, at),
            Phase::Value { at, skim } => self.skim(at, skim),
            Phase::After { at, end } => self.after(framing, at, end),
            Phase::Scan { .. } | Phase::InTag { .. } => self.scan(framing.close, framing.restart, phase),
        }
    }

    fn header(&self, framing: &ValueFraming, at: usize) -> Moved {
        let brackets: &[&str] = if framing.bare { &["{", "["] } else { &[] };
        let lists = [framing.separators, framing.close, framing.restart, brackets];
        let markers = lists.concat();
        let rest = self.input.rest();
        match self.input.find(at, &markers, self.single) {
            Found::Nothing { until } => self.wait(Phase::Header { at: until }),
            Found::Marker { at, index } if index < framing.separators.len() => {
                let at = at + markers[index].len();
                let skim = if framing.python { Skim::python() } else { Skim::json() };
                Moved::To(Phase::Value { at, skim })
            }
            Found::Marker { at, index } if index < markers.len() - brackets.len() => {
                Moved::To(Phase::Scan { at })
            }
            Found::Marker { at, index } if markers[index] == "{" || rest[..at].trim().is_empty() => {
                let skim = if framing.python { Skim::python() } else { Skim::json() };
                Moved::To(Phase::Value { at, skim })
            }
            Found::Marker { at, .. } => Moved::To(Phase::Header { at: at + 1 }),
        }
    }

    fn skim(&self, from: usize, mut skim: Skim) -> Moved {
        let bytes = self.input.rest().as_bytes();
        let mut at = from;
        if skim == Skim::json() || skim == Skim::python() {
            at += bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            if bytes.get(at).is_some_and(|byte| !matches!(byte, b'{' | b'[' | b'"')) {
                return Moved::To(Phase::Scan { at });
            }
        }
        while let Some(byte) = bytes.get(at) {
            at += 1;
            match skim.step(*byte) {
                Step::Inside => {}
                Step::Last => return Moved::To(Phase::After { at, end: at }),
                // The markers that were taken for a part of the value count again.
                Step::Wrong => return Moved::To(Phase::Scan { at: 0 }),
            }
        }
        if self.input.ended {
            Moved::To(Phase::Scan { at: 0 })
        } else {
            Moved::Wait(Phase::Value { at, skim })
        }
    }

    fn after(&self, framing: &ValueFraming, at: usize, end: usize) -> Moved {
        let rest = self.input.rest();
        let at = rest.len() - rest[at..].trim_start().len();
        if at == rest.len() {
            return self.wait_at_end(Phase::After { at, end }, end);
        }
        let markers = [framing.tails, framing.close, framing.restart].concat();
        match self.input.marker_at(at, &markers, self.single) {
            Found::Marker { index, .. } if index < framing.tails.len() => {
                Moved::To(Phase::After { at: at + markers[index].len(), end })
            }
            Found::Marker { index, .. } if index < framing.tails.len() + framing.close.len() => {
                Moved::End(Framed { body: at, next: at + markers[index].len(), ending: Ending::Closed })
            }
            Found::Marker { .. } => Moved::End(Framed { body: at, next: at, ending: Ending::NextCall }),
            Found::Nothing { until } if until == at => Moved::Wait(Phase::After { at, end }),
            Found::Nothing { .. } if framing.strict_end => Moved::To(Phase::Scan { at: 0 }),
            Found::Nothing { .. } => Moved::End(Framed { body: end, next: end, ending: Ending::Closed }),
        }
    }

    fn wait_at_end(&self, phase: Phase, body: usize) -> Moved {
        if !self.input.ended {
            return Moved::Wait(phase);
        }
        Moved::End(Framed { body, next: self.input.rest().len(), ending: self.at_end })
    }

    fn tagged(&self, value: &[&str; 2], close: &[&str], restart: &[&str], phase: Phase) -> Moved {
        match phase {
            Phase::InTag { at, close: seen } => {
                let markers = [&value[1..], close, restart].concat();
                match self.input.find(at, &markers, self.single) {
                    Found::Nothing { until } => match seen {
                        Some((body, next)) if self.input.ended => {
                            Moved::End(Framed { body, next, ending: Ending::Closed })
                        }
                        seen => self.wait(Phase::InTag { at: until, close: seen }),
                    },
                    Found::Marker { at, index: 0 } => Moved::To(Phase::Header { at: at + value[1].len() }),
                    Found::Marker { at, index } if index <= close.len() => {
                        let next = at + markers[index].len();
                        Moved::To(Phase::InTag { at: next, close: seen.or(Some((at, next))) })
                    }
                    Found::Marker { at, index } => match seen {
                        Some((body, next)) => Moved::End(Framed { body, next, ending: Ending::Closed }),
                        None => Moved::To(Phase::InTag { at: at + markers[index].len(), close: None }),
                    },
                }
            }
            Phase::Header { at } | Phase::Scan { at } | Phase::Value { at, .. } | Phase::After { at, .. } => {
                let markers = [close, restart, &value[..1]].concat();
                match self.input.find(at, &markers, self.single) {
                    Found::Marker { at, index } if index == markers.len() - 1 => {
                        Moved::To(Phase::InTag { at: at + value[0].len(), close: None })
                    }
                    Found::Marker { at, .. } => self.scan(close, restart, Phase::Scan { at }),
                    Found::Nothing { until } => self.wait(Phase::Header { at: until }),
                }
            }
        }
    }

    /// Looks for an end marker, or the begin of another call, and nothing else.
    fn scan(&self, close: &[&str], restart: &[&str], phase: Phase) -> Moved {
        let (Phase::Header { at }
        | Phase::Scan { at }
        | Phase::Value { at, .. }
        | Phase::After { at, .. }
        | Phase::InTag { at, .. }) = phase;
        let markers = [close, restart].concat();
        match self.input.find(at, &markers, self.single) {
            Found::Marker { at, index } if index < close.len() => {
                Moved::End(Framed { body: at, next: at + markers[index].len(), ending: Ending::Closed })
            }
            Found::Marker { at, .. } => Moved::End(Framed { body: at, next: at, ending: Ending::NextCall }),
            Found::Nothing { until } => self.wait(Phase::Scan { at: until }),
        }
    }

    /// More is to come; at the turn's end the call takes all that is left.
    fn wait(&self, phase: Phase) -> Moved {
        self.wait_at_end(phase, self.input.rest().len())
    }
}

enum Moved {
    To(Phase),
    Wait(Phase),
    End(Framed),
}
