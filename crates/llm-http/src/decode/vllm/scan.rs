//! The usual event of vLLM: new tokens, and no end.

use super::{Choice, Event, Logprobs, Named, OnlyChoice, RawFinish, TokenText};
use crate::decode::json::Value;
use crate::decode::scan::Scan;

/// The event, if it is a usual one.
pub(super) fn event(text: &[u8]) -> Option<Event<'_>> {
    let (mut request_id, mut id, mut choices, mut ids, mut error) = (None, None, None, None, None);
    Scan::whole(text, |scan| {
        scan.object(|scan, key| match key {
            "request_id" => scan.field(&mut request_id, Scan::text),
            "id" => scan.field(&mut id, Scan::text),
            "choices" => scan.field(&mut choices, only_choice),
            "prompt_token_ids" => scan.field(&mut ids, Scan::tokens),
            "error" => scan.field(&mut error, |_| None),
            _ => scan.skip(),
        })
    })?;
    Some(Event {
        request_id: request_id.flatten(),
        id: id.flatten(),
        choices: choices.flatten(),
        prompt_token_ids: ids.flatten(),
        error: error.flatten(),
    })
}

fn only_choice<'a>(scan: &mut Scan<'a>) -> Option<OnlyChoice<'a>> {
    let mut only = None;
    scan.list(|scan, at| {
        only = Some((at == 0).then(|| choice(scan))??);
        Some(())
    })?;
    only.map(|choice| OnlyChoice(Some(choice)))
}

fn choice<'a>(scan: &mut Scan<'a>) -> Option<Choice<'a>> {
    let (mut finish, mut ids, mut logprobs, mut spans, mut prompt, mut text) =
        (None::<Option<()>>, None, None, None, None, None);
    scan.object(|scan, key| match key {
        "finish_reason" => scan.field(&mut finish, |_| None),
        "token_ids" => scan.field(&mut ids, Scan::tokens),
        "text" => scan.field(&mut text, Scan::skip),
        "logprobs" => scan.field(&mut logprobs, self::logprobs),
        "weight_versions" => scan.field(&mut spans, |_| None),
        "prompt_token_ids" => scan.field(&mut prompt, Scan::tokens),
        _ => scan.skip(),
    })?;
    Some(Choice {
        finish_reason: RawFinish::default(),
        // Only without ids does it matter whether there is a text.
        token_ids: Some(ids.flatten()?),
        text: None,
        logprobs: logprobs.flatten(),
        weight_versions: spans.flatten(),
        prompt_token_ids: prompt.flatten(),
    })
}

fn logprobs(scan: &mut Scan<'_>) -> Option<Logprobs> {
    let (mut content, mut values, mut tokens) = (None, None, None);
    scan.object(|scan, key| match key {
        "content" => scan.field(&mut content, |scan| scan.tail(0, named)),
        "token_logprobs" => scan.field(&mut values, |scan| scan.tail(0, |scan| scan.logprob().map(Value))),
        "tokens" => scan.field(&mut tokens, |scan| scan.tail(0, |scan| scan.raw().map(TokenText::of_raw))),
        _ => scan.skip(),
    })?;
    Some(Logprobs {
        content: content.flatten().map(|(_, content)| content),
        token_logprobs: values.flatten().map(|(_, values)| values),
        tokens: tokens.flatten().map(|(_, tokens)| tokens),
    })
}

fn named(scan: &mut Scan<'_>) -> Option<Named> {
    let (mut id, mut text, mut logprob) = (None, None, None);
    scan.object(|scan, key| match key {
        "token_id" => scan.field(&mut id, Scan::token),
        "token" => scan.field(&mut text, Scan::raw),
        "logprob" if logprob.is_none() => scan.logprob().map(|value| logprob = Some(value)),
        "logprob" => None,
        _ => scan.skip(),
    })?;
    let name = id.flatten().or_else(|| TokenText::of_raw(text.flatten()?).0);
    Some(Named { name, logprob: logprob? })
}

#[cfg(test)]
mod tests;
