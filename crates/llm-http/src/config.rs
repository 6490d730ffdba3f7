//! Which server is meant.

use respool_llm::Controls;

use crate::Api;

/// Which server, and what is known of it. [`connect`](crate::connect) finds all of it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpConfig {
    /// The base URL: `http://HOST:PORT`, and a path if a router has one.
    pub url: String,
    /// How it is asked for tokens.
    pub api: Api,
    /// The name under which vLLM serves the model; completions need it.
    pub model: Option<String>,
    /// The size of the vocabulary. Ids outside it are refused: one of them kills an SGLang server.
    pub vocab_size: Option<u32>,
    /// The label of its weights at start, for servers that do not tell it later.
    pub weight_label: Option<String>,
    /// Which control calls it takes.
    pub controls: Controls,
}

impl HttpConfig {
    /// A server of which nothing else is known.
    #[must_use]
    pub fn new(url: impl Into<String>, api: Api) -> Self {
        let controls = Controls::default();
        Self { url: url.into(), api, model: None, vocab_size: None, weight_label: None, controls }
    }
}
