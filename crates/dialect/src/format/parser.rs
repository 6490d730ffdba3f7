//! The incremental reader of a turn's text: one state machine for all formats.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use respool_core::{ParsedCall, ParsedTurn, ToolSpec};
use serde::{Deserialize, Serialize};

use super::event::{Collected, Event, EventKind};
use super::framing::{Ending, Framed, Phase, Search};
use super::input::{Found, Input};
use super::{Block, Item, ToolFormat};

/// What a turn's text alone does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnContext {
    /// The prompt already opened a reasoning block.
    pub reasoning_open: bool,
    /// The tools that the prompt shows: formats that write plain text need the types of their parameters.
    pub tools: Arc<[ToolSpec]>,
    /// Markers that the tokenizer has as one token: they count only where that token was sampled.
    pub single_tokens: Arc<[String]>,
    /// What is read beyond the strict form.
    pub options: ReadOptions,
}

/// What is read beyond the strict form of a format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Calls inside reasoning count too: `calls_in_reasoning`.
    pub calls_in_reasoning: bool,
    /// Python's literals where a format wants JSON, and JSON's where it wants Python's:
    /// `lenient_literals`. What was read so is said by [`EventKind::Lenient`].
    pub lenient_literals: bool,
}

/// Reads a turn's text piece by piece. How it is cut does not matter, and every byte is looked at
/// a bounded number of times.
///
/// ```
/// use respool_dialect::{TurnContext, TurnParser, tool_format};
/// let hermes = tool_format("hermes").ok_or("hermes is known")?;
/// let mut parser = TurnParser::new(hermes, TurnContext::default());
/// let mut events = parser.push("Let me see. <tool_");
/// events.extend(parser.push(r#"call>{"name": "now"}</tool_call>"#));
/// events.extend(parser.finish(true));
/// assert_eq!(events[0].span, 0..12);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone)]
pub struct TurnParser {
    format: &'static dyn ToolFormat,
    context: TurnContext,
    markers: TextMarkers,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    input: Input,
    mode: Mode,
    /// Text that is not blank has come.
    has_text: bool,
    /// A reasoning block or a call has come: an end marker of reasoning alone means nothing then.
    is_past_reasoning: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    Text,
    Reasoning,
    Block(Open),
}

/// A call whose begin has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Open {
    /// Which of the format's openers; `None` where a call begins without a marker.
    opener: Option<usize>,
    /// Where the opener begins, in bytes of the turn.
    begin: usize,
    phase: Phase,
    in_reasoning: bool,
}

/// What counts outside calls: openers, silent markers, begin and end of reasoning, in this order.
#[derive(Clone, Debug)]
struct TextMarkers {
    all: Vec<&'static str>,
    openers: usize,
    silent: usize,
    in_reasoning: Vec<&'static str>,
}

impl TextMarkers {
    fn of(format: &dyn ToolFormat, options: ReadOptions) -> Self {
        let (openers, silent) = (format.openers(), format.silent());
        let reasoning = format.reasoning();
        let mut all = [openers, silent].concat();
        all.extend(reasoning.iter().flatten());
        let mut in_reasoning: Vec<_> = reasoning.iter().map(|[_, close]| *close).collect();
        if options.calls_in_reasoning {
            in_reasoning.extend(openers);
        }
        Self { all, openers: openers.len(), silent: openers.len() + silent.len(), in_reasoning }
    }
}

/// A saved state cannot be gone on from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no saved state of a parser of the format {format}: {reason}")]
pub struct RestoreError {
    /// The format's name.
    pub format: &'static str,
    /// What is wrong.
    pub reason: String,
}

impl TurnParser {
    /// A parser at the begin of a turn.
    #[must_use]
    pub fn new(format: &'static dyn ToolFormat, context: TurnContext) -> Self {
        let opener = format.opens_with();
        let mode = match opener {
            Some(opener) => {
                Mode::Block(Open { opener: Some(opener), begin: 0, phase: Phase::START, in_reasoning: false })
            }
            None if context.reasoning_open && format.reasoning().is_some() => Mode::Reasoning,
            None => Mode::Text,
        };
        let markers = TextMarkers::of(format, context.options);
        let state = State { input: Input::default(), mode, has_text: false, is_past_reasoning: false };
        Self { format, context, markers, state }
    }

    /// Reads on; gives the events that are certain now, with their bytes in the turn's text.
    pub fn push(&mut self, text: &str) -> Vec<Event> {
        self.state.input.push(text);
        self.run(Ending::TurnEnd)
    }

    /// As [`Self::push`] for the text of one token that stands for a marker.
    pub fn push_marker(&mut self, text: &str) -> Vec<Event> {
        self.state.input.mark_token();
        self.push(text)
    }

    /// The turn is over: `complete` is false where a limit cut it.
    pub fn finish(&mut self, complete: bool) -> Vec<Event> {
        self.state.input.ended = true;
        self.run(if complete { Ending::TurnEnd } else { Ending::Cut })
    }

    /// The state as bytes, for [`Self::restore`] with the same format and context.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(&(self.format.name(), &self.state)).unwrap_or_default()
    }

    /// A parser that goes on where the saved one was.
    ///
    /// # Errors
    /// If the bytes are damaged or of another format.
    pub fn restore(
        format: &'static dyn ToolFormat,
        context: TurnContext,
        bytes: &[u8],
    ) -> Result<Self, RestoreError> {
        let wrong = |reason: String| RestoreError { format: format.name(), reason };
        let (name, state): (&str, State) =
            postcard::from_bytes(bytes).map_err(|error| wrong(error.to_string()))?;
        if name != format.name() {
            return Err(wrong(format!("it is of the format {name}")));
        }
        let openers = format.openers().len();
        let is_sound = state.input.is_sound()
            && match &state.mode {
                Mode::Text | Mode::Reasoning => true,
                Mode::Block(open) => {
                    open.opener.is_none_or(|opener| opener < openers)
                        && open.begin <= state.input.offset()
                        && open.phase.is_sound(state.input.rest())
                }
            };
        if !is_sound {
            return Err(wrong("its offsets are outside its text".to_owned()));
        }
        let markers = TextMarkers::of(format, context.options);
        Ok(Self { format, context, markers, state })
    }

    fn run(&mut self, at_end: Ending) -> Vec<Event> {
        let mut events = Vec::new();
        while match self.state.mode {
            Mode::Text => self.text(&mut events),
            Mode::Reasoning => self.reasoning(&mut events),
            Mode::Block(open) => self.block(open, at_end, &mut events),
        } {}
        self.state.input.compact();
        events
    }

    /// Each of the three reads one piece, and says whether another one can follow now.
    fn text(&mut self, events: &mut Vec<Event>) -> bool {
        if !self.state.has_text && !self.format.bare().is_empty() {
            let rest = self.state.input.rest();
            let trimmed = self.format.trim_before_bare(rest, self.state.is_past_reasoning);
            match trimmed.chars().next() {
                None if !self.state.input.ended => return false,
                Some(first) if self.format.bare().contains(&first) => {
                    self.state.input.settle(rest.len() - trimmed.len());
                    self.open(None, self.state.input.offset(), false);
                    return true;
                }
                _ => {}
            }
        }
        match self.state.input.find(0, &self.markers.all, &self.context.single_tokens) {
            Found::Nothing { until } => {
                self.emit_text(until, events);
                false
            }
            Found::Marker { at, index } => {
                self.emit_text(at, events);
                self.marker(index, events);
                true
            }
        }
    }

    fn marker(&mut self, index: usize, events: &mut Vec<Event>) {
        let begin = self.state.input.offset();
        let len = self.markers.all[index].len();
        self.state.input.settle(len);
        if index < self.markers.openers {
            self.open(Some(index), begin, false);
        } else if index == self.markers.silent {
            self.state.mode = Mode::Reasoning;
        } else if index > self.markers.silent && !self.state.is_past_reasoning {
            self.state.is_past_reasoning = true;
            self.state.has_text = false;
            events.push(Event { kind: EventKind::TextWasReasoning, span: begin..begin + len });
        }
    }

    fn open(&mut self, opener: Option<usize>, begin: usize, in_reasoning: bool) {
        self.state.mode = Mode::Block(Open { opener, begin, phase: Phase::START, in_reasoning });
    }

    fn reasoning(&mut self, events: &mut Vec<Event>) -> bool {
        let found = self.state.input.find(0, &self.markers.in_reasoning, &self.context.single_tokens);
        let (Found::Marker { at: until, .. } | Found::Nothing { until }) = found;
        let (text, span) = self.take(until);
        if !text.is_empty() {
            events.push(Event { kind: EventKind::Reasoning(text), span });
        }
        let begin = self.state.input.offset();
        match found {
            Found::Marker { index: 0, .. } => self.state.input.settle(self.markers.in_reasoning[0].len()),
            Found::Marker { index, .. } => {
                self.state.input.settle(self.markers.in_reasoning[index].len());
                self.open(Some(index - 1), begin, true);
                return true;
            }
            Found::Nothing { .. } if !self.state.input.ended => return false,
            Found::Nothing { .. } => {}
        }
        events.push(Event { kind: EventKind::ReasoningEnd, span: begin..self.state.input.offset() });
        self.state.is_past_reasoning = true;
        self.state.mode = Mode::Text;
        true
    }

    fn block(&mut self, mut open: Open, at_end: Ending, events: &mut Vec<Event>) -> bool {
        let search = Search { input: &self.state.input, single: &self.context.single_tokens, at_end };
        let framed = search.run(&self.format.framing(open.opener), &mut open.phase);
        self.state.mode = Mode::Block(open);
        let Some(Framed { body, next, ending }) = framed else { return false };
        let block = Block {
            opener: open.opener.map(|opener| self.format.openers()[opener]),
            body: &self.state.input.rest()[..body],
            ending,
            tools: &self.context.tools,
            is_lenient: self.context.options.lenient_literals,
        };
        let items = self.format.read(&block);
        self.state.input.settle(next);
        let span = open.begin..self.state.input.offset();
        self.state.mode = if open.in_reasoning { Mode::Reasoning } else { Mode::Text };
        items.into_iter().for_each(|item| self.item(item, &span, events));
        true
    }

    fn item(&mut self, item: Item, span: &Range<usize>, events: &mut Vec<Event>) {
        let mut event = |kind| events.push(Event { kind, span: span.clone() });
        match item {
            Item::Text(text) => {
                self.state.has_text |= !text.trim().is_empty();
                event(EventKind::Text(text));
            }
            Item::Reasoning(text) => {
                event(EventKind::Reasoning(text));
                event(EventKind::ReasoningEnd);
            }
            Item::Call { call, is_lenient } => {
                self.state.is_past_reasoning = true;
                if is_lenient {
                    event(EventKind::Lenient);
                }
                match call {
                    ParsedCall::Call(call) => {
                        event(EventKind::CallBegin { name: call.name, id: call.id });
                        event(EventKind::Arguments(call.arguments.as_str().to_owned()));
                        event(EventKind::CallEnd);
                    }
                    ParsedCall::Wrong { name, reason } => event(EventKind::Wrong { name, reason }),
                    ParsedCall::Malformed { reason, text } => event(EventKind::Malformed { reason, text }),
                }
            }
        }
    }

    fn emit_text(&mut self, len: usize, events: &mut Vec<Event>) {
        let (text, span) = self.take(len);
        if !text.is_empty() {
            self.state.has_text |= !text.trim().is_empty();
            events.push(Event { kind: EventKind::Text(text), span });
        }
    }

    fn take(&mut self, len: usize) -> (String, Range<usize>) {
        let text = self.state.input.rest()[..len].to_owned();
        let begin = self.state.input.offset();
        self.state.input.settle(len);
        (text, begin..begin + len)
    }
}

impl fmt::Debug for TurnParser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnParser").field("format", &self.format.name()).field("state", &self.state).finish()
    }
}

/// Reads a whole turn's text, stop tokens removed.
#[must_use]
pub fn parse(
    format: &'static dyn ToolFormat,
    text: &str,
    context: TurnContext,
    complete: bool,
) -> ParsedTurn {
    let mut parser = TurnParser::new(format, context);
    let mut turn = Collected::default();
    let events = parser.push(text).into_iter().chain(parser.finish(complete));
    events.for_each(|event| turn.add(event.kind));
    turn.finish()
}
