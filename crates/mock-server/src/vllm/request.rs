//! `POST /inference/v1/generate` and `POST /v1/completions`, as they are asked.

use http::StatusCode;
use respool_core::Token;
use serde::Deserialize;
use serde_json::Value;

use super::completions::CompletionWriter;
use super::refusal::Refusal;
use super::tokens::TokenWriter;
use crate::MockHttpConfig;
use crate::ask::{Ask, foreign_token, fresh_id, stop_tokens};
use crate::connection::Call;

/// Where a completion leaves it out.
const DEFAULT_MAX_TOKENS: i64 = 16;

/// A request that was read, or its refusal.
pub(super) type Asked = Result<Request, Refusal>;

/// What both routes have.
pub(super) struct Request {
    kind: Kind,
    id: String,
    model: Option<String>,
    prompt: Vec<Token>,
    params: Params,
    streams: bool,
    has_usage: bool,
    /// The completion's `return_token_ids`, or that the prompt is told again.
    return_token_ids: bool,
}

enum Kind {
    Tokens,
    Completion { tokens_as_ids: bool },
}

#[derive(Default, Deserialize)]
struct Params {
    max_tokens: Option<i64>,
    stop: Option<Value>,
    stop_token_ids: Option<Vec<Token>>,
    ignore_eos: Option<bool>,
    n: Option<u32>,
    seed: Option<i64>,
    logprobs: Option<i32>,
}

#[derive(Default, Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct TokensBody {
    request_id: Option<String>,
    token_ids: Vec<Token>,
    sampling_params: Params,
    model: Option<String>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    return_token_ids: Option<bool>,
    output_mode: Option<String>,
}

#[derive(Deserialize)]
struct CompletionBody {
    request_id: Option<String>,
    prompt: Vec<Token>,
    model: Option<String>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    return_token_ids: Option<bool>,
    return_tokens_as_token_ids: Option<bool>,
    #[serde(flatten)]
    params: Params,
}

/// Reads `POST /inference/v1/generate`.
pub(super) fn tokens(call: &Call) -> Asked {
    let body: TokensBody = call.json().map_err(|message| Refusal::invalid("body", &message))?;
    if body.output_mode.is_some_and(|mode| mode != "tokens") {
        return Err(Refusal::invalid("body.output_mode", "the mock server has only 'tokens'"));
    }
    Ok(Request {
        kind: Kind::Tokens,
        id: body.request_id.unwrap_or_else(fresh_id),
        model: body.model,
        prompt: body.token_ids,
        params: body.sampling_params,
        streams: body.stream.unwrap_or(false),
        has_usage: has_usage(body.stream_options),
        return_token_ids: body.return_token_ids.unwrap_or(false),
    })
}

/// Reads `POST /v1/completions`.
pub(super) fn completion(call: &Call) -> Asked {
    let body: CompletionBody = call.json().map_err(|message| Refusal::invalid("body", &message))?;
    Ok(Request {
        kind: Kind::Completion { tokens_as_ids: body.return_tokens_as_token_ids.unwrap_or(false) },
        id: body.request_id.unwrap_or_else(fresh_id),
        model: body.model,
        prompt: body.prompt,
        params: body.params,
        streams: body.stream.unwrap_or(false),
        has_usage: has_usage(body.stream_options),
        return_token_ids: body.return_token_ids.unwrap_or(false),
    })
}

fn has_usage(options: Option<StreamOptions>) -> bool {
    options.is_some_and(|options| options.include_usage == Some(true))
}

impl Request {
    /// Checks it against the model.
    pub(super) fn check(self, config: &MockHttpConfig) -> Result<Ask, Refusal> {
        self.check_model(config)?;
        self.check_prompt(config)?;
        self.check_params()?;
        let room = config.context_length - self.prompt.len() as u32;
        let max_tokens = match (self.params.max_tokens, &self.kind) {
            (Some(max_tokens), _) => max_tokens,
            (None, Kind::Tokens) => i64::from(room),
            (None, Kind::Completion { .. }) => DEFAULT_MAX_TOKENS,
        };
        let prefix = match self.kind {
            Kind::Tokens => "generate-tokens-",
            Kind::Completion { .. } => "cmpl-",
        };
        let name = format!("{prefix}{}", self.id);
        // One engine request a prompt: a completion's has its index at the end.
        let abort_id = match self.kind {
            Kind::Tokens => name.clone(),
            Kind::Completion { .. } => format!("{name}-0"),
        };
        let params = &self.params;
        Ok(Ask {
            stop_tokens: stop_tokens(
                config,
                params.stop_token_ids.clone().unwrap_or_default(),
                params.ignore_eos == Some(true),
            ),
            max_tokens: u32::try_from(max_tokens).unwrap_or(u32::MAX).min(room),
            seed: params.seed,
            streams: self.streams,
            abort_id,
            writer: match self.kind {
                Kind::Tokens => Box::new(TokenWriter::new(config, name, &self.facts())),
                Kind::Completion { tokens_as_ids } => {
                    Box::new(CompletionWriter::new(config, name, &self.facts(), tokens_as_ids))
                }
            },
            id: self.id,
            prompt: self.prompt,
        })
    }

    fn facts(&self) -> Facts {
        Facts {
            prompt_tokens: self.prompt.len(),
            prompt: self.return_token_ids.then(|| self.prompt.clone()),
            logprobs: self.params.logprobs.and_then(|count| u32::try_from(count).ok()),
            has_usage: self.has_usage && self.streams,
        }
    }

    fn check_model(&self, config: &MockHttpConfig) -> Result<(), Refusal> {
        match &self.model {
            Some(model) if *model != config.model_name => {
                let known = &config.model_name;
                let message = format!("The model `{model}` does not exist. Valid aliases: {known}.");
                Err(Refusal::new(StatusCode::NOT_FOUND, &message, Some("model")))
            }
            _ => Ok(()),
        }
    }

    fn check_prompt(&self, config: &MockHttpConfig) -> Result<(), Refusal> {
        let (length, context) = (self.prompt.len(), config.context_length as usize);
        let message = if length == 0 {
            let field = if matches!(self.kind, Kind::Tokens) { "body.token_ids" } else { "body.prompt" };
            return Err(Refusal::invalid(field, "List should have at least 1 item after validation, not 0"));
        } else if length > context {
            format!(
                "The decoder prompt (length {length}) is longer than the maximum model length of {context}. Make \
                 sure that `max_model_len` is no smaller than the number of text tokens."
            )
        } else if length == context {
            format!(
                "The decoder prompt (length {length}) plus the number of requested output tokens (at least 1) is \
                 longer than the maximum model length of {context}. Make sure that `max_model_len` is no smaller \
                 than the number of text tokens (prompt + requested output tokens)."
            )
        } else if let Some(token) = foreign_token(config, &self.prompt) {
            format!("Token id {token} is out of vocabulary")
        } else {
            return Ok(());
        };
        Err(Refusal::bad(&message, None))
    }

    fn check_params(&self) -> Result<(), Refusal> {
        let params = &self.params;
        let wrong = |param: &'static str, message: &str| Err(Refusal::bad(message, Some(param)));
        if let Some(max) = params.max_tokens.filter(|max| *max < 1) {
            let message =
                format!("max_tokens must be at least 1, got {max}. (parameter=max_tokens, value={max})");
            return wrong("max_tokens", &message);
        }
        if params.n.is_some_and(|n| n != 1) {
            return wrong("n", "the mock server has no n other than 1");
        }
        match &params.stop {
            None | Some(Value::Null) => Ok(()),
            Some(Value::Array(stops)) if stops.is_empty() => Ok(()),
            Some(_) => wrong("stop", "the mock server has no stop strings (use stop_token_ids)"),
        }
    }
}

/// What an answer repeats or leaves out.
pub(super) struct Facts {
    pub(super) prompt_tokens: usize,
    /// The prompt, where it is to be told again.
    pub(super) prompt: Option<Vec<Token>>,
    /// How many alternatives of each token; `None`: no log-probabilities.
    pub(super) logprobs: Option<u32>,
    /// Whether the use comes in a last chunk.
    pub(super) has_usage: bool,
}
