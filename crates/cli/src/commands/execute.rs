//! What `run` and `resume` have in common: run the jobs, show the table, tell how to go on.

use std::{process::ExitCode, sync::Arc};

use anyhow::Context;
use respool_format::FailureRecord;

use crate::{
    commands::FAILED,
    out::Output,
    plan::Plan,
    progress::Progress,
    rollouts::{self, Conditions, Job, Left},
    screen,
    setup::Setup,
    signals,
    stats::Stats,
    summary::{Around, Summary},
    tasks::BadRow,
};

/// Everything that is there when rollouts can start.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) plan: Plan,
    pub(super) setup: Arc<Setup>,
    pub(super) output: Output,
    /// Of the trajectories that are on disk.
    pub(super) summary: Summary,
}

/// The most failures that are shown; all of them are in `failures.jsonl`.
const SHOWN_FAILURES: usize = 5;

pub(super) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start the runtime")
}

/// Runs the jobs and reports.
pub(super) async fn run(ready: Ready, jobs: Vec<Job>) -> anyhow::Result<ExitCode> {
    let Ready { plan, setup, mut output, mut summary } = ready;
    let conditions = Conditions {
        concurrency: plan.concurrency(),
        weight_sync_every: plan.config.run.weight_sync_every,
        weight_sync_mode: plan.config.run.weight_sync_mode.unwrap_or_default().into(),
        version: setup.servers.version(),
        file: plan.tasks.display().to_string(),
        stop: signals::listen()?,
    };
    let before = summary.rollouts() + output.failed.len() as u64;
    let mut progress = Progress::new(before + jobs.len() as u64);
    let mut left =
        rollouts::run(Arc::clone(&setup), jobs, &conditions, &mut output, &mut summary, &mut progress).await;
    if let Err(error) = output.sync() {
        left.error.get_or_insert(error);
    }
    if let Err(fault) = setup.tools.close().await {
        screen::warn(&format!("tool sessions: {fault}"));
    }
    progress.finish();
    let around = Around {
        failed: &output.failed,
        n: plan.n(),
        elapsed: progress.elapsed(),
        tokens: Stats::get(&setup.stats.tokens),
        syncs: Stats::get(&setup.stats.syncs),
    };
    screen::say(summary.table(&around).trim_end());
    Ok(report(&output, left))
}

fn report(output: &Output, left: Left) -> ExitCode {
    let dir = output.dir();
    let Left { interrupted, not_started, error } = left;
    if interrupted + not_started > 0 {
        screen::say(&format!(
            "interrupted: {interrupted} rollouts in {}, {not_started} not started; go on with: respool resume {}",
            dir.snapshots().display(),
            dir.path().display()
        ));
    }
    if !output.failed.is_empty() {
        output.failed.iter().take(SHOWN_FAILURES).for_each(|failure| screen::say(&describe(failure)));
        screen::say(&format!("failures: {}", dir.failures().display()));
    }
    screen::say(&format!("trajectories: {}", dir.trajectories().display()));
    match error {
        Some(error) => {
            screen::error(&error);
            ExitCode::from(FAILED)
        }
        None if interrupted + not_started > 0 => ExitCode::from(signals::INTERRUPTED),
        None if output.failed.is_empty() => ExitCode::SUCCESS,
        None => ExitCode::from(FAILED),
    }
}

/// One line: where it is, which rollout it was, and why.
fn describe(failure: &FailureRecord) -> String {
    let FailureRecord { task_id, sample_index, file, line, field, reason, .. } = failure;
    let mut text = String::from("failed: ");
    if let (Some(file), Some(line)) = (file, line) {
        text.push_str(&format!("{file}:{line}: "));
    }
    match (task_id, sample_index) {
        (Some(task), Some(sample)) => text.push_str(&format!("{task} sample {sample}: ")),
        (Some(task), None) => text.push_str(&format!("{task}: ")),
        (None, _) => {}
    }
    if let Some(field) = field {
        text.push_str(&format!("{field}: "));
    }
    text + reason
}

/// The failure of a row.
pub(super) fn bad_row(plan: &Plan, row: &BadRow) -> FailureRecord {
    let BadRow { task_id, line, field, reason } = row.clone();
    FailureRecord {
        task_id,
        sample_index: None,
        file: Some(plan.tasks.display().to_string()),
        line: Some(line),
        field,
        kind: "task".to_owned(),
        class: "terminal".to_owned(),
        reason,
    }
}
