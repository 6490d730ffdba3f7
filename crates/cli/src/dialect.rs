//! The dialect of a configuration.

use std::path::Path;

use anyhow::{Context, anyhow};
use respool_core::Dialect;
use respool_dialect::{Clock, DialectOptions, HfDialect};

use crate::config::Config;

/// The dialect of a configuration; templates see that date.
pub(crate) fn load_dialect(config: &Config, started: i64) -> anyhow::Result<HfDialect> {
    let compat = config.compat.resolve();
    let mut options = DialectOptions::new(Clock::from_unix_seconds(started));
    options.continuation = compat.continuation;
    options.control_tokens = compat.control_tokens;
    options.template_name.clone_from(&config.model.template_name);
    options.split_pattern.clone_from(&config.model.split_pattern);
    options.calls_in_reasoning = config.model.calls_in_reasoning;
    options.lenient_literals = config.model.lenient_literals;
    options.tool_results = config.model.tool_results.into();
    if let Some(format) = &config.model.format {
        options.tool_format.clone_from(format);
    }
    load_from(config.model.path.as_deref(), options)
}

/// The dialect of a model folder, or the built-in one.
pub(crate) fn load_from(folder: Option<&Path>, options: DialectOptions) -> anyhow::Result<HfDialect> {
    match folder {
        Some(folder) => {
            HfDialect::load(folder, options).with_context(|| format!("model folder {}", folder.display()))
        }
        None => Ok(HfDialect::embedded(options)?),
    }
}

/// The dialect of a configuration, where it names a model folder.
pub(crate) fn given_dialect(config: &Config) -> anyhow::Result<Option<HfDialect>> {
    match config.model.path {
        Some(_) => load_dialect(config, 0).map(Some),
        None => Ok(None),
    }
}

/// The token that ends a turn, for policies that have to say it.
pub(crate) fn stop_token(dialect: &HfDialect) -> anyhow::Result<respool_core::Token> {
    let stop = dialect.stop_tokens().first().copied();
    stop.ok_or_else(|| {
        anyhow!("the model folder names no stop token (eos_token), so no policy can end a turn")
    })
}
