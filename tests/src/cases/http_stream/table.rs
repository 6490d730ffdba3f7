//! Spellings of finish reasons.

use serde_json::{Value, json};

use super::expected::Expected;
use super::input::{FinalBody, TableInput, TableRow};
use super::{Wire, broken};
use crate::cases::Checked;
use crate::report::Verdict;
use crate::wire::{AbortAt, Answer, Collected, WireServer, ask, client, finish_word, request};

/// Whether every reason is read as the table says.
pub(super) async fn check(input: &TableInput, expected: &Expected) -> Checked {
    let mut as_in_table = true;
    let mut kept = Value::Null;
    let mut differences = Vec::new();
    for row in &input.table {
        for wire in wires(row) {
            let all = read(wire, row).await?;
            let word = finish_word(all.finish.as_ref());
            if word != row.is {
                as_in_table = false;
                differences.push(format!("{row:?} over {wire:?} is {word} ({:?})", all.error));
            }
            kept = json!(all.tokens);
        }
    }
    let seen = json!({ "as_in_table": as_in_table, "tokens_kept": kept });
    expected.check(&seen).map_err(|verdict| match verdict {
        Verdict::Fail(what) => Verdict::Fail(format!("{what}: {}", differences.join("; "))),
        other => other,
    })
}

/// Objects are SGLang's way of spelling; texts are tried with both engines.
fn wires(row: &TableRow) -> Vec<Wire> {
    match &row.finish_reason {
        Some(Value::String(_)) => vec![Wire::SglangGenerate, Wire::VllmGenerate, Wire::VllmCompletions],
        Some(_) => vec![Wire::SglangGenerate],
        None => vec![Wire::SglangGenerate, Wire::VllmGenerate],
    }
}

async fn read(wire: Wire, row: &TableRow) -> Result<Collected, Verdict> {
    let (ids, reason) = match (&row.final_body, &row.finish_reason) {
        (Some(FinalBody { finish_reason, output_ids }), _) => (output_ids.clone(), finish_reason.clone()),
        (None, Some(reason)) => (vec![171], reason.clone()),
        (None, None) => {
            return Err(Verdict::NotUnderstood(
                "input.table: neither finish_reason nor final_body".to_owned(),
            ));
        }
    };
    let mut answer = Answer::events(vec![event(wire, &ids, &reason)]);
    let mut abort_at = AbortAt::Never;
    if row.abort_requested {
        // The stream is still open when the abort is asked for.
        answer.hold = true;
        abort_at = AbortAt::FirstToken;
    }
    let generation = wire.api().path();
    let server = WireServer::start(move |received| match received.path == generation {
        true => answer.clone(),
        false => Answer::json(200, "{}"),
    });
    let server = server.await.map_err(broken)?;
    let client = client(&server.url(), wire.api()).map_err(broken)?;
    Ok(ask(&client, request(vec![1, 2, 3], 1 << 20), abort_at).await)
}

/// An event with these ids and this reason.
pub(super) fn event(wire: Wire, ids: &[u32], reason: &Value) -> Vec<u8> {
    let values: Vec<Option<f64>> = ids.iter().map(|_| Some(-0.5)).collect();
    event_with(wire, ids, &values, reason)
}

/// The same with these log-probabilities.
pub(super) fn event_with(wire: Wire, ids: &[u32], logprobs: &[Option<f64>], reason: &Value) -> Vec<u8> {
    let pairs = || ids.iter().zip(logprobs);
    let data = match wire {
        Wire::SglangGenerate => json!({
            "text": "", "output_ids": ids,
            "meta_info": {
                "finish_reason": reason, "completion_tokens": ids.len(),
                "output_token_logprobs": pairs().map(|(id, value)| json!([value, id, null])).collect::<Vec<_>>(),
            },
        }),
        Wire::VllmGenerate | Wire::VllmChat => json!({
            "choices": [{
                "index": 0, "finish_reason": reason, "token_ids": ids,
                "logprobs": {
                    "content": pairs().map(|(id, value)| json!({ "token_id": id, "logprob": value })).collect::<Vec<_>>(),
                },
            }],
        }),
        Wire::VllmCompletions => json!({
            "choices": [{
                "index": 0, "text": "", "finish_reason": reason, "token_ids": ids,
                "logprobs": { "token_logprobs": logprobs },
            }],
        }),
    };
    format!("data: {data}\n\n").into_bytes()
}
