//! SGLang's `/generate`.
//!
//! By default every event repeats all ids and log-probabilities from the start; a server may also
//! send only new ones, and then repeats the last one where a request is aborted. So tokens are
//! counted by `completion_tokens`, and the last *new* ones of a list are taken. Of a list that
//! repeats, what is known is passed over: memory is used for what is new.

mod event;
mod repeated;
mod scan;

use respool_core::{Logprob, Token};

use self::event::{Event, EventSeed, Skip, Tail, Triple};
use self::repeated::Before;
use super::json::read;
use super::label::Labels;
use super::{Decoded, Malformed, ServerError, WireFinish};

/// Reads the events of one answer of SGLang's `/generate`, or its whole body.
#[derive(Debug, Default)]
pub struct SglangDecoder {
    /// Tokens that were given out.
    seen: usize,
    /// The last one of them.
    last: Option<Token>,
    /// The lists that were found to repeat what came before.
    repeats: Repeats,
    request_id: Option<String>,
    labels: Labels,
}

#[derive(Clone, Copy, Debug, Default)]
struct Repeats {
    ids: bool,
    logprobs: bool,
}

impl SglangDecoder {
    /// A decoder for one answer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    pub(super) const fn is_cumulative(&self) -> bool {
        self.repeats.ids
    }

    /// Reads the next event, or a whole body.
    ///
    /// # Errors
    /// If it is not what the wire format says.
    pub fn decode(&mut self, text: &[u8]) -> Result<Decoded, Malformed> {
        if let Some(event) = scan::event(text, self.known())
            && let Ok(decoded) = self.take(event, text)
        {
            return decoded;
        }
        self.decode_fully(text)
    }

    /// The same, without the quick way for what is usual.
    pub(super) fn decode_fully(&mut self, text: &[u8]) -> Result<Decoded, Malformed> {
        let skip = self.known();
        let mut spare = Vec::new();
        let event = read(EventSeed(skip), text, &mut spare)?;
        match self.take(event, text) {
            // A list that always repeated does not any more: nothing of it may be passed over.
            Err(Short) if skip.ids > 0 || skip.logprobs > 0 => {
                let mut spare = Vec::new();
                let event = read(EventSeed(Skip::default()), text, &mut spare)?;
                self.take(event, text).unwrap_or_else(|Short| Err(short()))
            }
            Err(Short) => Err(short()),
            Ok(decoded) => decoded,
        }
    }

    /// How much of each list need not be looked at.
    fn known(&self) -> Skip {
        let skipped = |repeats: bool| if repeats { self.seen } else { 0 };
        Skip { ids: skipped(self.repeats.ids), logprobs: skipped(self.repeats.logprobs) }
    }

    /// What is new in an event. The outer error is a list that has less than what is new.
    fn take(&mut self, event: Event<'_>, text: &[u8]) -> Result<Result<Decoded, Malformed>, Short> {
        if event.is_error || event.says_nothing() {
            return Ok(failure(text));
        }
        let finish = match event.finish.read() {
            Ok(finish) => finish,
            Err(error) => return Ok(Err(error)),
        };
        let mut event = event;
        if let Err(error) = (Before { seen: self.seen, last: self.last }).drop_repeated(&mut event) {
            return Ok(Err(error));
        }
        let (tokens, logprobs) = match self.new_tokens(&mut event, finish.as_ref())? {
            Ok(new) => new,
            Err(error) => return Ok(Err(error)),
        };
        self.seen += tokens.len();
        self.last = tokens.last().copied().or(self.last);
        if self.request_id.is_none() {
            self.request_id = event.request_id.map(|id| id.0.into_owned());
        }
        Ok(Ok(Decoded {
            tokens,
            logprobs,
            label: event.label.map(|label| self.labels.label(&label)),
            spans: self.labels.spans(event.spans),
            finish,
            prompt_ids: event.prompt_ids,
        }))
    }

    fn new_tokens(
        &mut self,
        event: &mut Event<'_>,
        finish: Option<&WireFinish>,
    ) -> Result<Result<New, Malformed>, Short> {
        let listed = event.ids.as_ref().map_or(0, |ids| ids.total);
        let with_logprobs = event.logprobs.as_ref().map_or(0, |triples| triples.total);
        let is_cut = matches!(finish, Some(WireFinish::Abort | WireFinish::Failed(_)));
        let total = match event.completion_tokens {
            // A request that is aborted in the queue may say nothing of what it had, or count a
            // token that it does not give.
            _ if is_cut && listed == 0 && with_logprobs == 0 => self.seen,
            Some(total) => total,
            None if listed == 0 && with_logprobs == 0 => self.seen,
            None if self.seen == 0 || self.repeats.ids => listed.max(with_logprobs),
            None => {
                return Ok(Err(Malformed::invalid("no completion_tokens: which ids are new cannot be told")));
            }
        };
        let Some(new) = total.checked_sub(self.seen) else {
            let seen = self.seen;
            return Ok(Err(Malformed::invalid(format!("completion_tokens is {total} after {seen} tokens"))));
        };
        if new == 0 {
            return Ok(Ok((Vec::new(), Vec::new())));
        }
        if self.seen > 0 {
            self.repeats.ids |= listed == total;
            self.repeats.logprobs |= with_logprobs == total;
        }
        let (ids, triples) = (event.ids.take(), event.logprobs.take());
        let has_ids = ids.is_some();
        let ids = match (ids, &triples) {
            (Some(ids), _) => ids.last(new)?,
            (None, Some(triples)) => {
                let start = triples.items.len().checked_sub(new).ok_or(Short)?;
                triples.items[start..].iter().map(|triple| triple.token).collect()
            }
            (None, None) => return Ok(Err(Malformed::missing_ids("output_ids"))),
        };
        let logprobs = match triples {
            None => Ok(vec![Logprob::MISSING; new]),
            Some(triples) if has_ids && ![listed, total, new].contains(&triples.total) => {
                let found = triples.total;
                Err(Malformed::invalid(format!("{found} log-probabilities for {listed} of {total} tokens")))
            }
            Some(triples) => paired(&ids, triples.last(new)?),
        };
        Ok(logprobs.map(|logprobs| (ids, logprobs)))
    }
}

type New = (Vec<Token>, Vec<Logprob>);

/// A list holds less than what is new.
struct Short;

fn short() -> Malformed {
    Malformed::invalid("a list has less entries than completion_tokens says there are new ones")
}

impl<T> Tail<T> {
    /// The last `n` entries.
    fn last(self, n: usize) -> Result<Vec<T>, Short> {
        let mut items = self.items;
        let known = items.len().checked_sub(n).ok_or(Short)?;
        items.drain(..known);
        Ok(items)
    }
}

/// The log-probabilities of these tokens; each one names its token.
fn paired(ids: &[Token], triples: Vec<Triple>) -> Result<Vec<Logprob>, Malformed> {
    let other = ids.iter().zip(&triples).position(|(&id, triple)| triple.token != id);
    if let Some(at) = other {
        let (id, other) = (ids[at], triples[at].token);
        return Err(Malformed::invalid(format!("new token {at} is {id}, its log-probability is of {other}")));
    }
    Ok(triples.into_iter().map(|triple| triple.logprob).collect())
}

/// The error that an event is.
fn failure(text: &[u8]) -> Result<Decoded, Malformed> {
    let error = ServerError::in_body(text).ok_or_else(|| {
        let found = super::quote_event(text);
        Malformed::invalid(format!("expected output_ids and meta_info, or an error, found: {found}"))
    })?;
    Ok(Decoded { finish: Some(WireFinish::Failed(error)), ..Decoded::default() })
}
