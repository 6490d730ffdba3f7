//! Reads a turn as it is sampled, token by token.

use respool_core::{Dialect as _, ParsedTurn, Token, ToolSpec};

use crate::dialect::HfDialect;
use crate::format::{Collected, Event, ReadOptions, RestoreError, ToolFormat, TurnContext, TurnParser};

/// How many tokens before a turn tell whether the prompt opened a reasoning block.
const PROMPT_TAIL: usize = 16;

/// Reads a turn as it is sampled. Its events have the tokens they came from as spans.
#[derive(Clone, Debug)]
pub struct TurnReader<'a> {
    dialect: &'a HfDialect,
    parser: TurnParser,
    decoder: Decoder,
    /// Stop tokens at the end so far: they are text only if something follows.
    stops: Vec<Token>,
}

/// Tokens to text: bytes of an unfinished character are held back.
#[derive(Clone, Debug, Default)]
struct Decoder {
    pending: Vec<u8>,
    /// For each token, bytes of text up to its end, and whether it only ends a character that an
    /// earlier one began.
    ends: Vec<(usize, bool)>,
    text_len: usize,
}

impl HfDialect {
    /// A reader of the turn that comes after those tokens.
    #[must_use]
    pub fn turn_reader(&self, before: &[Token], tools: &[ToolSpec]) -> TurnReader<'_> {
        let parser = TurnParser::new(self.tool_format(), self.turn_context(before, tools));
        TurnReader { dialect: self, parser, decoder: Decoder::default(), stops: Vec::new() }
    }

    pub(crate) fn turn_context(&self, before: &[Token], tools: &[ToolSpec]) -> TurnContext {
        let tail = self.decode(&before[before.len().saturating_sub(PROMPT_TAIL)..]);
        let reasoning = self.tool_format().reasoning();
        TurnContext {
            reasoning_open: reasoning.is_some_and(|[open, _]| tail.trim_end().ends_with(open)),
            tools: tools.into(),
            single_tokens: self.single_tokens.clone(),
            options: ReadOptions {
                calls_in_reasoning: self.options.calls_in_reasoning,
                lenient_literals: self.options.lenient_literals,
            },
        }
    }

    /// The parser's state of a turn whose tokens are at hand is rebuilt from them; for those who kept
    /// only the bytes of [`TurnParser::to_bytes`] there is this.
    ///
    /// # Errors
    /// If the bytes are damaged or of another format.
    pub fn restore_parser(
        &self,
        before: &[Token],
        tools: &[ToolSpec],
        bytes: &[u8],
    ) -> Result<TurnParser, RestoreError> {
        TurnParser::restore(self.tool_format(), self.turn_context(before, tools), bytes)
    }
}

impl TurnReader<'_> {
    /// Reads on; gives the events that are certain now, with their tokens in the turn.
    pub fn push(&mut self, tokens: &[Token]) -> Vec<Event> {
        let mut events = Vec::new();
        for token in tokens {
            if self.dialect.stop_tokens().contains(token) {
                self.stops.push(*token);
                continue;
            }
            for stop in std::mem::take(&mut self.stops) {
                self.token(stop, &mut events);
            }
            self.token(*token, &mut events);
        }
        events
    }

    /// The turn is over: `complete` is false where a limit cut it.
    pub fn finish(mut self, complete: bool) -> Vec<Event> {
        let rest = String::from_utf8_lossy(&self.decoder.pending).into_owned();
        self.decoder.text_len += rest.len();
        let mut events = self.parser.push(&rest);
        events.extend(self.parser.finish(complete));
        self.in_tokens(&mut events);
        events
    }

    fn token(&mut self, token: Token, events: &mut Vec<Event>) {
        let bytes = self.dialect.vocabulary.bytes_of(token);
        let (before, is_marker) = (self.decoder.text_len, self.dialect.is_single_marker(token));
        let text = self.decoder.push(bytes);
        debug_assert!(self.decoder.text_len >= before, "text only grows");
        let mut new = if is_marker && text.len() == bytes.len() {
            self.parser.push_marker(&text)
        } else {
            self.parser.push(&text)
        };
        self.in_tokens(&mut new);
        events.append(&mut new);
    }

    fn in_tokens(&self, events: &mut [Event]) {
        for event in events {
            event.span = self.decoder.first(event.span.start)..self.decoder.last(event.span.end);
        }
    }
}

impl Decoder {
    /// The text that is certain now; invalid bytes are replaced as in a whole text.
    fn push(&mut self, bytes: &[u8]) -> String {
        let joins = !self.pending.is_empty();
        self.pending.extend_from_slice(bytes);
        let mut text = String::new();
        loop {
            match std::str::from_utf8(&self.pending) {
                Ok(valid) => {
                    text.push_str(valid);
                    self.pending.clear();
                    break;
                }
                Err(error) => {
                    let valid = error.valid_up_to();
                    text.push_str(&String::from_utf8_lossy(&self.pending[..valid]));
                    let Some(wrong) = error.error_len() else {
                        self.pending.drain(..valid);
                        break;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.pending.drain(..valid + wrong);
                }
            }
        }
        self.text_len += text.len();
        self.ends.push((self.text_len, joins));
        text
    }

    /// The token in which that byte of the text begins.
    fn first(&self, at: usize) -> usize {
        let mut token = self.ends.partition_point(|(end, _)| *end <= at);
        let begins = |token: usize| token.checked_sub(1).map_or(0, |before| self.ends[before].0);
        while token > 0 && token < self.ends.len() && self.ends[token].1 && begins(token) == at {
            token -= 1;
        }
        token
    }

    /// The token behind the one in which the text before that byte ends.
    fn last(&self, at: usize) -> usize {
        if at == 0 {
            return 0;
        }
        (self.ends.partition_point(|(end, _)| *end < at) + 1).min(self.ends.len())
    }
}

/// The markers of a format that the vocabulary has as one token each.
pub(crate) fn single_tokens(
    format: &dyn ToolFormat,
    id_of: impl Fn(&str) -> Option<Token>,
) -> Vec<(Token, String)> {
    let reasoning = format.reasoning();
    let lists = [format.openers(), format.silent(), format.other_markers()];
    let markers = lists.into_iter().flatten().chain(reasoning.iter().flatten());
    let found = markers.filter_map(|marker| Some((id_of(marker)?, (*marker).to_owned())));
    let mut found: Vec<_> = found.collect();
    found.sort();
    found.dedup();
    found
}

pub(crate) fn parsed(mut reader: TurnReader<'_>, turn: &[Token], complete: bool) -> ParsedTurn {
    let mut collected = Collected::default();
    let events = reader.push(turn);
    let last = reader.finish(complete);
    events.into_iter().chain(last).for_each(|event| collected.add(event.kind));
    collected.finish()
}
