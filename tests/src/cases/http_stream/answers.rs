//! One answer, cut in every way.

use serde_json::Value;

use super::expected::{Expected, seen};
use super::input::{AnswerInput, Body, JsonBody, StreamBody};
use super::{Wire, broken};
use crate::cases::Checked;
use crate::report::Verdict;
use crate::wire::{AbortAt, Answer, Collected, Ending, WireServer, ask, client, request};

/// Whether the client makes of the answer what is expected, however it is cut.
pub(super) async fn check(input: &AnswerInput, expected: &Expected) -> Checked {
    let mut first: Option<Value> = None;
    for (way, answer) in answers(&input.body)? {
        let all = served(input.server, answer, prompt(&input.body)).await?;
        let seen = seen(&all);
        expected.check(&seen).map_err(|verdict| match verdict {
            Verdict::Fail(what) => Verdict::Fail(format!("{way}: {what} ({:?})", all.error)),
            other => other,
        })?;
        match &first {
            Some(first) if *first != seen => {
                return Err(Verdict::Fail(format!("{way}: {seen}, but in one piece {first}")));
            }
            _ => first = Some(seen),
        }
    }
    Ok(())
}

fn prompt(body: &Body) -> Vec<u32> {
    match body {
        Body::Stream(StreamBody { prompt_ids, .. }) if !prompt_ids.is_empty() => prompt_ids.clone(),
        Body::Stream(_) | Body::Json(_) => vec![1, 2, 3],
    }
}

/// Asks a server that gives this answer to everything.
async fn served(wire: Wire, answer: Answer, prompt: Vec<u32>) -> Result<Collected, Verdict> {
    let server = WireServer::start(move |_| answer.clone()).await.map_err(broken)?;
    let client = client(&server.url(), wire.api()).map_err(broken)?;
    Ok(ask(&client, request(prompt, 1 << 20), AbortAt::Never).await)
}

/// The answer in one piece, byte by byte, and in every two pieces.
fn answers(body: &Body) -> Result<Vec<(String, Answer)>, Verdict> {
    let StreamBody { body_utf8, then, .. } = match body {
        Body::Json(JsonBody { http_body_json, http }) => {
            let answer = Answer::json(http.unwrap_or(200), http_body_json.to_string());
            return Ok(vec![("as a body".to_owned(), answer)]);
        }
        Body::Stream(stream) => stream,
    };
    let ending = match then.as_deref() {
        None => Ending::Whole,
        Some("connection closed") => Ending::Closed,
        Some("connection reset") => Ending::Reset,
        Some(other) => return Err(Verdict::NotUnderstood(format!("input.then: {other:?}"))),
    };
    let bytes = body_utf8.as_bytes();
    let mut ways = vec![
        ("in one piece".to_owned(), vec![bytes.to_vec()]),
        ("byte by byte".to_owned(), bytes.iter().map(|byte| vec![*byte]).collect()),
    ];
    // A reset takes its time: a few cuts do.
    let step = if ending == Ending::Reset { bytes.len() / 8 + 1 } else { 1 };
    ways.extend((1..bytes.len()).step_by(step).map(|at| {
        let (before, after) = bytes.split_at(at);
        (format!("cut at {at}"), vec![before.to_vec(), after.to_vec()])
    }));
    Ok(ways.into_iter().map(|(way, pieces)| (way, Answer::events(pieces).ending(ending))).collect())
}
