//! Resume equivalence of a whole loop, as a service.

use std::{cell::RefCell, fmt, sync::Arc, time::Duration};

use proptest::{collection::vec, prelude::*, strategy::BoxedStrategy, test_runner::Config};
use respool_core::{
    AgentLoopOutput, CallOutcome, Dialect, Message, Role, RolloutSpec, Trajectory, outcome_eq, outcome_within,
};
use respool_driver::{Control, RolloutRequest, RolloutService, Start};
use respool_engine::Engine;
use tower::ServiceExt;

use crate::{CheckError, Clock, Violation, journal::Journal, search::search, violation::Property};

/// How a loop is checked.
#[derive(Clone)]
pub struct ResumeConfig {
    /// How many cases, and where failures are kept.
    pub cases: Config,
    /// The tasks; where they are given, `select(tasks).boxed()`.
    pub tasks: BoxedStrategy<Arc<RolloutSpec>>,
    /// With the loop's dialect, crashes are tried too: the rollout is rebuilt from what it
    /// recorded. Only for loops that are Respool's engine inside.
    pub dialect: Option<Arc<dyn Dialect>>,
    /// The latest moment of a cut by time.
    pub longest: Duration,
    /// By which clock the cases run.
    pub clock: Clock,
    /// How much log-probabilities may differ: 0 compares them by bits, a real engine needs some.
    pub logprobs_within: f32,
    /// Called between a cut and the resume: raises the policy version, say.
    pub between: Arc<dyn Fn() + Send + Sync>,
}

impl ResumeConfig {
    /// Default cases on those tasks, with interrupts only.
    #[must_use]
    pub fn new(tasks: BoxedStrategy<Arc<RolloutSpec>>) -> Self {
        Self {
            cases: Config::default(),
            tasks,
            dialect: None,
            longest: Duration::from_secs(2),
            clock: Clock::Paused,
            logprobs_within: 0.0,
            between: Arc::new(|| {}),
        }
    }
}

impl fmt::Debug for ResumeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResumeConfig")
            .field("longest", &self.longest)
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}

/// When a loop is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// After so many recorded events of the request, counted from 1.
    Event(u16),
    /// So long after the request.
    Time(Duration),
}

/// One cut of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopCut {
    /// When.
    pub at: Moment,
    /// How many of the last events a crash loses, but for durable ones; `None` is an interrupt.
    pub crash: Option<u8>,
    /// Whether the rollout goes through the bytes of a snapshot.
    pub through_bytes: bool,
}

/// What was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResumeReport {
    /// Tasks, each run cut and uncut.
    pub cases: u32,
    /// Interrupts that left a rollout to resume.
    pub interrupts: u32,
    /// Crashes.
    pub crashes: u32,
}

/// Runs `config.cases` tasks, each cut at random moments and uncut, and compares the outcomes.
///
/// Where a cut has lost the result of a `once` call, what came before that result is compared.
///
/// # Errors
/// [`CheckError::Broken`] with the smallest list of cuts that changes an outcome.
pub fn resume_equivalence(
    service: &RolloutService,
    config: ResumeConfig,
) -> Result<ResumeReport, CheckError> {
    let report = RefCell::new(ResumeReport::default());
    let strategy = (config.tasks.clone(), cuts(config.longest, config.dialect.is_some()));
    let check = |(spec, cuts): (Arc<RolloutSpec>, Vec<LoopCut>)| {
        let run = Run { service, config: &config, report: &report };
        let uncut = config.clock.run(run.go_to_the_end(Start::New(Arc::clone(&spec)), &[]))?;
        let cut = config.clock.run(run.go_to_the_end(Start::New(spec), &cuts))?;
        report.borrow_mut().cases += 1;
        compare(&uncut, &cut, config.logprobs_within)
    };
    let show = |(spec, cuts): &(Arc<RolloutSpec>, Vec<LoopCut>)| {
        let cuts: String = cuts.iter().map(|cut| format!("{cut}\n")).collect();
        format!(
            "{cuts}with task {} (seed {}), {:?}, {:?}",
            spec.task_id, spec.seed, spec.limits, spec.options
        )
    };
    search(config.cases.clone(), &strategy, check, show)?;
    Ok(report.into_inner())
}

fn cuts(longest: Duration, crashes: bool) -> impl Strategy<Value = Vec<LoopCut>> {
    let longest = u64::try_from(longest.as_micros()).unwrap_or(u64::MAX).max(1);
    let at = prop_oneof![
        (1..20u16).prop_map(Moment::Event),
        (0..longest).prop_map(|micros| Moment::Time(Duration::from_micros(micros))),
    ];
    let crash = if crashes { prop::option::of(0..4u8).boxed() } else { Just(None).boxed() };
    let cut = (at, crash, any::<bool>());
    vec(cut.prop_map(|(at, crash, through_bytes)| LoopCut { at, crash, through_bytes }), 0..5)
}

/// One run of a task.
struct Run<'a> {
    service: &'a RolloutService,
    config: &'a ResumeConfig,
    report: &'a RefCell<ResumeReport>,
}

/// How a request ended.
enum Left {
    Over(Box<Trajectory>),
    At(Start),
}

impl Run<'_> {
    async fn go_to_the_end(&self, mut start: Start, cuts: &[LoopCut]) -> Result<Trajectory, Violation> {
        for cut in cuts {
            match self.until(start, cut).await? {
                Left::Over(trajectory) => return Ok(*trajectory),
                Left::At(next) => start = if cut.through_bytes { through_bytes(next)? } else { next },
            }
            (self.config.between)();
        }
        let request = RolloutRequest::new(start, Control::new());
        match over(self.service.clone().oneshot(request).await)? {
            Left::Over(trajectory) => Ok(*trajectory),
            Left::At(_) => {
                Err(Violation::new(Property::Progress, "it came back unfinished, but nobody interrupted it"))
            }
        }
    }

    async fn until(&self, start: Start, cut: &LoopCut) -> Result<Left, Violation> {
        let (events, time) = match cut.at {
            Moment::Event(events) => (usize::from(events), Duration::MAX),
            Moment::Time(time) => (usize::MAX, time),
        };
        let (journal, control) = (Arc::new(Journal::new(events)), Control::new());
        let mut request = RolloutRequest::new(start.clone(), control.clone());
        request.checkpoint = Some(Arc::<Journal>::clone(&journal));
        let mut running = self.service.clone().oneshot(request);
        tokio::select! {
            biased;
            output = &mut running => return over(output),
            () = journal.reached() => {}
            () = tokio::time::sleep(time) => {}
        }
        if let (Some(lost), Some(dialect)) = (cut.crash, &self.config.dialect) {
            drop(running);
            self.report.borrow_mut().crashes += 1;
            return recover(start, journal.left(usize::from(lost)), dialect).map(Left::At);
        }
        control.interrupt();
        let left = over(running.await)?;
        self.report.borrow_mut().interrupts += u32::from(matches!(left, Left::At(_)));
        Ok(left)
    }
}

fn over(output: Result<AgentLoopOutput, respool_core::Fault>) -> Result<Left, Violation> {
    match output {
        Ok(AgentLoopOutput::Completed(trajectory) | AgentLoopOutput::Failed { trajectory, .. }) => {
            Ok(Left::Over(trajectory))
        }
        Ok(AgentLoopOutput::Cancelled { data, state }) => Ok(Left::At(Start::Resume { data, state })),
        Err(fault) => Err(Violation::new(
            Property::Answers,
            format!("the loop failed instead of giving an output: {fault}"),
        )),
    }
}

/// What a crash has left: where the request started, and the events recorded since.
fn recover(
    start: Start,
    events: Vec<respool_core::Event>,
    dialect: &Arc<dyn Dialect>,
) -> Result<Start, Violation> {
    let broken = |what: String| Violation::new(Property::RoundTrip, what);
    let mut engine = match start {
        Start::New(spec) => Engine::new(spec, Arc::clone(dialect)),
        Start::Resume { data, state } => Engine::from_parts(*data, state, Arc::clone(dialect))
            .map_err(|invalid| broken(invalid.to_string()))?,
    };
    for event in events {
        engine
            .step(event)
            .map_err(|rejected| broken(format!("a recorded event does not fit: {rejected}")))?;
    }
    let (data, state) = engine.into_parts();
    Ok(Start::Resume { data: Box::new(data), state })
}

fn through_bytes(start: Start) -> Result<Start, Violation> {
    let Start::Resume { data, state } = start else { return Ok(start) };
    let bytes = respool_format::encode_parts(&data, &state, &respool_format::Fingerprints::default());
    let read = respool_format::decode(&bytes)
        .map_err(|error| Violation::new(Property::RoundTrip, error.to_string()))?;
    Ok(Start::Resume { data: Box::new(read.data), state: read.state })
}

fn compare(uncut: &Trajectory, cut: &Trajectory, tolerance: f32) -> Result<(), Violation> {
    let equal = match tolerance {
        0.0 => outcome_eq(uncut, cut),
        tolerance => outcome_within(uncut, cut, tolerance),
    };
    let lost = cut.data.calls.iter().find(|call| call.outcome == CallOutcome::Interrupted);
    let difference = match lost {
        None => equal.err().map(|difference| difference.to_string()),
        Some(lost) => (before(uncut, lost.turn) != before(cut, lost.turn))
            .then(|| "messages differ before the lost result".to_owned()),
    };
    match difference {
        None => Ok(()),
        Some(what) => Err(Violation::new(Property::ResumeEquivalence, format!("uncut against cut: {what}"))),
    }
}

/// The messages up to that turn of the policy.
fn before(trajectory: &Trajectory, turn: u32) -> Option<&[Message]> {
    let (messages, first) = (&trajectory.data.messages, trajectory.data.spec.messages.len());
    let turns = (first..messages.len()).filter(|at| messages[*at].role == Role::Assistant);
    turns.skip(turn as usize).map(|at| &messages[..=at]).next()
}

impl fmt::Display for LoopCut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.crash {
            None => f.write_str("interrupt")?,
            Some(lost) => write!(f, "crash that loses {lost} events")?,
        }
        match self.at {
            Moment::Event(events) => write!(f, " after {events} events")?,
            Moment::Time(time) => write!(f, " after {time:?}")?,
        }
        f.write_str(if self.through_bytes { ", through bytes" } else { "" })
    }
}
