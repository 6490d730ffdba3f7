//! Whether a server's tokenizer is the caller's.

use respool_core::Token;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Expectations;
use crate::{ClientError, Engine, ErrorKind, HttpServer};

/// Compares tokenizers, where the server lends its own.
pub(super) async fn check_tokenizer(
    server: &HttpServer,
    model: Option<&str>,
    expected: &Expectations,
) -> Result<(), ClientError> {
    let Some(prompt) = &expected.prompt else { return Ok(()) };
    let path = match server.api().engine() {
        Engine::Sglang => "/v1/tokenize",
        Engine::Vllm => "/tokenize",
    };
    let body = json!({ "model": model, "prompt": prompt, "add_special_tokens": false });
    let Ok(answer) = server.post(path, body).await else { return Ok(()) };
    let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
    match answer.get("tokens").map(Vec::<Token>::deserialize) {
        Some(Ok(tokens)) if tokens != expected.prompt_ids => {
            let ours = &expected.prompt_ids;
            Err(server.shared.transport.error(
                ErrorKind::Unfit,
                format!(
                    "tokenizes {prompt:?} as {tokens:?}, expected {ours:?}: its model has another tokenizer than \
                     the model folder (--model, or [model] path)"
                ),
            ))
        }
        // A server that has no such route, or answers something else, lends none.
        _ => Ok(()),
    }
}
