//! `POST /generate`, as it is asked.

use http::StatusCode;
use respool_core::Token;
use serde::Deserialize;
use serde_json::{Value, json};

use super::writer::{SglangWriter, Shape};
use crate::ask::{Ask, foreign_token, stop_tokens};
use crate::connection::Call;
use crate::reply::{self, Reply};
use crate::{MockHttpConfig, StreamStyle};

/// Where the request leaves it out.
const DEFAULT_MAX_NEW_TOKENS: i64 = 128;

#[derive(Deserialize)]
struct Body {
    rid: Option<String>,
    input_ids: Option<Vec<Token>>,
    text: Option<Value>,
    #[serde(default)]
    sampling_params: Option<Params>,
    #[serde(default)]
    return_logprob: Option<bool>,
    #[serde(default)]
    top_logprobs_num: Option<u32>,
    #[serde(default)]
    stream: Option<bool>,
}

#[derive(Default, Deserialize)]
struct Params {
    max_new_tokens: Option<i64>,
    #[serde(default)]
    stop: Option<Value>,
    stop_token_ids: Option<Vec<Token>>,
    ignore_eos: Option<bool>,
    n: Option<u32>,
    sampling_seed: Option<i64>,
}

/// Why a request is refused.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// A field is not of its type.
    BadType(String),
    /// The values do not make sense.
    BadValue(String),
    /// A token id is outside the vocabulary.
    ForeignToken(Token),
}

impl Refusal {
    pub(crate) fn into_reply(self) -> Reply {
        let status = StatusCode::BAD_REQUEST;
        match self {
            Self::BadType(message) => reply::json(
                status,
                &json!({
                    "object": "error",
                    "message": format!("1 validation error:\n  {message}"),
                    "type": "Bad Request",
                    "param": null,
                    "code": 400,
                }),
            ),
            Self::BadValue(message) => super::refuse(status, &message),
            Self::ForeignToken(token) => {
                super::refuse(status, &format!("token id {token} is out of vocabulary"))
            }
        }
    }
}

/// Reads and checks a request.
pub(super) fn read(config: &MockHttpConfig, call: &Call) -> Result<Ask, Refusal> {
    let body: Body = call.json().map_err(|message| bad_type(call, message))?;
    let params = body.sampling_params.unwrap_or_default();
    if body.text.is_some() || body.input_ids.is_none() {
        return Err(Refusal::BadValue("the mock server takes input_ids, and no text".to_owned()));
    }
    let prompt = body.input_ids.unwrap_or_default();
    check_unsupported(&params, body.top_logprobs_num)?;
    check_length(config, &prompt, params.max_new_tokens)?;
    if let Some(token) = foreign_token(config, &prompt) {
        return Err(Refusal::ForeignToken(token));
    }
    let id = body.rid.unwrap_or_else(crate::ask::fresh_id);
    let streams = body.stream.unwrap_or(false);
    let shape = Shape {
        // A whole answer is what the last chunk of a cumulative stream is.
        is_cumulative: !streams || config.stream_style == StreamStyle::Cumulative,
        has_logprobs: body.return_logprob.unwrap_or(false),
    };
    let max_tokens = params.max_new_tokens.unwrap_or(DEFAULT_MAX_NEW_TOKENS).max(0);
    // As the real one does: who ignores the model's stop tokens ignores the request's too.
    let ignores_stop = params.ignore_eos == Some(true);
    let own_stop = params.stop_token_ids.filter(|_| !ignores_stop).unwrap_or_default();
    Ok(Ask {
        abort_id: id.clone(),
        writer: Box::new(SglangWriter::new(&id, prompt.len(), shape)),
        id,
        prompt,
        max_tokens: u32::try_from(max_tokens).unwrap_or(u32::MAX),
        stop_tokens: stop_tokens(config, own_stop, ignores_stop),
        seed: params.sampling_seed,
        streams,
    })
}

fn bad_type(call: &Call, message: String) -> Refusal {
    let is_batch = call.json::<Value>().is_ok_and(|body| {
        let first = body.get("input_ids").and_then(|ids| ids.get(0));
        first.is_some_and(Value::is_array) || body.get("rid").is_some_and(Value::is_array)
    });
    if is_batch {
        Refusal::BadValue("the mock server takes one prompt a request".to_owned())
    } else {
        Refusal::BadType(message)
    }
}

/// What would change the meaning of an answer and is not there.
fn check_unsupported(params: &Params, top_logprobs: Option<u32>) -> Result<(), Refusal> {
    let has_stop = match &params.stop {
        None | Some(Value::Null) => false,
        Some(Value::Array(stops)) => !stops.is_empty(),
        Some(Value::String(stop)) => !stop.is_empty(),
        Some(_) => true,
    };
    let wrong = if has_stop {
        "stop strings (use stop_token_ids)"
    } else if params.n.is_some_and(|n| n != 1) {
        "n other than 1"
    } else if top_logprobs.is_some_and(|top| top > 0) {
        "top_logprobs_num over 0"
    } else {
        return Ok(());
    };
    Err(Refusal::BadValue(format!("the mock server has no {wrong}")))
}

fn check_length(config: &MockHttpConfig, prompt: &[Token], max_new: Option<i64>) -> Result<(), Refusal> {
    let (length, context) = (prompt.len() as i64, i64::from(config.context_length));
    let max_new = max_new.unwrap_or(DEFAULT_MAX_NEW_TOKENS);
    let message = if prompt.is_empty() {
        "input_ids cannot be empty.".to_owned()
    } else if max_new < 0 {
        format!("max_new_tokens must be at least 0, got {max_new}.")
    } else if length >= context {
        format!("The input ({length} tokens) is longer than the model's context length ({context} tokens).")
    } else if length.saturating_add(max_new) > context {
        let total = length.saturating_add(max_new);
        format!(
            "Requested token count exceeds the model's maximum context length of {context} tokens. You \
             requested a total of {total} tokens: {length} tokens from the input messages and {max_new} tokens \
             for the completion. Please reduce the number of tokens in the input messages or the completion to \
             fit within the limit."
        )
    } else {
        return Ok(());
    };
    Err(Refusal::BadValue(message))
}
