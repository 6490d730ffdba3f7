//! Flags and configuration, resolved: what is to be done, with every default filled in.

use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::{
    args::{PaceArgs, RunArgs},
    config::{Config, Source},
};

/// A run, whole: `run.json` holds it, so that a resume needs nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The task file, absolute.
    pub(crate) tasks: PathBuf,
    /// How many of its rows are used.
    pub(crate) limit: Option<u64>,
    /// Seconds since 1970; the date that chat templates see.
    pub(crate) started: i64,
    /// The configuration with the flags in it.
    pub(crate) config: Config,
}

impl Plan {
    /// The plan of `respool run`.
    pub(crate) fn resolve(args: &RunArgs) -> anyhow::Result<(Self, Source)> {
        let folder = args.tasks.parent().unwrap_or_else(|| Path::new(""));
        let (mut config, source) = Config::find(args.config.as_deref(), folder)?;
        let RunArgs { tasks, out: _, config: _, n, model, policy, servers, limit, seed, pace } = args;
        let run = &mut config.run;
        run.n = n.and_then(NonZeroU32::new).or(run.n).or(Some(NonZeroU32::MIN));
        run.seed = seed.or(run.seed).or(Some(0));
        config.model.path = model.clone().or(config.model.path);
        if let Some(model) = &config.model.path {
            config.model.path = Some(absolute(model)?);
        }
        config.policy.kind = policy.unwrap_or(config.policy.kind);
        config.servers.set(servers);
        let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let started = i64::try_from(started.as_secs()).unwrap_or_default();
        let mut plan = Self { tasks: absolute(tasks)?, limit: *limit, started, config };
        plan.set_pace(pace);
        Ok((plan, source))
    }

    /// Changes how fast it runs, where the flags say something.
    pub(crate) fn set_pace(&mut self, pace: &PaceArgs) {
        let PaceArgs { concurrency, token_latency, weight_sync_every, weight_sync_mode } = pace;
        let (run, policy) = (&mut self.config.run, &mut self.config.policy);
        run.concurrency = concurrency.and_then(NonZeroU32::new).or(run.concurrency).or(NonZeroU32::new(64));
        run.weight_sync_every = weight_sync_every.or(run.weight_sync_every);
        run.weight_sync_mode = weight_sync_mode.or(run.weight_sync_mode);
        policy.token_latency = token_latency.or(policy.token_latency).or(Some(Duration::from_millis(5)));
    }

    /// Rollouts of each task.
    pub(crate) fn n(&self) -> u32 {
        self.config.run.n.map_or(1, NonZeroU32::get)
    }

    /// Rollouts at a time.
    pub(crate) fn concurrency(&self) -> usize {
        self.config.run.concurrency.map_or(64, NonZeroU32::get) as usize
    }

    /// Seed of the run.
    pub(crate) fn seed(&self) -> u64 {
        self.config.run.seed.unwrap_or_default()
    }
}

/// The configuration's first line of output.
pub(crate) fn describe(source: &Source) -> String {
    match source {
        Source::Given(path) => format!("configuration: {}", path.display()),
        Source::Beside(path) => format!("configuration: {} (beside the task file)", path.display()),
        Source::Defaults => "configuration: defaults (no respool.toml beside the task file)".to_owned(),
    }
}

fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot tell where {} is", path.display()))
}
