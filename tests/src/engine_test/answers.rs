//! What answers hold.

use std::sync::Arc;

use anyhow::{Result, ensure};
use futures_util::future::try_join_all;
use respool_core::{GenerateFinish, Sampling};
use respool_llm::{LlmServer, ServerManager};
use respool_llm_http::{Api, CacheSalt, ErrorKind, HttpServer, HttpSettings, SeedMode, SessionField};

use super::Outcome::{self, Passed, Skipped};
use super::suite::{Suite, same};
use crate::wire::{AbortAt, ask};

/// As many tokens as asked for, each with a log-probability.
pub(super) async fn exact_tokens(suite: &Suite) -> Result<Outcome> {
    let all = suite.whole(24).await?;
    ensure!(all.logprobs.iter().all(|value| value.get().is_some()), "a log-probability is missing");
    ensure!(
        all.logprobs.iter().filter_map(|value| value.get()).all(|value| value <= 1e-3),
        "one is positive"
    );
    if suite.report.labels_tokens {
        let labels = suite.server.weight_label().await;
        let is_number = labels.is_ok_and(|label| label.bytes().all(|byte| byte.is_ascii_digit()));
        ensure!(
            !is_number || all.spans.iter().map(|span| span.len).sum::<u32>() == 24,
            "spans: {:?}",
            all.spans
        );
    }
    Ok(Passed)
}

pub(super) async fn one_token(suite: &Suite) -> Result<Outcome> {
    suite.whole(1).await?;
    Ok(Passed)
}

pub(super) async fn repeats_itself(suite: &Suite) -> Result<Outcome> {
    same(&suite.whole(32).await?, &suite.whole(32).await?)?;
    Ok(Passed)
}

/// The third token of the answer as a stop token: it ends the answer, and is delivered.
pub(super) async fn stops_at_a_stop_token(suite: &Suite) -> Result<Outcome> {
    let all = suite.whole(8).await?;
    let stop = all.tokens[2];
    let mut request = suite.request(8);
    request.stop_token_ids = Arc::from([stop]);
    let stopped = suite.ask(request).await?;
    let end = all.tokens.iter().position(|token| *token == stop).unwrap_or_default();
    ensure!(stopped.finish == Some(GenerateFinish::Stop), "it ended as {:?}", stopped.finish);
    let kept = stopped.tokens.strip_suffix(&[stop]).unwrap_or(&stopped.tokens);
    ensure!(kept == &all.tokens[..end], "{:?} came of {:?}", stopped.tokens, all.tokens);
    Ok(Passed)
}

pub(super) async fn many_at_once(suite: &Suite) -> Result<Outcome> {
    let one = suite.whole(16).await?;
    let many = try_join_all((0..48).map(|_| suite.whole(16))).await?;
    // A batch is computed in another order: where two tokens are as likely, either may come.
    let equal = many.iter().filter(|all| all.tokens == one.tokens).count();
    ensure!(equal >= 24, "only {equal} of 48 answers are the one that came alone");
    Ok(Passed)
}

/// vLLM has three ways of being asked.
pub(super) async fn every_route_agrees(suite: &Suite) -> Result<Outcome> {
    if suite.report.api == Api::SglangGenerate {
        return Ok(Skipped("SGLang has one route"));
    }
    let whole = suite.whole(12).await?;
    for api in [Api::VllmGenerate, Api::VllmCompletions, Api::VllmCompletionsAsIds] {
        let config = respool_llm_http::HttpConfig { api, ..suite.report.config() };
        let server = HttpServer::new(config, HttpSettings::default())?;
        let all = ask(&server, suite.request(12), AbortAt::Never).await;
        ensure!(all.error.is_none(), "{}: {:?}", api.path(), all.error);
        same(&whole, &all)?;
        let cut = ask(&server, suite.request(2000.min(limit(suite))), AbortAt::FirstToken).await;
        ensure!(
            cut.finish == Some(GenerateFinish::Abort),
            "{}: aborted, it ended as {:?}",
            api.path(),
            cut.finish
        );
    }
    Ok(Passed)
}

/// A budget that fits the context together with the prompt.
pub(super) fn limit(suite: &Suite) -> u32 {
    let context = suite.report.context_length.unwrap_or(1024);
    u32::try_from(context).unwrap_or(u32::MAX).saturating_sub(suite.prompt.len() as u32 + 8)
}

/// A prompt that is longer than the context is refused, and that is how the rollout ends.
pub(super) async fn full_context_is_a_finish(suite: &Suite) -> Result<Outcome> {
    let Some(context) = suite.report.context_length.filter(|context| *context < 1 << 18) else {
        return Ok(Skipped("the server does not say how long its context is"));
    };
    let mut request = suite.request(8);
    request.prompt_ids = suite.prompt.iter().copied().cycle().take(context as usize + 100).collect();
    let all = suite.ask(request).await?;
    ensure!(
        all.finish == Some(GenerateFinish::ContextLength),
        "it ended as {:?}, {:?}",
        all.finish,
        all.fault
    );
    suite.whole(2).await?;
    Ok(Passed)
}

pub(super) async fn foreign_tokens_are_not_sent(suite: &Suite) -> Result<Outcome> {
    let Some(vocab_size) = suite.report.vocab_size else {
        return Ok(Skipped("the vocabulary is not known; give --model"));
    };
    let mut request = suite.request(8);
    request.prompt_ids.push(vocab_size);
    let all = ask(&suite.server, request, AbortAt::Never).await;
    let kind = all.error.as_ref().map(respool_llm_http::ClientError::kind);
    ensure!(kind == Some(ErrorKind::TokenOutOfVocabulary), "it was {:?}", all.error);
    Ok(Passed)
}

pub(super) async fn model_is_told(suite: &Suite) -> Result<Outcome> {
    let info = suite.server.model_info().await?;
    ensure!(info.name == suite.report.model, "{info:?} and in the self-test {:?}", suite.report.model);
    Ok(Passed)
}

/// Fields that routers and caches look at, seeds, and all sampling parameters at once.
pub(super) async fn settings_are_taken(suite: &Suite) -> Result<Outcome> {
    let settings = HttpSettings {
        session_header: Some("X-Session-ID".to_owned()),
        session_field: Some(SessionField::SessionId),
        cache_salt: CacheSalt::Version,
        seed: SeedMode::Send,
        ..HttpSettings::default()
    };
    let server = HttpServer::new(suite.report.config(), settings)?;
    let mut request = suite.request(8);
    request.sampling = Arc::new(Sampling {
        temperature: Some(0.7),
        top_p: Some(0.9),
        top_k: Some(40),
        min_p: Some(0.01),
        repetition_penalty: Some(1.1),
        presence_penalty: Some(0.1),
        frequency_penalty: Some(0.1),
        min_new_tokens: Some(4),
        ignore_eos: true,
        ..Sampling::default()
    });
    let all = ask(&server, request, AbortAt::Never).await;
    ensure!(all.error.is_none() && all.tokens.len() == 8, "{} tokens, {:?}", all.tokens.len(), all.error);
    let health = suite.pool.health().await?;
    ensure!(health.running == 0, "{health:?} with nothing running");
    Ok(Passed)
}
