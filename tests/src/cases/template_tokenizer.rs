//! The area `template_tokenizer`: chat templates, continuations, token ids. What a case asks is told
//! by the fields of its input.

mod continuation;
mod rendering;
mod tokens;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Case, Checked};
use crate::item;
use crate::report::Verdict;

#[derive(Debug, Deserialize)]
struct Shape {
    template: Option<IgnoredAny>,
    first_messages: Option<IgnoredAny>,
    sampled_ids: Option<IgnoredAny>,
    added_tokens: Option<IgnoredAny>,
    vocab: Option<IgnoredAny>,
}

/// Checks one case.
pub(super) fn check(case: &Case) -> Checked {
    let shape: Shape = item::parse(case.input.get())?;
    match shape {
        Shape { template: Some(_), first_messages: Some(_), .. } => continuation::check(case),
        Shape { template: Some(_), .. } => rendering::check(case),
        Shape { sampled_ids: Some(_), .. } => tokens::check_history(case),
        Shape { added_tokens: Some(_), .. } => tokens::check_reading(case),
        Shape { vocab: Some(_), .. } => tokens::check_decoding(case),
        _ => Err(Verdict::NotUnderstood("input: expected template, vocab or added_tokens".to_owned())),
    }
}
