//! `respool.toml`: its sections, and errors that name file, line and key.

use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use serde::{Deserialize, Serialize};

mod compat;
mod limits;
mod mirror;
mod model;
mod policy;
mod run;
mod servers;
mod services;

pub(crate) use model::ModelSection;
pub(crate) use policy::{PolicyKind, PolicySection};
pub(crate) use run::{RunSection, SyncMode};
pub(crate) use servers::ServersSection;
pub(crate) use services::{InteractionSection, RewardSection, ToolsSection};

use self::{
    compat::CompatSection,
    limits::{LimitsSection, OptionsSection},
};
pub(crate) use limits::SamplingSection;

/// All of `respool.toml`. Every key has a default, no unknown key is taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) run: RunSection,
    pub(crate) model: ModelSection,
    pub(crate) policy: PolicySection,
    pub(crate) servers: ServersSection,
    pub(crate) sampling: SamplingSection,
    pub(crate) limits: LimitsSection,
    pub(crate) options: OptionsSection,
    #[serde(deserialize_with = "compat::name_or_table")]
    pub(crate) compat: CompatSection,
    pub(crate) tools: ToolsSection,
    /// By the name that a row's `interaction_kwargs` says.
    pub(crate) interaction: BTreeMap<String, InteractionSection>,
    pub(crate) reward: Option<RewardSection>,
}

/// Where a configuration came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Given(PathBuf),
    Beside(PathBuf),
    Defaults,
}

impl Config {
    /// The named file, else `respool.toml` in `folder`, else the defaults.
    pub(crate) fn find(named: Option<&Path>, folder: &Path) -> anyhow::Result<(Self, Source)> {
        if let Some(path) = named {
            return Ok((Self::read(path)?, Source::Given(path.to_owned())));
        }
        let beside = folder.join("respool.toml");
        if beside.is_file() {
            return Ok((Self::read(&beside)?, Source::Beside(beside)));
        }
        Ok((Self::default(), Source::Defaults))
    }

    fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read the configuration {name}"))?;
        let mut config = Self::parse(&text, &name)?;
        if let Some(folder) = path.parent() {
            let http = &mut config.servers.http;
            let paths = [&mut config.model.path, &mut http.api_key_file, &mut http.admin_key_file];
            for path in paths.into_iter().flatten() {
                *path = folder.join(&path); // relative to the file that says it
            }
        }
        Ok(config)
    }

    /// `name` is for messages.
    pub(crate) fn parse(text: &str, name: &str) -> anyhow::Result<Self> {
        let deserializer = toml::Deserializer::parse(text)
            .map_err(|error| wrong(text, name, error.span(), "", error.message()))?;
        serde_path_to_error::deserialize(deserializer).map_err(|error| {
            let key = error.path().to_string();
            wrong(text, name, error.inner().span(), &key, error.inner().message())
        })
    }
}

fn wrong(text: &str, name: &str, span: Option<Range<usize>>, key: &str, message: &str) -> anyhow::Error {
    let line =
        text.get(..span.map_or(0, |span| span.start)).map_or(1, |before| before.matches('\n').count() + 1);
    let message = in_plain_words(message);
    match key {
        "" | "." => anyhow!("{name}:{line}: {message}"),
        key => anyhow!("{name}:{line}: {key}: {message}"),
    }
}

/// What the deserializers expect, said to people who write a file.
fn in_plain_words(message: &str) -> String {
    message
        .replace("expected a duration", "expected a duration such as \"5ms\", \"1s\" or \"2m\"")
        .replace("expected a nonzero u32", "expected a whole number from 1")
}

#[cfg(test)]
mod tests;
