//! Runs a script to its end under a schedule, and checks the rollout after every step.

use std::{collections::BTreeSet, sync::Arc};

use respool_core::{AgentState, Dialect, EffectId, EffectKind, Event, Trajectory};

use crate::{
    CutKind, Machine, Schedule, Script, Violation,
    action::Action,
    invariants,
    running::{Progress, Running},
    violation::Property,
};

/// No script takes so many steps: it has at most a few hundred tokens.
const MOST_STEPS: u32 = 20_000;

/// The turn and slot of a call.
pub type CallPlace = (u32, u32);

/// A script that ran to its end.
#[derive(Clone, Debug)]
pub struct Finished {
    /// What came out.
    pub trajectory: Trajectory,
    /// `once` calls whose result a cut has lost.
    pub interrupted: BTreeSet<CallPlace>,
    /// The cuts that happened, and whether each went through bytes.
    pub cuts: Vec<(CutKind, bool)>,
    /// How many steps it took.
    pub steps: u32,
}

/// A script on its way.
pub(crate) struct Runner<'a, M> {
    pub(crate) script: &'a Script,
    pub(crate) dialect: &'a Arc<dyn Dialect>,
    pub(crate) schedule: &'a Schedule,
    /// `once` calls that are to be answered "interrupted" instead of being run.
    pub(crate) unanswered: &'a BTreeSet<CallPlace>,
    pub(crate) machine: M,
    pub(crate) running: Running,
    pub(crate) progress: Progress,
}

/// Runs the script under the schedule.
///
/// # Errors
/// The first property that does not hold.
pub fn run<M: Machine>(
    script: &Script,
    dialect: &Arc<dyn Dialect>,
    schedule: &Schedule,
) -> Result<Finished, Violation> {
    run_with::<M>(script, dialect, schedule, &BTreeSet::new())
}

/// As [`run`], with `once` calls that are answered "interrupted".
pub(crate) fn run_with<M: Machine>(
    script: &Script,
    dialect: &Arc<dyn Dialect>,
    schedule: &Schedule,
    unanswered: &BTreeSet<CallPlace>,
) -> Result<Finished, Violation> {
    let machine = M::new(Arc::clone(&script.spec), Arc::clone(dialect));
    let (running, progress) = (Running::default(), Progress::new(schedule.cuts.len()));
    let mut runner = Runner { script, dialect, schedule, unanswered, machine, running, progress };
    runner.go_to_the_end()?;
    runner.finish()
}

impl<M: Machine> Runner<'_, M> {
    fn go_to_the_end(&mut self) -> Result<(), Violation> {
        while self.progress.steps < MOST_STEPS {
            self.check()?;
            self.make_noise()?;
            if self.cut_where_due()? {
                continue;
            }
            if let AgentState::Terminated(_) = self.machine.engine().state() {
                return Ok(());
            }
            self.progress.just_cut = false;
            self.progress.steps += 1;
            let action = Action::next(self);
            self.act(action)?;
        }
        Err(Violation::new(Property::Progress, format!("it has not ended after {MOST_STEPS} steps")))
    }

    fn check(&self) -> Result<(), Violation> {
        invariants::check(self.machine.engine(), &self.script.spec, &self.progress.returned)
    }

    /// Steps with an event that has to fit.
    pub(crate) fn step(&mut self, event: Event) -> Result<(), Violation> {
        if self.schedule.repeats_events() && can_be_stale(&event) {
            self.progress.events.push(event.clone());
        }
        self.machine.step(event).map_err(|rejected| Violation::new(Property::Answers, rejected.to_string()))
    }

    /// Steps with an event that must not fit.
    pub(crate) fn step_stale(&mut self, event: Event) -> Result<(), Violation> {
        let name = event.name();
        let before = self.machine.engine().clone();
        let accepted = self.machine.step(event).is_ok();
        let after = self.machine.engine();
        let mut data = after.data().clone();
        data.rejected_events -= u64::from(!accepted);
        let what = match (accepted, data == *before.data() && after.state() == before.state()) {
            (false, true) => return Ok(()),
            (true, _) => "was accepted",
            (false, false) => "was rejected, but changed the rollout",
        };
        let what = format!("a stale {name} in state {} {what}", before.state().name());
        Err(Violation::new(Property::StaleEvents, what))
    }

    /// Every launch has a name of its own, so that late answers can be told apart.
    pub(crate) fn note_launch(&mut self, kind: EffectKind, effect: EffectId) -> Result<(), Violation> {
        if self.progress.launched.insert((kind, effect)) {
            return Ok(());
        }
        let what = format!("{kind:?} at {effect} is wanted a second time under the same name");
        Err(Violation::new(Property::OneResult, what))
    }

    fn finish(self) -> Result<Finished, Violation> {
        let engine = self.machine.engine();
        invariants::check_record(engine.data())?;
        let AgentState::Terminated(finish) = engine.state().clone() else {
            return Err(Violation::new(Property::Progress, "it is not over"));
        };
        let Progress { interrupted, cuts, steps, .. } = self.progress;
        Ok(Finished {
            trajectory: Trajectory { data: engine.data().clone(), finish },
            interrupted,
            cuts,
            steps,
        })
    }
}

/// Whether the event may come only once: labels and empty deltas change nothing that counts, and
/// an interrupt or a resume names no effect.
fn can_be_stale(event: &Event) -> bool {
    match event {
        Event::Interrupt | Event::Resume | Event::Cancel | Event::Versions { .. } => false,
        Event::Sampled { delta, .. } => !delta.tokens.is_empty(),
        _ => true,
    }
}
