//! A last token that comes twice.

use respool_core::Token;

use super::event::{Event, Tail};
use crate::decode::Malformed;

/// What is known of an answer before an event of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    /// Tokens that were given out.
    pub(super) seen: usize,
    /// The last one of them.
    pub(super) last: Option<Token>,
}

impl Before {
    /// Takes tokens off an event's end that are there once more than `completion_tokens` counts. What
    /// an event repeats at its beginning (the last token of the one before, where a request is
    /// aborted) stays: it lies before what is new.
    pub(super) fn drop_repeated(self, event: &mut Event<'_>) -> Result<(), Malformed> {
        let Some(total) = event.completion_tokens else { return Ok(()) };
        let Some(ids) = &mut event.ids else {
            let Some(triples) = &mut event.logprobs else { return Ok(()) };
            let tokens: Vec<Token> = triples.items.iter().map(|triple| triple.token).collect();
            let more = self.repeated(&tokens, triples.total, total)?;
            triples.shorten(more);
            return Ok(());
        };
        let listed = ids.total;
        let more = self.repeated(&ids.items, listed, total)?;
        ids.shorten(more);
        if let Some(triples) = event.logprobs.as_mut().filter(|triples| triples.total == listed) {
            triples.shorten(more);
        }
        Ok(())
    }

    /// How many of the last entries repeat the one before them. `ids` are the entries that were not
    /// passed over, of a list of `listed`.
    fn repeated(self, ids: &[Token], listed: usize, total: usize) -> Result<usize, Malformed> {
        let new = total.saturating_sub(self.seen);
        let is_whole = ids.len() == listed;
        // A list of everything has what was given out before what is new.
        let known = self.seen.checked_sub(1).and_then(|at| ids.get(at)).copied();
        let is_cumulative = listed >= total && (!is_whole || self.seen == 0 || known == self.last);
        let more = listed.saturating_sub(if is_cumulative { total } else { new });
        if new == 0 || more == 0 || ids.len() <= more || (!is_cumulative && !is_whole) {
            return Ok(0);
        }
        let last = ids[ids.len() - more - 1];
        let at_end = ids[ids.len() - more..].iter().all(|id| *id == last);
        let at_start = !is_cumulative && more == 1 && self.last == ids.first().copied();
        let is_one_token = ids.iter().all(|id| *id == last);
        match (at_start, at_end) {
            (false, true) => Ok(more),
            (true, true) if !is_one_token => Err(Malformed::invalid(format!(
                "{listed} ids for {new} new tokens: which one comes twice cannot be told"
            ))),
            (false, false) if is_cumulative => {
                Err(Malformed::invalid(format!("{listed} ids, completion_tokens is {total}")))
            }
            _ => Ok(0),
        }
    }
}

impl<T> Tail<T> {
    /// Takes entries off its end.
    fn shorten(&mut self, entries: usize) {
        self.total -= entries.min(self.total);
        self.items.truncate(self.items.len().saturating_sub(entries));
    }
}
