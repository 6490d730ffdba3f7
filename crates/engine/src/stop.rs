//! What ends a turn: stop tokens, and stop strings over the whole turn (R3).

use std::sync::Arc;

use respool_core::{Dialect, Sampling, Token};

/// The dialect's stop tokens (unless they are ignored) and the request's own.
pub(crate) fn tokens(sampling: &Sampling, dialect: &dyn Dialect) -> Arc<[Token]> {
    let own = if sampling.ignore_eos { &[][..] } else { dialect.stop_tokens() };
    let mut all: Vec<Token> = own.iter().chain(&sampling.stop_token_ids).copied().collect();
    all.sort_unstable();
    all.dedup();
    all.into()
}

/// How many of `new` belong to the turn if a stop string ends within them, counting the token in
/// which it ends. `before` are the tokens of the turn that came earlier, over all attempts.
///
/// Costs O(new tokens + longest stop string).
pub(crate) fn string_end(
    dialect: &dyn Dialect,
    stop: &[String],
    before: &[Token],
    new: &[Token],
) -> Option<usize> {
    let longest = stop.iter().map(String::len).max().filter(|len| *len > 0)?;
    let mut bytes = tail_bytes(dialect, before, longest - 1);
    let seen = bytes.len();
    let mut ends = Vec::with_capacity(new.len());
    for token in new {
        dialect.token_bytes(*token, &mut bytes);
        ends.push(bytes.len());
    }
    let end = stop
        .iter()
        .filter(|text| !text.is_empty())
        .filter_map(|text| first_end(&bytes, text.as_bytes(), seen))
        .min()?;
    Some(ends.partition_point(|token_end| *token_end < end) + 1)
}

/// Where the first occurrence of `text` that ends behind `seen` ends.
fn first_end(bytes: &[u8], text: &[u8], seen: usize) -> Option<usize> {
    let start = (seen + 1).saturating_sub(text.len());
    bytes[start..].windows(text.len()).position(|window| window == text).map(|at| start + at + text.len())
}

/// The last `len` bytes that the tokens stand for. Some tokens stand for no byte at all, so the
/// bytes are counted from the end.
fn tail_bytes(dialect: &dyn Dialect, tokens: &[Token], len: usize) -> Vec<u8> {
    let (mut bytes, mut first) = (Vec::new(), tokens.len());
    while first > 0 && bytes.len() < len {
        first -= 1;
        dialect.token_bytes(tokens[first], &mut bytes);
    }
    bytes.clear();
    tokens[first..].iter().for_each(|token| dialect.token_bytes(*token, &mut bytes));
    bytes.split_off(bytes.len().saturating_sub(len))
}
