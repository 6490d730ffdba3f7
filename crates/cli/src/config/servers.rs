//! `[servers]`: the LLM servers, and how they are used.

use respool_llm::PoolSettings;
use respool_llm_http::HttpSettings;
use serde::{Deserialize, Serialize};

use crate::args::{EngineName, ServerArgs};

/// LLM servers. Without `urls` the embedded policy generates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServersSection {
    /// Base URLs.
    pub(crate) urls: Vec<String>,
    pub(crate) engine: EngineName,
    /// The name under which they serve the model; without it the first that they name.
    pub(crate) model: Option<String>,
    pub(crate) pool: PoolSettings,
    pub(crate) http: HttpSettings,
}

impl ServersSection {
    /// Takes what the flags say; a flag wins.
    pub(crate) fn set(&mut self, args: &ServerArgs) {
        let ServerArgs { urls, engine } = args;
        if !urls.is_empty() {
            self.urls.clone_from(urls);
        }
        self.engine = engine.unwrap_or(self.engine);
    }
}
