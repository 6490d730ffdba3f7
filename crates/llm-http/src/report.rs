//! What the self-test found.

use std::fmt;

use respool_llm::Controls;
use serde::Serialize;

use crate::{Api, Engine, HttpConfig};

/// What the self-test found out about a server that is fit for use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The base URL.
    pub url: String,
    /// Which engine it is.
    pub engine: Engine,
    /// The engine's version, if it says.
    pub version: Option<String>,
    /// How it is asked for tokens.
    pub api: Api,
    /// The name under which it serves the model, if it says.
    pub model: Option<String>,
    /// The most tokens of prompt and answer, if it says.
    pub context_length: Option<u64>,
    /// The size of the vocabulary, as the caller gave it: sampled ids lay within it.
    pub vocab_size: Option<u32>,
    /// The label of its weights, if it says.
    pub weight_label: Option<String>,
    /// Whether its answers say which weights sampled them.
    pub labels_tokens: bool,
    /// Whether its events repeat earlier ones.
    pub stream_style: StreamStyle,
    /// Control calls.
    pub controls: Vec<ControlReport>,
    /// What may be better.
    pub notes: Vec<String>,
}

/// What an event of a stream holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamStyle {
    /// What is new.
    Incremental,
    /// Everything from the start.
    Cumulative,
}

/// One control call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ControlReport {
    /// What it does: the name of the flag in [`Controls`], or `abort`.
    pub name: &'static str,
    /// Its route; empty where the engine has none.
    pub route: &'static str,
    /// Whether the server has it.
    pub available: bool,
    /// How to enable it, where it is missing.
    pub enable: Option<String>,
}

impl Report {
    /// Which control calls the server takes.
    #[must_use]
    pub fn controls(&self) -> Controls {
        let has = |name| self.controls.iter().any(|control| control.name == name && control.available);
        Controls {
            pause_abort: has("pause_abort"),
            pause_keep: has("pause_keep"),
            set_version: has("set_version"),
            update_from_disk: has("update_from_disk"),
            flush_cache: has("flush_cache"),
        }
    }

    /// How to reach the server that was tested.
    #[must_use]
    pub fn config(&self) -> HttpConfig {
        HttpConfig {
            url: self.url.clone(),
            api: self.api,
            model: self.model.clone(),
            vocab_size: self.vocab_size,
            weight_label: self.weight_label.clone(),
            controls: self.controls(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unknown = || "unknown".to_owned();
        let text = |value: &Option<String>| value.clone().unwrap_or_else(unknown);
        let engine = match self.engine {
            Engine::Sglang => "SGLang",
            Engine::Vllm => "vLLM",
        };
        let style = match self.stream_style {
            StreamStyle::Incremental => "incremental",
            StreamStyle::Cumulative => "cumulative",
        };
        let labels = if self.labels_tokens { "yes" } else { "no" };
        let number = |value: Option<u64>| value.map_or_else(unknown, |value| value.to_string());
        writeln!(f, "{}: {engine} {}", self.url, text(&self.version))?;
        writeln!(f, "  route            {}", self.api.path())?;
        writeln!(f, "  model            {}", text(&self.model))?;
        writeln!(f, "  context length   {}", number(self.context_length))?;
        writeln!(f, "  vocabulary       {}", number(self.vocab_size.map(u64::from)))?;
        writeln!(f, "  weight label     {}", text(&self.weight_label))?;
        writeln!(f, "  versions of tokens told: {labels}; stream: {style}")?;
        for ControlReport { name, route, available, enable } in &self.controls {
            let found = if *available { "available" } else { "missing" };
            let enable = enable.as_ref().map(|how| format!(": {how}")).unwrap_or_default();
            writeln!(f, "  {name:<16} {found} {route}{enable}")?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "  note: {note}"))
    }
}
