//! `respool run`.

use std::{process::ExitCode, sync::Arc};

use respool_core::PolicyVersion;

use super::execute::{self, Ready, bad_row, runtime};
use crate::{
    args::RunArgs,
    names::Key,
    out::{RunDir, RunFile},
    plan::{self, Plan},
    prepare::{Prepared, prepare},
    rollouts::Job,
    screen,
    setup::Setup,
    summary::Summary,
    tasks::TaskFile,
};

const MOST_ROLLOUTS: u64 = 10_000_000;

pub(super) fn command(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let (plan, source) = Plan::resolve(args)?;
    screen::say(&plan::describe(&source));
    let dir = RunDir::new(&args.out);
    dir.check_new()?;
    let mut file = TaskFile::read(&plan.tasks, plan.limit)?;
    let version = PolicyVersion(0);
    let runtime = runtime()?;
    let setup = runtime.block_on(Setup::build(&plan, version))?;
    let tasks = prepare(&mut file, &plan, &setup)?;
    if tasks.is_empty() && file.bad.is_empty() {
        anyhow::bail!("{} has no rows", args.tasks.display());
    }
    check_count(&tasks, plan.n())?;
    let run_file = RunFile {
        respool_version: env!("CARGO_PKG_VERSION").to_owned(),
        tasks_sha256: file.sha256.clone(),
        fingerprints: (&setup.fingerprints).into(),
        arguments: std::env::args().collect(),
        plan: plan.clone(),
    };
    let mut output = dir.create(&run_file, &mut |repaired| screen::warn(&repaired))?;
    setup.warnings().into_iter().chain(file.ignored.warnings()).for_each(|line| screen::warn(&line));
    for row in &file.bad {
        output.failure(bad_row(&plan, row))?;
    }
    let jobs = jobs(&tasks, plan.n()).collect();
    let ready = Ready { plan, setup: Arc::new(setup), output, summary: Summary::default() };
    runtime.block_on(execute::run(ready, jobs))
}

/// Refuses what no memory holds.
fn check_count(tasks: &[Arc<Prepared>], n: u32) -> anyhow::Result<()> {
    let count = tasks.len() as u64 * u64::from(n);
    if count > MOST_ROLLOUTS {
        anyhow::bail!(
            "{} tasks with n = {n} are {count} rollouts, expected at most {MOST_ROLLOUTS} in one run",
            tasks.len()
        );
    }
    Ok(())
}

/// All samples of a task one after the other: its group is complete early.
pub(super) fn jobs(tasks: &[Arc<Prepared>], n: u32) -> impl Iterator<Item = Job> {
    tasks.iter().flat_map(move |task| {
        (0..n).map(move |sample| Job {
            key: Key { ..task.key(sample) },
            task: Some(Arc::clone(task)),
            snapshot: None,
        })
    })
}
