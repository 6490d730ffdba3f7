//! The usual event of SGLang: tokens, and no end.

use super::event::{Event, Skip, Tail, Triple};
use crate::decode::scan::Scan;

/// The event, if it is a usual one: all that matters stands where SGLang has it, once.
pub(super) fn event(text: &[u8], skip: Skip) -> Option<Event<'_>> {
    let (mut words, mut ids, mut meta, mut prompt) = (None, None, None, None);
    let (mut error, mut event) = (None::<Option<()>>, Event::default());
    Scan::whole(text, |scan| {
        scan.object(|scan, key| match key {
            "text" => scan.field(&mut words, Scan::skip),
            "output_ids" => scan.field(&mut ids, |scan| scan.tail(skip.ids, Scan::token)),
            "meta_info" => scan.field(&mut meta, |scan| meta_info(scan, skip, &mut event)),
            "prompt_token_ids" => scan.field(&mut prompt, Scan::tokens),
            "error" => scan.field(&mut error, |_| None),
            "object" | "id" | "finish_reason" | "completion_tokens" => None,
            "weight_version" | "weight_versions" | "output_token_logprobs" => None,
            _ => scan.skip(),
        })
    })?;
    meta.flatten()?;
    event.has_meta_info = true;
    event.has_text = words.flatten().is_some();
    event.ids = ids.flatten().map(|(total, items)| Tail { total, items });
    event.prompt_ids = prompt.flatten();
    Some(event)
}

fn meta_info<'a>(scan: &mut Scan<'a>, skip: Skip, event: &mut Event<'a>) -> Option<()> {
    let (mut id, mut total, mut label, mut triples) = (None, None, None, None);
    let (mut finish, mut spans) = (None::<Option<()>>, None::<Option<()>>);
    scan.object(|scan, key| match key {
        "id" => scan.field(&mut id, Scan::text),
        "finish_reason" => scan.field(&mut finish, |_| None),
        "completion_tokens" => scan.field(&mut total, Scan::token),
        "weight_version" => scan.field(&mut label, Scan::text),
        "weight_versions" => scan.field(&mut spans, |_| None),
        "output_token_logprobs" => scan.field(&mut triples, |scan| scan.tail(skip.logprobs, triple)),
        _ => scan.skip(),
    })?;
    event.request_id = id.flatten();
    event.completion_tokens = total.flatten().map(|total| total as usize);
    event.label = label.flatten();
    event.logprobs = triples.flatten().map(|(total, items)| Tail { total, items });
    Some(())
}

/// `[logprob, token id, text]`.
fn triple(scan: &mut Scan<'_>) -> Option<Triple> {
    let (mut logprob, mut token) = (None, None);
    scan.list(|scan, at| match at {
        0 => scan.logprob().map(|value| logprob = Some(value)),
        1 => scan.token().map(|id| token = Some(id)),
        _ => scan.skip(),
    })?;
    Some(Triple { logprob: logprob?, token: token? })
}

#[cfg(test)]
mod tests;
