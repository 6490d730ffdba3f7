//! A server under test, and ways of asking it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use respool_core::{GenerateFinish, GenerateRequest, PolicyVersion, Sampling, Token};
use respool_dialect::{Clock, DialectOptions, HfDialect, model_rows};
use respool_llm::{Pool, PoolSettings, ServerManager};
use respool_llm_http::{EngineChoice, Expectations, HttpServer, HttpSettings, Report, connect};
use tokio_util::sync::CancellationToken;

use crate::wire::{Collected, collect, request, wire_ids};

/// What is asked.
const TEXT: &str = "The capital of France is";
/// How far log-probabilities of one token may be from each other.
const LOGPROBS_WITHIN: f32 = 1e-4;
/// How long anything may take: an engine on a CPU is slow, one that hangs is told of.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// A server under test.
pub(super) struct Suite {
    pub(super) report: Report,
    pub(super) server: HttpServer,
    pub(super) pool: Pool,
    pub(super) prompt: Vec<Token>,
}

impl Suite {
    /// Tests whether the server is fit, and makes a pool of it.
    ///
    /// # Errors
    /// If it is not.
    pub(super) async fn connect(url: &str, model: Option<PathBuf>) -> Result<Self> {
        let expected = match model {
            Some(folder) => of_model(&folder)?,
            None => Expectations { prompt_ids: prompt_of(&embedded()?)?, ..Expectations::default() },
        };
        let (server, report) = connect(url, EngineChoice::Auto, &expected, HttpSettings::default()).await?;
        let pool = Pool::new(PoolSettings::default(), wire_ids(), 0, PolicyVersion(0));
        pool.add(Arc::new(server.clone()))?;
        Ok(Self { report, server, pool, prompt: expected.prompt_ids })
    }

    /// A greedy request that nothing but its budget ends.
    pub(super) fn request(&self, max_tokens: u32) -> GenerateRequest {
        let sampling = Sampling { temperature: Some(0.0), ignore_eos: true, ..Sampling::default() };
        GenerateRequest { sampling: Arc::new(sampling), ..request(self.prompt.clone(), max_tokens) }
    }

    /// What the pool gives for it.
    pub(super) async fn ask(&self, request: GenerateRequest) -> Result<Collected> {
        self.ask_and_abort(request, &CancellationToken::new(), usize::MAX).await
    }

    /// The same, aborted after so many tokens.
    pub(super) async fn ask_and_abort(
        &self,
        request: GenerateRequest,
        abort: &CancellationToken,
        after: usize,
    ) -> Result<Collected> {
        let service = self.pool.generate();
        let all = collect(&service, request, abort, after);
        tokio::time::timeout(PATIENCE, all).await.context("it did not end")
    }

    /// A request's whole answer: budget used up, no fault.
    pub(super) async fn whole(&self, max_tokens: u32) -> Result<Collected> {
        let all = self.ask(self.request(max_tokens)).await?;
        ensure!(all.fault.is_none(), "it broke: {:?}", all.fault);
        ensure!(all.finish == Some(GenerateFinish::Length), "it ended as {:?}", all.finish);
        ensure!(all.tokens.len() == max_tokens as usize, "{} tokens came of {max_tokens}", all.tokens.len());
        Ok(all)
    }

    /// The request for the rest of an answer.
    pub(super) fn rest(&self, before: &Collected, max_tokens: u32) -> GenerateRequest {
        let mut request = self.request(max_tokens);
        let sampled = before.tokens.len() as u32;
        request.prompt_ids.extend(&before.tokens);
        request.turn_tokens = sampled;
        request.max_tokens = max_tokens.saturating_sub(sampled);
        request.effect.attempt = 1;
        request
    }

    /// Ends every pause.
    pub(super) async fn go_on(&self) {
        // A server that cannot be paused cannot be continued either.
        let _continued = self.pool.continue_generation().await;
    }
}

/// What a model folder makes of the text.
fn of_model(folder: &Path) -> Result<Expectations> {
    let dialect = HfDialect::load(folder, DialectOptions::new(Clock::from_unix_seconds(0)))
        .with_context(|| folder.display().to_string())?;
    let rows = model_rows(folder).unwrap_or_default();
    Ok(Expectations {
        vocab_size: Some(dialect.vocab_size().max(rows)),
        prompt_ids: prompt_of(&dialect)?,
        ..Expectations::default()
    })
}

/// The dialect whose ids are asked where no model folder is given: any model has them, and the mock
/// server without a model folder speaks it.
pub(super) fn embedded() -> Result<HfDialect> {
    Ok(HfDialect::embedded(DialectOptions::new(Clock::from_unix_seconds(0)))?)
}

/// A text and the beginning of an answer, so that a policy that looks for that finds it.
pub(super) fn prompt_of(dialect: &HfDialect) -> Result<Vec<Token>> {
    let mut prompt = dialect.encode_text(TEXT)?;
    prompt.extend(dialect.generation_prompt()?);
    Ok(prompt)
}

/// Whether two answers are the same.
///
/// # Errors
/// The first token at which they are not.
pub(super) fn same(a: &Collected, b: &Collected) -> Result<()> {
    let at = a.tokens.iter().zip(&b.tokens).take_while(|(a, b)| a == b).count();
    ensure!(a.tokens == b.tokens, "tokens differ at {at}: {:?} and {:?}", a.tokens.get(at), b.tokens.get(at));
    for (at, (a, b)) in a.logprobs.iter().zip(&b.logprobs).enumerate() {
        let close = match (a.get(), b.get()) {
            (Some(a), Some(b)) => (a - b).abs() <= LOGPROBS_WITHIN,
            (a, b) => a == b,
        };
        ensure!(close, "log-probabilities differ at {at}: {a:?} and {b:?}");
    }
    Ok(())
}
