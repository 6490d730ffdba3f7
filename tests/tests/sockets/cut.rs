//! One rollout from its start to its end, however often it is cut.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use respool_core::{AgentData, AgentLoopOutput, Dialect, Event, Fault, RolloutId, RolloutSpec, Trajectory};
use respool_driver::{Checkpoint, CheckpointFuture, Control, RolloutRequest, RolloutService, Start};
use respool_engine::Engine;
use respool_format::{Fingerprints, decode, encode_parts};
use respool_llm_mock::Draw;
use respool_registry::{AgentLoopWorker, Work};
use tokio::sync::Notify;
use tower::ServiceExt as _;

/// What each rollout recorded since its request began, and the event at which it is cut.
#[derive(Debug, Default)]
pub(crate) struct Journals(Mutex<HashMap<RolloutId, Journal>>);

#[derive(Debug, Default)]
struct Journal {
    due: usize,
    reached: Arc<Notify>,
    events: Vec<(Event, bool)>,
}

impl Journals {
    fn begin(&self, rollout: RolloutId, due: usize) -> Arc<Notify> {
        let reached = Arc::new(Notify::new());
        let journal = Journal { due, reached: Arc::clone(&reached), events: Vec::new() };
        self.0.lock().unwrap().insert(rollout, journal);
        reached
    }

    /// The rollouts that are not over, each with what it recorded last.
    pub(crate) fn open(&self) -> String {
        let journals = self.0.lock().unwrap();
        let last = |journal: &Journal| {
            journal.events.iter().rev().take(4).map(|(event, _)| format!("{event:?}")).collect()
        };
        let shown = journals.iter().map(|(rollout, journal)| {
            let last: Vec<String> = last(journal);
            format!("{rollout}: {} events, due {}, last {last:?}\n", journal.events.len(), journal.due)
        });
        shown.collect()
    }

    /// The rollout is over.
    fn end(&self, rollout: RolloutId) {
        self.0.lock().unwrap().remove(&rollout);
    }

    /// All events, and how many of them a crash has left that loses the last `lost`.
    fn take(&self, rollout: RolloutId, lost: usize) -> (Vec<Event>, usize) {
        let events = self.0.lock().unwrap().remove(&rollout).unwrap_or_default().events;
        let durable = events.iter().rposition(|(_, durable)| *durable).map_or(0, |at| at + 1);
        let left = events.len().saturating_sub(lost).max(durable);
        (events.into_iter().map(|(event, _)| event).collect(), left)
    }
}

impl Checkpoint for Journals {
    fn append<'a>(
        &'a self,
        rollout: RolloutId,
        _: u64,
        event: &'a Event,
        durable: bool,
    ) -> CheckpointFuture<'a> {
        Box::pin(async move {
            let is_due = self.0.lock().unwrap().get_mut(&rollout).is_some_and(|journal| {
                journal.events.push((event.clone(), durable));
                let is_due = journal.events.len() == journal.due;
                if is_due {
                    journal.reached.notify_one();
                }
                is_due
            });
            if is_due {
                tokio::task::yield_now().await;
            }
            Ok(())
        })
    }
}

/// One cut of a rollout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// After so many recorded events of the request, from 1.
    at: usize,
    /// How many of the last events a crash loses; `None` is an interrupt.
    crash: Option<usize>,
    through_bytes: bool,
}

impl Cut {
    /// Up to three cuts, with crashes where they may be.
    pub(crate) fn some(draw: &mut Draw, crashes: bool) -> Vec<Self> {
        let cut = |draw: &mut Draw| Self {
            at: 1 + draw.below(25),
            crash: (draw.below(2) == 0 && crashes).then(|| draw.below(4)),
            through_bytes: draw.below(2) == 0,
        };
        (0..draw.below(4)).map(|_| cut(draw)).collect()
    }
}

/// What happened to a rollout, and what came of it.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) trajectory: Trajectory,
    pub(crate) interrupts: usize,
    pub(crate) crashes: usize,
    /// Kept tokens that crashes lost, less those that they brought back.
    pub(crate) lost: i64,
}

/// The ways to run a rollout.
pub(crate) struct Runner {
    pub(crate) worker: AgentLoopWorker,
    /// Past the worker: not interrupted by it.
    pub(crate) direct: RolloutService,
    pub(crate) journals: Arc<Journals>,
    pub(crate) dialect: Arc<dyn Dialect>,
}

impl Runner {
    /// Runs it through all its cuts.
    pub(crate) async fn run(&self, spec: Arc<RolloutSpec>, cuts: Vec<Cut>) -> Result<Told, String> {
        let rollout = spec.id;
        let mut start = Start::New(spec);
        let (mut interrupts, mut crashes, mut lost) = (0, 0, 0);
        let mut cuts = cuts.into_iter();
        loop {
            let cut = cuts.next();
            let cut_at = cut.map_or(usize::MAX, |cut| cut.at);
            let reached = self.journals.begin(rollout, cut_at);
            let control = Control::new();
            let interrupts_here = cut.is_some_and(|cut| cut.crash.is_none());
            let mut running = Box::pin(self.start(start.clone(), interrupts_here.then_some(&control)));
            let output = tokio::select! {
                biased;
                output = &mut running => Some(output),
                () = reached.notified() => None,
            };
            let output = match (output, cut.and_then(|cut| cut.crash)) {
                (Some(output), _) => output,
                (None, None) => {
                    control.interrupt();
                    running.await
                }
                (None, Some(lost_events)) => {
                    drop(running);
                    crashes += 1;
                    let (events, left) = self.journals.take(rollout, lost_events);
                    let whole = self.recover(start.clone(), &events)?;
                    start = self.recover(start, &events[..left])?;
                    lost += sampled(&whole) - sampled(&start);
                    continue;
                }
            };
            match output.map_err(|fault| fault.to_string())? {
                AgentLoopOutput::Completed(trajectory) => {
                    self.journals.end(rollout);
                    return Ok(Told { trajectory: *trajectory, interrupts, crashes, lost });
                }
                AgentLoopOutput::Failed { failure, .. } => return Err(format!("it failed: {failure:?}")),
                AgentLoopOutput::Cancelled { data, state } => {
                    interrupts += 1;
                    start = Start::Resume { data, state };
                    if cut.is_some_and(|cut| cut.through_bytes) {
                        start = through_bytes(start)?;
                    }
                }
            }
        }
    }

    async fn start(&self, start: Start, control: Option<&Control>) -> Result<AgentLoopOutput, Fault> {
        let Some(control) = control else {
            return self.worker.run(work(start)).await;
        };
        let mut request = RolloutRequest::new(start, control.clone());
        request.checkpoint = Some(Arc::<Journals>::clone(&self.journals));
        self.direct.clone().oneshot(request).await
    }

    /// What a crash has left: where the request started, and what it recorded since.
    fn recover(&self, start: Start, events: &[Event]) -> Result<Start, String> {
        let mut engine = match start {
            Start::New(spec) => Engine::new(spec, Arc::clone(&self.dialect)),
            Start::Resume { data, state } => Engine::from_parts(*data, state, Arc::clone(&self.dialect))
                .map_err(|invalid| invalid.to_string())?,
        };
        for event in events {
            engine.step(event.clone()).map_err(|rejected| format!("a recorded event: {rejected}"))?;
        }
        let (data, state) = engine.into_parts();
        Ok(Start::Resume { data: Box::new(data), state })
    }
}

fn work(start: Start) -> Work {
    match start {
        Start::New(spec) => Work::New(spec),
        Start::Resume { data, state } => Work::Previous(AgentLoopOutput::from_parts(*data, state)),
    }
}

fn sampled(start: &Start) -> i64 {
    match start {
        Start::New(_) => 0,
        Start::Resume { data, .. } => sampled_tokens(data) as i64,
    }
}

/// Tokens of the policy in a record.
pub(crate) fn sampled_tokens(data: &AgentData) -> u64 {
    data.transcript.response_mask().into_iter().map(u64::from).sum()
}

fn through_bytes(start: Start) -> Result<Start, String> {
    let Start::Resume { data, state } = start else { return Ok(start) };
    let bytes = encode_parts(&data, &state, &Fingerprints::default());
    let read = decode(&bytes).map_err(|error| error.to_string())?;
    Ok(Start::Resume { data: Box::new(read.data), state: read.state })
}
