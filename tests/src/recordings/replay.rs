//! Serves a recorded answer to the client, cut in every way, and says what the client made of it.

use anyhow::Result;
use respool_core::GenerateRequest;
use serde_json::{Value, json};

use super::cuts;
use super::file::Recording;
use crate::wire::{AbortAt, Answer, Collected, WireServer, ask, client, finish_word, request};

/// The line of a recording, and whether every way of cutting it gave the same.
///
/// # Errors
/// If a server or the client cannot be made.
pub(super) async fn replay(recording: &Recording) -> Result<(Value, bool)> {
    let mut first: Option<Value> = None;
    for pieces in cuts::ways(&recording.answer.pieces) {
        let answer = Answer { pieces, ..recording.answer.clone() };
        let line = line(&once(recording, answer).await?);
        match &first {
            None => first = Some(line),
            Some(same) if *same == line => {}
            Some(other) => {
                let differs = format!("cut in one way it is {other}, in another {line}");
                return Ok((json!({ "differs": differs }), false));
            }
        }
    }
    Ok((first.unwrap_or_default(), true))
}

async fn once(recording: &Recording, answer: Answer) -> Result<Collected> {
    let generation = recording.api.path();
    let server = WireServer::start(move |received| match received.path == generation {
        true => answer.clone(),
        // What the client asks beside: aborts, whether the server is paused.
        false => Answer::json(200, "{}"),
    })
    .await?;
    let request = GenerateRequest {
        stop_token_ids: recording.stop_token_ids.as_slice().into(),
        ..request(recording.prompt_ids.clone(), recording.max_tokens)
    };
    Ok(ask(&client(&server.url(), recording.api)?, request, AbortAt::Never).await)
}

/// Missing log-probabilities are null. Versions are spans over the tokens, as the client tells them; a
/// label that is no number is the version noted before sending: 0.
fn line(all: &Collected) -> Value {
    let logprobs: Vec<Option<f32>> = all.logprobs.iter().map(|logprob| logprob.get()).collect();
    let versions: Vec<Value> = all
        .spans
        .iter()
        .map(|span| json!({ "version": span.version.0, "start": span.start, "end": span.start + span.len }))
        .collect();
    let mut line =
        json!({ "token_ids": all.tokens, "logprobs": logprobs, "finish": word(all), "versions": versions });
    if let Some(error) = &all.error {
        line["error"] = json!(error.kind().as_str());
        // Without the server's address, which is another one each time.
        line["message"] = json!(error.message());
    }
    line
}

/// The engines' own words, and one for a stream that broke.
fn word(all: &Collected) -> &str {
    use respool_core::GenerateFinish::{ContextLength, Other, Repetition};
    match &all.finish {
        Some(ContextLength) => "context_length",
        Some(Repetition) => "repetition",
        Some(Other(name)) => name,
        finish => finish_word(finish.as_ref()),
    }
}
