//! A recorded exchange.

use std::path::Path;

use respool_core::Token;
use respool_llm_http::{Api, Engine};
use serde::Deserialize;
use serde_json::Value;

use crate::wire::{Answer, Ending};

/// A generation that our client could have asked for, and its answer.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) api: Api,
    pub(super) prompt_ids: Vec<Token>,
    pub(super) max_tokens: u32,
    pub(super) stop_token_ids: Vec<Token>,
    pub(super) answer: Answer,
}

/// Why a file is not replayed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Skip(pub(super) String);

fn skip<T>(why: impl Into<String>) -> Result<T, Skip> {
    Err(Skip(why.into()))
}

#[derive(Deserialize)]
struct Exchange {
    request: Request,
    response: Response,
}

#[derive(Deserialize)]
struct Request {
    method: String,
    path: String,
    #[serde(default)]
    body: Value,
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    status_line: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: Option<Value>,
    #[serde(default)]
    body_text: Option<String>,
    #[serde(default)]
    http_chunks: Option<Vec<String>>,
}

impl Recording {
    /// Reads a file. `name` is its path below the recordings' folder: its first word is the engine.
    ///
    /// # Errors
    /// Why it is not a generation that our client could have asked for.
    pub(super) fn read(path: &Path, name: &str) -> Result<Self, Skip> {
        let engine = engine(name)?;
        let text = std::fs::read_to_string(path).or_else(|error| skip(format!("cannot be read: {error}")))?;
        let Exchange { request, response } =
            serde_json::from_str(&text).or_else(|error| skip(format!("is no recording: {error}")))?;
        let api = api(engine, &request)?;
        let body = &request.body;
        let sampling = body.get("sampling_params").unwrap_or(body);
        let max_tokens = ["max_new_tokens", "max_tokens"].iter().find_map(|key| sampling.get(key)?.as_u64());
        if max_tokens == Some(0) {
            return skip("our client does not ask for no tokens");
        }
        Ok(Self {
            api,
            prompt_ids: prompt_ids(api, body)?,
            max_tokens: max_tokens.and_then(|tokens| u32::try_from(tokens).ok()).unwrap_or(u32::MAX),
            stop_token_ids: ids(sampling.get("stop_token_ids")).unwrap_or_default(),
            answer: response.answer(),
        })
    }
}

/// The engine that a path names with its first word.
fn engine(name: &str) -> Result<Engine, Skip> {
    let word: String = name.chars().take_while(char::is_ascii_alphanumeric).collect();
    match word.as_str() {
        "sglang" => Ok(Engine::Sglang),
        "vllm" => Ok(Engine::Vllm),
        other => skip(format!("{other:?} is no engine of ours")),
    }
}

fn api(engine: Engine, request: &Request) -> Result<Api, Skip> {
    let path = request.path.split('?').next().unwrap_or_default();
    if request.method != "POST" {
        return skip(format!("{} {path} is no generation", request.method));
    }
    let as_token_ids = request.body.get("return_tokens_as_token_ids") == Some(&Value::Bool(true));
    match (engine, path) {
        (Engine::Sglang, "/generate") => Ok(Api::SglangGenerate),
        (Engine::Vllm, "/inference/v1/generate") => Ok(Api::VllmGenerate),
        (Engine::Vllm, "/v1/completions") if as_token_ids => Ok(Api::VllmCompletionsAsIds),
        (Engine::Vllm, "/v1/completions") => Ok(Api::VllmCompletions),
        _ => skip(format!("our client does not ask {path}")),
    }
}

fn prompt_ids(api: Api, body: &Value) -> Result<Vec<Token>, Skip> {
    let key = match api {
        Api::SglangGenerate => "input_ids",
        Api::VllmGenerate => "token_ids",
        Api::VllmCompletions | Api::VllmCompletionsAsIds => "prompt",
    };
    match body.get(key) {
        Some(Value::Array(items)) if items.iter().any(Value::is_array) => {
            skip("several prompts in one request")
        }
        Some(Value::Array(items)) if items.is_empty() => skip("our client does not send an empty prompt"),
        list => ids(list).map_or_else(|| skip(format!("{key} is no list of token ids")), Ok),
    }
}

fn ids(list: Option<&Value>) -> Option<Vec<Token>> {
    let id = |value: &Value| value.as_u64().and_then(|id| Token::try_from(id).ok());
    list?.as_array()?.iter().map(id).collect()
}

impl Response {
    fn answer(self) -> Answer {
        let Self { status_line, headers, body, body_text, http_chunks } = self;
        if status_line.is_empty() {
            return Answer::nothing();
        }
        let pieces = match (http_chunks, body, body_text) {
            (Some(chunks), _, _) => chunks.into_iter().map(String::into_bytes).collect(),
            (None, Some(body), _) => vec![body.to_string().into_bytes()],
            (None, None, text) => vec![text.unwrap_or_default().into_bytes()],
        };
        Answer { status_line, headers, pieces, ending: Ending::Whole, hold: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: Result<Engine, &str>) {
        assert_eq!(engine(name), expected.map_err(|why| Skip(why.to_owned())), "{name}");
    }

    #[test]
    fn the_first_word_is_the_engine() {
        check("sglang/03.json", Ok(Engine::Sglang));
        check("vllm_engine_death/1.json", Ok(Engine::Vllm));
        check("vllm-0.33/1.json", Ok(Engine::Vllm));
        check("llamacpp/01.json", Err("\"llamacpp\" is no engine of ours"));
    }
}
