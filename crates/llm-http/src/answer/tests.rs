use super::*;
use crate::{Api, SglangDecoder};

fn answer(stop: &[Token]) -> Answer {
    let facts = Facts {
        name: "http://server".to_owned(),
        vocab_size: None,
        accept_changed_prompt: false,
        label_reported: AtomicBool::new(true),
    };
    let decoder = Decoder::Sglang(SglangDecoder::new());
    assert_eq!(Api::SglangGenerate.decoder().is_cumulative(), decoder.is_cumulative());
    Answer::new(Arc::new(facts), decoder, Prompt::new(&[1]), PolicyVersion(0)).with_stop_tokens(stop.into())
}

/// Cumulative events with these ids; the last one may have a finish.
fn events(all: &[&[Token]], finish: Option<&str>) -> Vec<String> {
    let mut seen: Vec<Token> = Vec::new();
    let last = all.len() - 1;
    all.iter()
        .enumerate()
        .map(|(at, ids)| {
            seen.extend(*ids);
            let logprobs: Vec<_> = seen.iter().map(|id| serde_json::json!([-1.0, id, null])).collect();
            let finish = finish.filter(|_| at == last).map(|word| serde_json::json!({ "type": word }));
            serde_json::json!({
                "output_ids": seen,
                "meta_info": {
                    "finish_reason": finish, "completion_tokens": seen.len(), "output_token_logprobs": logprobs,
                },
            })
            .to_string()
        })
        .collect()
}

#[track_caller]
fn check(
    stop: &[Token],
    all: &[&[Token]],
    finish: Option<&str>,
    tokens: &[Token],
    end: Option<GenerateFinish>,
    cut: bool,
) {
    let mut answer = answer(stop);
    events(all, finish).iter().for_each(|event| answer.take(event.as_bytes()));
    let mut came = Vec::new();
    while let Some(GenerateEvent::Delta(delta)) = answer.next_event() {
        assert_eq!(delta.tokens.len(), delta.logprobs.len());
        came.extend(delta.tokens);
    }
    assert_eq!((came.as_slice(), answer.was_cut()), (tokens, cut), "{all:?}");
    let found = match answer.end(false, "it broke") {
        Ok(GenerateEvent::Ended(finish)) => Some(finish),
        _ => None,
    };
    assert_eq!(found, end, "{all:?}");
}

#[test]
fn nothing_comes_after_a_stop_token() {
    use GenerateFinish::{Length, Stop};
    // The server stops there itself, with the token or an event later.
    check(&[9], &[&[5], &[9]], Some("stop"), &[5, 9], Some(Stop), false);
    check(&[9], &[&[5], &[9], &[]], Some("stop"), &[5, 9], Some(Stop), false);
    // It goes on: in the same event, or in the next one.
    check(&[9], &[&[5, 9, 6], &[7]], Some("length"), &[5, 9], Some(Stop), true);
    check(&[9], &[&[5], &[9], &[6, 7]], None, &[5, 9], Some(Stop), true);
    // Its last event holds more than the end.
    check(&[9], &[&[5], &[9, 6]], Some("length"), &[5, 9], Some(Stop), false);
    // It broke right after the token: whoever asked knows that token too.
    check(&[9], &[&[5], &[9]], None, &[5, 9], None, false);
    check(&[], &[&[5], &[9], &[6]], Some("length"), &[5, 9, 6], Some(Length), false);
}
