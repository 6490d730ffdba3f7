//! How a mock server behaves.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use respool_core::Token;
use respool_llm_mock::Policy;
use serde_json::{Value, json};

use crate::{HttpFaults, TurnFinder};

/// Whose wire format is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// SGLang 0.5.
    Sglang,
    /// vLLM 0.32, or 0.33 with [`MockHttpConfig::holds_while_paused`] off.
    Vllm,
}

/// What a chunk of an SGLang stream holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamStyle {
    /// Everything from the start: SGLang's default.
    #[default]
    Cumulative,
    /// What is new: SGLang with `--incremental-streaming-output`.
    Incremental,
}

/// Turns tokens into text, for the `text` fields of answers. Each piece of a stream is decoded by
/// itself, so a character that is cut between two pieces shows as replacement characters.
pub type Decoder = Arc<dyn Fn(&[Token]) -> String + Send + Sync>;

/// How a mock server behaves. Start from [`Self::new`] and change what is wanted.
#[derive(Clone)]
pub struct MockHttpConfig {
    /// Whose wire format is spoken.
    pub engine: Engine,
    /// Says which token comes next.
    pub policy: Arc<dyn Policy>,
    /// Finds where in a prompt the turn began.
    pub turns: TurnFinder,
    /// The tokens that end a turn, unless a request ignores them.
    pub stop_tokens: Vec<Token>,
    /// Turns tokens into text; without it texts are empty.
    pub decode: Option<Decoder>,
    /// The model's name.
    pub model_name: String,
    /// Token ids are below it; a prompt with another id is refused.
    pub vocab_size: u32,
    /// The most tokens of prompt and answer.
    pub context_length: u32,
    /// Time for one token. Zero: as fast as possible.
    pub token_latency: Duration,
    /// Tokens of one chunk of a stream, at least 1.
    pub tokens_per_event: u32,
    /// What a chunk of an SGLang stream holds.
    pub stream_style: StreamStyle,
    /// The label of the weights at the start, and after each death.
    pub weight_label: String,
    /// Whether answers tell `weight_versions`; old engines do not.
    pub reports_versions: bool,
    /// vLLM's `VLLM_SERVER_DEV_MODE=1`: without it the control routes are 404.
    pub development_mode: bool,
    /// vLLM's `--enable-scale-out`: without it `/inference/v1/generate` is 403.
    pub scale_out: bool,
    /// Whether vLLM's log-probabilities have the old shape, with `token: "token_id:N"`.
    pub old_logprobs: bool,
    /// Whether vLLM holds requests in every pause, as 0.32 does; 0.33 answers 503 while it is
    /// paused with `abort` or `wait`.
    pub holds_while_paused: bool,
    /// Whether a token id outside the vocabulary kills the server without an answer, as it does
    /// with SGLang.
    pub dies_on_bad_token: bool,
    /// The bearer token that every route but `/health` needs.
    pub api_key: Option<String>,
    /// The bearer token that SGLang's control routes need.
    pub admin_key: Option<String>,
    /// What goes wrong.
    pub faults: HttpFaults,
}

impl MockHttpConfig {
    /// A healthy server with every route, as fast as it can be: one token a chunk, cumulative
    /// streams, label `default`, a vocabulary of 2^24 ids and a context of 32,768 tokens.
    #[must_use]
    pub fn new(engine: Engine, policy: Arc<dyn Policy>, turns: TurnFinder, stop_tokens: Vec<Token>) -> Self {
        Self {
            engine,
            policy,
            turns,
            stop_tokens,
            decode: None,
            model_name: "mock".to_owned(),
            vocab_size: 1 << 24,
            context_length: 32_768,
            token_latency: Duration::ZERO,
            tokens_per_event: 1,
            stream_style: StreamStyle::Cumulative,
            weight_label: "default".to_owned(),
            reports_versions: true,
            development_mode: true,
            scale_out: true,
            old_logprobs: false,
            holds_while_paused: true,
            dies_on_bad_token: false,
            api_key: None,
            admin_key: None,
            faults: HttpFaults::default(),
        }
    }

    /// The engine's version that it claims to be.
    pub(crate) const fn engine_version(&self) -> &'static str {
        match self.engine {
            Engine::Sglang => "0.5.23",
            Engine::Vllm if self.holds_while_paused => "0.32.0",
            Engine::Vllm => "0.33.0",
        }
    }

    /// The model as `/v1/models` lists it.
    pub(crate) fn model_entry(&self, owned_by: &str) -> Value {
        json!({
            "id": self.model_name,
            "object": "model",
            "created": 0,
            "owned_by": owned_by,
            "root": self.model_name,
            "parent": null,
            "max_model_len": self.context_length,
        })
    }

    /// The text of these tokens.
    pub(crate) fn text(&self, tokens: &[Token]) -> String {
        self.decode.as_ref().map(|decode| decode(tokens)).unwrap_or_default()
    }
}

impl fmt::Debug for MockHttpConfig {
    /// Without the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockHttpConfig")
            .field("engine", &self.engine)
            .field("policy", &self.policy)
            .field("model_name", &self.model_name)
            .field("faults", &self.faults)
            .finish_non_exhaustive()
    }
}
