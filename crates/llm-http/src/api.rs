//! The ways to ask the engines for tokens.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Decoder, SglangDecoder, VllmDecoder};

/// An inference engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// SGLang.
    Sglang,
    /// vLLM.
    Vllm,
}

/// Which engine a server is, as far as the user knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
    /// Found out by asking.
    #[default]
    Auto,
    /// SGLang.
    Sglang,
    /// vLLM.
    Vllm,
}

/// A route that takes token ids and gives token ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Api {
    /// SGLang's `/generate`.
    SglangGenerate,
    /// vLLM's `/inference/v1/generate`, where it was started with `--enable-scale-out`.
    VllmGenerate,
    /// vLLM's `/v1/completions` with `return_token_ids`.
    VllmCompletions,
    /// The same with `return_tokens_as_token_ids`, of releases that do not know the other.
    VllmCompletionsAsIds,
}

impl Api {
    /// The engine that has it.
    #[must_use]
    pub const fn engine(self) -> Engine {
        match self {
            Self::SglangGenerate => Engine::Sglang,
            Self::VllmGenerate | Self::VllmCompletions | Self::VllmCompletionsAsIds => Engine::Vllm,
        }
    }

    /// Its path below the server's base URL.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::SglangGenerate => "/generate",
            Self::VllmGenerate => "/inference/v1/generate",
            Self::VllmCompletions | Self::VllmCompletionsAsIds => "/v1/completions",
        }
    }

    /// A decoder for one of its answers.
    #[must_use]
    pub fn decoder(self) -> Decoder {
        match self.engine() {
            Engine::Sglang => Decoder::Sglang(SglangDecoder::new()),
            Engine::Vllm => Decoder::Vllm(VllmDecoder::new()),
        }
    }

    /// Where an abort goes, the likeliest first.
    pub(crate) const fn abort_routes(self) -> &'static [&'static str] {
        match self {
            Self::SglangGenerate => &["/abort_request"],
            // The second one only in development mode, the first one only with --enable-scale-out.
            Self::VllmGenerate => &["/inference/v1/abort_requests", "/abort_requests"],
            Self::VllmCompletions | Self::VllmCompletionsAsIds => {
                &["/abort_requests", "/inference/v1/abort_requests"]
            }
        }
    }

    /// The body of an abort of one request, by its [`Self::abort_ids`].
    pub(crate) fn abort_body(self, ids: &[String]) -> Value {
        match self.engine() {
            Engine::Sglang => json!({ "rid": ids.first() }),
            Engine::Vllm => json!({ "request_ids": ids }),
        }
    }

    /// What an abort must call a request that was sent as `id`: as the server named it in its
    /// answer, or as it does by all we know.
    pub(crate) fn abort_ids(self, id: &str, server_id: Option<&str>) -> Vec<String> {
        let named = |prefix: &str| server_id.map_or_else(|| format!("{prefix}{id}"), str::to_owned);
        match self {
            Self::SglangGenerate => vec![id.to_owned()],
            Self::VllmGenerate => vec![named("generate-tokens-")],
            // Inside, each prompt of the list has a request of its own.
            Self::VllmCompletions | Self::VllmCompletionsAsIds => {
                let name = named("cmpl-");
                vec![format!("{name}-0"), name]
            }
        }
    }
}
