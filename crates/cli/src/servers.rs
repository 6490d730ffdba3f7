//! The LLM servers of a configuration: asked what they are, then pooled.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context, anyhow, bail};
use futures_util::future::join_all;
use respool_core::PolicyVersion;
use respool_dialect::{HfDialect, model_rows};
use respool_llm::{Pool, WireIds, version_of_label};
use respool_llm_http::{
    ClientError, EngineChoice, Expectations, HttpServer, Report, check_sampling, connect,
};

use crate::{args::EngineName, config::Config, config::ServersSection, screen};

/// What servers are tried with.
const PROMPT: &str = "The capital of France is";

/// A server with what was found out about it, or why it is not used.
pub(crate) type Checked = Result<(HttpServer, Report), ClientError>;

/// Asks every server what it is. Without a model folder nothing is known of its vocabulary.
pub(crate) async fn check(
    section: &ServersSection,
    dialect: Option<&HfDialect>,
    model: Option<&Path>,
) -> Vec<Checked> {
    let expected = expectations(section, dialect, model);
    let checks = section
        .urls
        .iter()
        .map(|url| connect(url, engine_choice(section.engine), &expected, section.http.clone()));
    join_all(checks).await
}

/// The pool of a configuration's servers, and the shortest context of their models, if they say. The
/// version in force is the newest that one of them has: versions never go back.
///
/// # Errors
/// If one of them is not fit for use, or the sampling cannot be continued there.
pub(crate) async fn pool(
    config: &Config,
    dialect: &HfDialect,
    seed: u64,
    version: PolicyVersion,
) -> anyhow::Result<(Pool, Option<u32>)> {
    let section = &config.servers;
    let may_continue = config.options.resolve(&config.compat).partial_rollout;
    check_sampling(&config.sampling.resolve(), may_continue)
        .map_err(|reason| anyhow!("[sampling]: {reason}"))?;
    let (mut unfit, mut contexts) = (Vec::new(), Vec::new());
    let checked = check(section, Some(dialect), config.model.path.as_deref()).await;
    let labels = checked.iter().flatten().filter_map(|(_, report)| report.weight_label.as_deref());
    let version = labels.filter_map(version_of_label).chain([version]).max().unwrap_or(version);
    let pool = Pool::new(section.pool.clone(), wire_ids()?, seed, version);
    for checked in checked {
        match checked {
            Ok((server, report)) => {
                report.notes.iter().for_each(|note| screen::warn(&format!("{}: {note}", report.url)));
                contexts.extend(report.context_length.and_then(|length| u32::try_from(length).ok()));
                pool.add(Arc::new(server)).context("[servers] urls")?;
            }
            Err(error) => unfit.push(error.to_string()),
        }
    }
    match unfit.as_slice() {
        [] => Ok((pool, contexts.into_iter().min())),
        reasons => bail!(
            "{} of {} servers cannot be used:\n  {}\n(`respool check --server URL` says more)",
            reasons.len(),
            section.urls.len(),
            reasons.join("\n  ")
        ),
    }
}

fn expectations(section: &ServersSection, dialect: Option<&HfDialect>, model: Option<&Path>) -> Expectations {
    let mut expected = Expectations { model: section.model.clone(), ..Expectations::default() };
    if let Some(dialect) = dialect {
        // Models have more rows than their tokenizers have tokens, and may sample one of them.
        let rows = model.and_then(model_rows).unwrap_or_default();
        expected.vocab_size = Some(dialect.vocab_size().max(rows));
        // A text that cannot be tokenized is told of when a task needs it.
        if let Ok(ids) = dialect.encode_text(PROMPT) {
            expected.prompt_ids = ids;
            expected.prompt = Some(PROMPT.to_owned());
        }
    }
    expected
}

const fn engine_choice(name: EngineName) -> EngineChoice {
    match name {
        EngineName::Auto => EngineChoice::Auto,
        EngineName::Sglang => EngineChoice::Sglang,
        EngineName::Vllm => EngineChoice::Vllm,
    }
}

/// Names of requests that no other process gives, nor this one twice.
fn wire_ids() -> anyhow::Result<WireIds> {
    let start = getrandom::u64().map_err(|error| anyhow!("no randomness for request ids: {error}"))?;
    let sent = AtomicU64::new(start);
    Ok(WireIds::new(move || sent.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)))
}
