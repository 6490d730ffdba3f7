//! `respool resume`.

use std::{collections::HashMap, fs, path::Path, process::ExitCode, sync::Arc};

use anyhow::{Context, bail};
use respool_core::PolicyVersion;
use respool_format::Snapshot;

use super::execute::{self, Ready, bad_row, runtime};
use crate::{
    args::ResumeArgs,
    fingerprint::FingerprintTexts,
    names::Key,
    out::{Output, RunDir, RunFile},
    plan::Plan,
    prepare::{Prepared, prepare},
    rollouts::Job,
    screen,
    setup::Setup,
    tasks::TaskFile,
};

mod before;

use self::before::Before;

pub(super) fn command(args: &ResumeArgs) -> anyhow::Result<ExitCode> {
    let dir = RunDir::new(&args.dir);
    let run = dir.read()?;
    let mut plan = run.plan.clone();
    if let Some(tasks) = &args.tasks {
        plan.tasks.clone_from(tasks);
    }
    plan.config.servers.set(&args.servers);
    plan.set_pace(&args.pace);
    let mut output = Output::open(dir.clone(), &mut |repaired| screen::warn(&repaired))?;
    let mut before = Before::read(&dir)?;
    output.failed = std::mem::take(&mut before.failed);
    let mut snapshots = snapshots(&dir.snapshots())?;
    let version = version(&before, &snapshots);

    let mut file = TaskFile::read(&plan.tasks, plan.limit)?;
    let runtime = runtime()?;
    let setup = runtime.block_on(Setup::build(&plan, version))?;
    check(&run, &file, &setup, &snapshots, args.force)?;
    let tasks = prepare(&mut file, &plan, &setup)?;
    screen::say(&format!(
        "resuming {}: {} trajectories on disk, {} snapshots",
        args.dir.display(),
        before.summary.rollouts(),
        snapshots.len()
    ));
    // A run that was killed early may not have come to write them.
    for row in file.bad.iter().filter(|row| !before.bad_lines.contains(&row.line)) {
        output.failure(bad_row(&plan, row))?;
    }
    let jobs = jobs(&dir, &tasks, &plan, &before, &mut snapshots)?;
    let ready = Ready { plan, setup: Arc::new(setup), output, summary: before.summary };
    runtime.block_on(execute::run(ready, jobs))
}

/// What was interrupted, first; then what was never started, or not to its end.
fn jobs(
    dir: &RunDir,
    tasks: &[Arc<Prepared>],
    plan: &Plan,
    before: &Before,
    snapshots: &mut HashMap<Key, Snapshot>,
) -> anyhow::Result<Vec<Job>> {
    // Killed between a trajectory and its snapshot's removal.
    for key in snapshots.keys().filter(|key| before.ended.contains(key)) {
        dir.remove_snapshot(key)?;
    }
    snapshots.retain(|key, _| !before.ended.contains(key));
    let (mut interrupted, mut rest) = (Vec::new(), Vec::new());
    for mut job in super::run::jobs(tasks, plan.n()).filter(|job| !before.ended.contains(&job.key)) {
        match snapshots.remove(&job.key) {
            Some(Snapshot { data, state, fingerprints: _ }) => {
                job.snapshot = Some((Box::new(data), state));
                interrupted.push(job);
            }
            None => rest.push(job),
        }
    }
    // Forced on another task file: a snapshot holds all that it needs.
    let orphans = snapshots.drain();
    interrupted.extend(orphans.map(|(key, Snapshot { data, state, fingerprints: _ })| Job {
        key,
        task: None,
        snapshot: Some((Box::new(data), state)),
    }));
    interrupted.append(&mut rest);
    Ok(interrupted)
}

/// All snapshots that can be read; one that cannot is told of, and its rollout starts anew.
fn snapshots(folder: &Path) -> anyhow::Result<HashMap<Key, Snapshot>> {
    let mut found = HashMap::new();
    if !folder.exists() {
        return Ok(found);
    }
    let cannot_read = || format!("cannot read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(cannot_read)? {
        let path = entry.with_context(cannot_read)?.path();
        if path.extension().is_none_or(|extension| extension != "snap") {
            continue;
        }
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        match respool_format::decode(&bytes) {
            Ok(snapshot) => {
                let spec = &snapshot.data.spec;
                found.insert(Key { task_id: spec.task_id.clone(), sample: spec.sample_index }, snapshot);
            }
            Err(error) => screen::warn(&format!("{}: {error}; its rollout starts anew", path.display())),
        }
    }
    Ok(found)
}

/// The newest policy that sampled anything: a resumed run does not go back.
fn version(before: &Before, snapshots: &HashMap<Key, Snapshot>) -> PolicyVersion {
    let sampled = snapshots.values().filter_map(|snapshot| snapshot.data.transcript.version_end());
    PolicyVersion(sampled.map(|version| version.0).chain([before.version]).max().unwrap_or_default())
}

/// Refuses to mix two runs.
fn check(
    run: &RunFile,
    file: &TaskFile,
    setup: &Setup,
    snapshots: &HashMap<Key, Snapshot>,
    force: bool,
) -> anyhow::Result<()> {
    let mut differing = run.fingerprints.differing(&FingerprintTexts::from(&setup.fingerprints));
    if run.tasks_sha256 != file.sha256 {
        differing.push("task file");
    }
    if snapshots.values().any(|snapshot| snapshot.fingerprints != setup.fingerprints) && differing.is_empty()
    {
        differing.push("snapshots");
    }
    if differing.is_empty() {
        return Ok(());
    }
    let what = format!(
        "not the run's own: {} (task file {}, respool {}; the run began with respool {})",
        differing.join(", "),
        file.path.display(),
        env!("CARGO_PKG_VERSION"),
        run.respool_version
    );
    if !force {
        bail!("{what}; rollouts could come out differently, --force goes on all the same");
    }
    screen::warn(&format!("{what}; going on, as --force says"));
    Ok(())
}
