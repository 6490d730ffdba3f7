//! Runs the rollouts of a run: starts them, syncs weights, writes what they become.

use std::{collections::HashMap, pin::pin, sync::Arc, time::Duration};

use respool_core::PolicyVersion;
use respool_format::FailureRecord;
use respool_llm::WeightSync;
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

mod conduct;
mod one;

pub(crate) use self::one::Job;
use self::one::{Ending, Shared};
use crate::{
    names::Key,
    out::Output,
    progress::{Progress, State},
    setup::Setup,
    summary::Summary,
};

/// How the rollouts are run.
#[derive(Debug)]
pub(crate) struct Conditions {
    /// Rollouts at a time.
    pub(crate) concurrency: usize,
    pub(crate) weight_sync_every: Option<Duration>,
    pub(crate) weight_sync_mode: WeightSync,
    /// The policy version at the start.
    pub(crate) version: PolicyVersion,
    /// Name of the task file, for failures.
    pub(crate) file: String,
    /// Cancelled when everything is to be left where it is.
    pub(crate) stop: CancellationToken,
}

/// What became of them.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// Rollouts with a snapshot.
    pub(crate) interrupted: usize,
    /// Rollouts that were never started.
    pub(crate) not_started: usize,
    /// What kept the run from going on.
    pub(crate) error: Option<anyhow::Error>,
}

/// Runs all jobs, each until it is over; or until `stop`, and then leaves them where they are.
pub(crate) async fn run(
    setup: Arc<Setup>,
    jobs: Vec<Job>,
    conditions: &Conditions,
    output: &mut Output,
    summary: &mut Summary,
    progress: &mut Progress,
) -> Left {
    let left = CancellationToken::new();
    let shared = Arc::new(Shared { setup, stop: conditions.stop.clone(), left: left.clone() });
    let mut running = Running { tasks: JoinSet::new(), jobs: HashMap::new() };
    let mut waiting = jobs.into_iter();
    let mut sink = Sink { output, summary, left: Left::default(), file: &conditions.file };
    // Whoever syncs weights is told of the end too: no server may stay paused.
    let over = conditions.stop.child_token();
    let mut conductor = pin!(conduct::conduct(&shared.setup, conditions, &over));
    let mut conducts = true;
    let mut ticks = progress.ticks();
    loop {
        while !conditions.stop.is_cancelled() && running.tasks.len() < conditions.concurrency {
            let Some(job) = waiting.next() else { break };
            running.start(&shared, job);
        }
        if running.tasks.is_empty() {
            break;
        }
        tokio::select! {
            Some(joined) = running.tasks.join_next_with_id() => {
                let (started, ending) = running.ended(joined);
                if let Err(error) = sink.settle(&started, ending) {
                    sink.left.error.get_or_insert(error);
                    conditions.stop.cancel();
                }
            }
            result = &mut conductor, if conducts => {
                conducts = false;
                if let Err(error) = result {
                    sink.left.error.get_or_insert(error);
                    conditions.stop.cancel();
                }
                left.cancel();
            }
            _ = ticks.tick() => progress.show(&State::of(&shared.setup, sink.done(), running.tasks.len())),
        }
    }
    over.cancel();
    if conducts && let Err(error) = conductor.await {
        sink.left.error.get_or_insert(error);
    }
    progress.show(&State::of(&shared.setup, sink.done(), 0));
    sink.left.not_started += waiting.len();
    sink.left
}

/// What has to be known of a job after it was given away.
#[derive(Clone, Debug)]
struct Started {
    key: Key,
    line: Option<u64>,
    had_snapshot: bool,
}

struct Running {
    tasks: JoinSet<Ending>,
    jobs: HashMap<Id, Started>,
}

impl Running {
    fn start(&mut self, shared: &Arc<Shared>, job: Job) {
        let started =
            Started { key: job.key.clone(), line: job.line(), had_snapshot: job.snapshot.is_some() };
        let handle = self.tasks.spawn(one::run(Arc::clone(shared), job));
        self.jobs.insert(handle.id(), started);
    }

    /// A task that ended by a panic is a failed rollout and costs no other anything.
    fn ended(&mut self, joined: Result<(Id, Ending), JoinError>) -> (Option<Started>, Ending) {
        match joined {
            Ok((id, ending)) => (self.jobs.remove(&id), ending),
            Err(error) => {
                let started = self.jobs.remove(&error.id());
                (
                    started,
                    Ending::failed(
                        "task",
                        "terminal",
                        format!("the rollout's task ended by itself: {error}"),
                    ),
                )
            }
        }
    }
}

struct Sink<'a> {
    output: &'a mut Output,
    summary: &'a mut Summary,
    left: Left,
    file: &'a str,
}

impl Sink<'_> {
    fn done(&self) -> u64 {
        self.summary.rollouts() + self.output.failed.len() as u64
    }

    fn settle(&mut self, started: &Option<Started>, ending: Ending) -> anyhow::Result<()> {
        let Some(Started { key, line, had_snapshot }) = started else { return Ok(()) };
        match ending {
            Ending::Trajectory { line, facts } => {
                self.output.trajectory(key, &line, *had_snapshot)?;
                self.summary.add(&facts);
            }
            Ending::Failed(record) => {
                let (file, task) = (Some(self.file.to_owned()), Some(key.task_id.clone()));
                let sample_index = Some(key.sample);
                let record = FailureRecord { file, line: *line, task_id: task, sample_index, ..*record };
                self.output.failed_rollout(key, record)?;
            }
            Ending::Interrupted(snapshot) => {
                self.left.interrupted += 1;
                self.output.dir().write_snapshot(key, &snapshot)?;
            }
            // An older snapshot stays what it is.
            Ending::NotStarted if *had_snapshot => self.left.interrupted += 1,
            Ending::NotStarted => self.left.not_started += 1,
        }
        Ok(())
    }
}
