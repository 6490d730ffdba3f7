//! Ends before the end.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures_util::StreamExt;
use respool_core::GenerateFinish;
use respool_llm::{LlmServer, ServerManager};
use respool_stack::GenerateCall;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::Outcome::{self, Passed, Skipped};
use super::answers::limit;
use super::suite::{PATIENCE, Suite, same};

/// Resume equivalence in small: cut at several places, and continued.
pub(super) async fn abort_keeps_tokens_and_goes_on(suite: &Suite) -> Result<Outcome> {
    const TOKENS: u32 = 64;
    let whole = suite.whole(TOKENS).await?;
    for after in [1, 2, 7, 30] {
        let mut all = suite.ask_and_abort(suite.request(TOKENS), &CancellationToken::new(), after).await?;
        ensure!(all.fault.is_none(), "aborted after {after} tokens: {:?}", all.fault);
        ensure!(all.tokens.len() >= after, "{} of at least {after} tokens were kept", all.tokens.len());
        if all.finish == Some(GenerateFinish::Abort) {
            let rest = suite.ask(suite.rest(&all, TOKENS)).await?;
            all.tokens.extend(rest.tokens);
            all.logprobs.extend(rest.logprobs);
        }
        same(&whole, &all).with_context(|| format!("aborted after {after} tokens"))?;
    }
    Ok(Passed)
}

pub(super) async fn abort_before_the_first_token(suite: &Suite) -> Result<Outcome> {
    let abort = CancellationToken::new();
    abort.cancel();
    let all = suite.ask_and_abort(suite.request(64), &abort, 0).await?;
    ensure!(all.finish == Some(GenerateFinish::Abort), "it ended as {:?}, {:?}", all.finish, all.fault);
    Ok(Passed)
}

/// Dropping a stream closes its connection, and the engine stops.
pub(super) async fn dropped_stream_ends_on_the_server(suite: &Suite) -> Result<Outcome> {
    if suite.server.load().await.is_err() {
        return Ok(Skipped("the server does not say how busy it is"));
    }
    let call = GenerateCall { request: suite.request(limit(suite)), abort: CancellationToken::new() };
    let mut stream = suite.pool.generate().oneshot(call).await?;
    stream.next().await.context("the stream is empty")??;
    drop(stream);
    tokio::time::timeout(PATIENCE, async {
        while suite.server.load().await.is_ok_and(|load| load.running + load.waiting > 0) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await
    .context("the server still runs a request that nobody reads")?;
    Ok(Passed)
}

pub(super) async fn abort_all_ends_what_runs(suite: &Suite) -> Result<Outcome> {
    let running = suite.ask(suite.request(limit(suite)));
    let abort = async {
        wait_until_running(suite).await;
        suite.pool.abort_all().await
    };
    let (all, aborted) = tokio::join!(running, abort);
    aborted?;
    let all = all?;
    ensure!(all.finish == Some(GenerateFinish::Abort), "it ended as {:?}, {:?}", all.finish, all.fault);
    suite.whole(2).await?;
    Ok(Passed)
}

/// Until the pool has a stream open, and a moment more so that tokens come.
pub(super) async fn wait_until_running(suite: &Suite) {
    while suite.pool.health().await.is_ok_and(|health| health.running == 0) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
}
