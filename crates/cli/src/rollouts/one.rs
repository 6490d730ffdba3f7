//! One rollout, from its start or its snapshot to what is written of it.

use std::sync::Arc;

use respool_core::{AgentData, AgentLoopOutput, AgentState, Fault, Trajectory};
use respool_format::{FailureRecord, TrajectoryRecord, encode_parts};
use respool_registry::Work;
use tokio_util::sync::CancellationToken;

use crate::{names::Key, prepare::Prepared, setup::Setup, stats::Stats, summary::Facts};

/// One rollout to run.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) key: Key,
    /// Its task; a snapshot can do without.
    pub(crate) task: Option<Arc<Prepared>>,
    /// Where an earlier process left it.
    pub(crate) snapshot: Option<(Box<AgentData>, AgentState)>,
}

impl Job {
    /// Line of its row.
    pub(super) fn line(&self) -> Option<u64> {
        self.task.as_ref().map(|task| task.line)
    }

    fn into_work(self) -> Option<Work> {
        match self.snapshot {
            Some((data, state)) => Some(Work::Previous(AgentLoopOutput::Cancelled { data, state })),
            None => self.task.map(|task| Work::New(task.spec(self.key.sample))),
        }
    }
}

/// What all rollouts share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) setup: Arc<Setup>,
    /// Everything is to be left where it is.
    pub(super) stop: CancellationToken,
    /// Everything that ran has been left: who still waits, waits in vain.
    pub(super) left: CancellationToken,
}

/// What became of a rollout.
#[derive(Debug)]
pub(super) enum Ending {
    /// It is over; its record as a line.
    Trajectory {
        line: Vec<u8>,
        facts: Box<Facts>,
    },
    Failed(Box<FailureRecord>),
    /// It was left where it was; its snapshot.
    Interrupted(Vec<u8>),
    /// It was never let in.
    NotStarted,
}

/// Runs it until it is over, however often weights are synced; or until everything is left.
pub(super) async fn run(shared: Arc<Shared>, job: Job) -> Ending {
    let solution = job.task.as_ref().and_then(|task| task.solution());
    let Some(work) = job.into_work() else { return Ending::NotStarted };
    let (setup, rollout) = (&shared.setup, work.rollout());
    if let Some(solution) = solution {
        setup.solutions.insert(rollout, solution);
    }
    let ending = run_to_end(&shared, work).await;
    setup.solutions.remove(rollout);
    ending
}

async fn run_to_end(shared: &Shared, mut work: Work) -> Ending {
    let Shared { setup, stop, left } = shared;
    loop {
        let kept = work.clone();
        let output = tokio::select! {
            biased;
            output = setup.worker.run(work) => output,
            () = left.cancelled() => return not_let_in(kept, setup),
        };
        match output {
            Ok(AgentLoopOutput::Completed(trajectory)) => return completed(&trajectory),
            Ok(AgentLoopOutput::Failed { failure, trajectory }) => {
                return Ending::Failed(Box::new(FailureRecord::new(&trajectory.data.spec, &failure)));
            }
            Ok(AgentLoopOutput::Cancelled { data, state }) => {
                Stats::add(&setup.stats.interrupts);
                if stop.is_cancelled() {
                    return interrupted(&data, &state, setup);
                }
                work = Work::Previous(AgentLoopOutput::Cancelled { data, state });
            }
            Err(Fault { class, message }) => return Ending::failed("task", class.name(), message),
        }
    }
}

fn completed(trajectory: &Trajectory) -> Ending {
    let record = TrajectoryRecord::from(trajectory);
    let mut line = Vec::new();
    match record.write_line(&mut line) {
        Ok(()) => Ending::Trajectory { line, facts: Box::new(Facts::from(&record)) },
        Err(error) => {
            Ending::failed("record", "terminal", format!("the trajectory has no JSON form: {error}"))
        }
    }
}

fn interrupted(data: &AgentData, state: &AgentState, setup: &Setup) -> Ending {
    Ending::Interrupted(encode_parts(data, state, &setup.fingerprints))
}

fn not_let_in(work: Work, setup: &Setup) -> Ending {
    match work {
        Work::Previous(AgentLoopOutput::Cancelled { data, state }) => interrupted(&data, &state, setup),
        Work::New(_) | Work::Previous(_) => Ending::NotStarted,
    }
}

impl Ending {
    /// A failure that has no record of its own; whose it is, is added by who knows.
    pub(super) fn failed(kind: &str, class: &str, reason: String) -> Self {
        Self::Failed(Box::new(FailureRecord {
            task_id: None,
            sample_index: None,
            file: None,
            line: None,
            field: None,
            kind: kind.to_owned(),
            class: class.to_owned(),
            reason,
        }))
    }
}
