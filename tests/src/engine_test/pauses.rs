//! Weight syncs.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use respool_core::{GenerateFinish, PolicyVersion};
use respool_llm::{LlmServer, ServerManager, WeightSync};
use tokio_util::sync::CancellationToken;

use super::Outcome::{self, Passed, Skipped};
use super::aborts::wait_until_running;
use super::answers::limit;
use super::suite::{PATIENCE, Suite, same};
use crate::wire::Collected;

const NO_LABEL: &str = "the server takes no label of its weights";

/// A new label aborts nothing, and is the version of later tokens.
pub(super) async fn label_does_not_abort(suite: &Suite) -> Result<Outcome> {
    if !suite.server.controls().set_version {
        return Ok(Skipped(NO_LABEL));
    }
    let next = PolicyVersion(suite.pool.version().0 + 1);
    let labelled = async {
        wait_until_running(suite).await;
        suite.pool.set_version(next).await
    };
    let (all, set) = tokio::join!(suite.whole(200.min(limit(suite))), labelled);
    set?;
    all.context("while the label changed")?;
    let after = suite.whole(4).await?;
    ensure!(suite.server.weight_label().await? == next.to_string(), "the label was not taken");
    ensure!(last_version(&after) == Some(next), "{:?} is not version {next}", after.spans);
    Ok(Passed)
}

fn last_version(all: &Collected) -> Option<PolicyVersion> {
    all.spans.last().map(|span| span.version).or_else(|| all.versions.last().copied())
}

/// What runs ends and goes on afterwards; what comes meanwhile waits.
pub(super) async fn pause_abort(suite: &Suite) -> Result<Outcome> {
    let tokens = 300.min(limit(suite));
    let whole = suite.whole(tokens).await?;
    let (mut cut, late) = paused(suite, WeightSync::Abort, tokens).await?;
    ensure!(cut.fault.is_none(), "{:?}", cut.fault);
    if cut.finish == Some(GenerateFinish::Abort) {
        let rest = suite.ask(suite.rest(&cut, tokens)).await?;
        cut.tokens.extend(rest.tokens);
        cut.logprobs.extend(rest.logprobs);
    }
    same(&whole, &cut)?;
    same(
        &Collected { tokens: whole.tokens[..4].to_vec(), logprobs: whole.logprobs[..4].to_vec(), ..whole },
        &late,
    )?;
    Ok(Passed)
}

/// What runs is held, and goes on with the new weights.
pub(super) async fn pause_keep(suite: &Suite) -> Result<Outcome> {
    if !suite.server.controls().pause_keep {
        return Ok(Skipped("the server cannot hold what runs"));
    }
    let tokens = 300.min(limit(suite));
    let whole = suite.whole(tokens).await?;
    let before = suite.pool.version();
    let (held, _) = paused(suite, WeightSync::Keep, tokens).await?;
    ensure!(held.finish == Some(GenerateFinish::Length), "it ended as {:?}, {:?}", held.finish, held.fault);
    same(&whole, &held)?;
    if suite.server.controls().set_version && suite.report.labels_tokens {
        ensure!(last_version(&held) == Some(PolicyVersion(before.0 + 1)), "spans: {:?}", held.spans);
    }
    Ok(Passed)
}

pub(super) async fn pause_drain(suite: &Suite) -> Result<Outcome> {
    let tokens = 60.min(limit(suite));
    let whole = suite.whole(tokens).await?;
    let (drained, _) = paused(suite, WeightSync::Drain, tokens).await?;
    same(&whole, &drained)?;
    Ok(Passed)
}

/// A generation that runs into a pause, and one that is asked for during it.
async fn paused(suite: &Suite, mode: WeightSync, tokens: u32) -> Result<(Collected, Collected)> {
    let next = PolicyVersion(suite.pool.version().0 + 1);
    let conduct = async {
        wait_until_running(suite).await;
        suite.pool.pause(mode).await.context("pause")?;
        let late = suite.ask(suite.request(4));
        let go_on = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            if suite.server.controls().set_version {
                suite.pool.set_version(next).await.context("set_version")?;
            }
            suite.pool.continue_generation().await.context("continue")
        };
        let (late, continued) = tokio::join!(late, go_on);
        continued?;
        late
    };
    let both = async { tokio::join!(suite.ask(suite.request(tokens)), conduct) };
    let (running, late) = tokio::time::timeout(PATIENCE, both).await.context("the pause did not end")?;
    Ok((running?, late?))
}

pub(super) async fn waiting_can_be_aborted(suite: &Suite) -> Result<Outcome> {
    suite.pool.pause(WeightSync::Abort).await.context("pause")?;
    let abort = CancellationToken::new();
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        abort.cancel();
    };
    let (all, ()) = tokio::join!(suite.ask_and_abort(suite.request(4), &abort, usize::MAX), cancel);
    suite.pool.continue_generation().await.context("continue")?;
    let all = all?;
    ensure!(all.finish == Some(GenerateFinish::Abort), "it ended as {:?}, {:?}", all.finish, all.fault);
    Ok(Passed)
}

pub(super) async fn cache_is_flushed(suite: &Suite) -> Result<Outcome> {
    if !suite.server.controls().flush_cache {
        return Ok(Skipped("the server has no such route"));
    }
    suite.server.flush_cache().await?;
    suite.whole(2).await?;
    Ok(Passed)
}
