//! Resume equivalence of an engine: cut runs against uncut twins, over many random cases.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    fmt,
    sync::Arc,
};

use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use respool_core::{Dialect, outcome_eq};

use crate::{
    CutKind, Finished, Machine, Schedule, Script, Violation, Vocabulary,
    run::{run, run_with},
    schedule::schedule,
    script::script,
    violation::Property,
};

/// What was tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Scripts, each with a schedule and a twin.
    pub cases: u32,
    /// How often each kind of cut happened without a round trip through bytes, and with one.
    pub cuts: BTreeMap<CutKind, [u32; 2]>,
    /// How the rollouts ended.
    pub finishes: BTreeMap<String, u32>,
}

/// The smallest case found in which a property does not hold.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// After how many cases it was found.
    pub cases: u32,
    /// What does not hold.
    pub what: String,
    /// The task.
    pub script: Script,
    /// What was cut where.
    pub schedule: Schedule,
}

/// A check did not pass.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CheckError {
    /// A property does not hold.
    #[error("{0}")]
    Broken(Box<Counterexample>),
    /// The cases could not be made.
    #[error("the cases could not be run: {0}")]
    NotRun(String),
}

/// Runs `config.cases` random scripts, each under a random schedule and uncut, and compares the
/// outcomes (P1, P2, P3, P10), with the invariants P4 to P8 checked after every step.
///
/// # Errors
/// [`CheckError::Broken`] with the smallest case in which a property does not hold.
pub fn engine_equivalence<M: Machine>(
    vocabulary: &Arc<Vocabulary>,
    dialect: &Arc<dyn Dialect>,
    config: Config,
) -> Result<Report, CheckError> {
    let (report, cases) = (RefCell::new(Report::default()), Cell::new(0));
    let has_failed = Cell::new(false);
    let strategy = (script(Arc::clone(vocabulary)), schedule());
    let result = TestRunner::new(config).run(&strategy, |(script, schedule)| {
        cases.set(cases.get() + u32::from(!has_failed.get()));
        // Set before, so that a panic counts as well.
        let failed_before = has_failed.replace(true);
        let finished = check_case::<M>(&script, dialect, &schedule)
            .map_err(|violation| TestCaseError::fail(violation.to_string()))?;
        has_failed.set(failed_before);
        report.borrow_mut().add(&finished);
        Ok(())
    });
    match result {
        Ok(()) => Ok(report.into_inner()),
        Err(TestError::Abort(reason)) => Err(CheckError::NotRun(reason.to_string())),
        Err(TestError::Fail(reason, (script, schedule))) => {
            let what = reason.to_string();
            let counterexample = Counterexample { cases: cases.get(), what, script, schedule };
            Err(CheckError::Broken(Box::new(counterexample)))
        }
    }
}

/// Runs one script under the schedule and uncut, and compares the outcomes.
///
/// The twin answers "interrupted" to those `once` calls whose result the schedule has lost; there
/// is no other exclusion.
///
/// # Errors
/// The property that does not hold.
pub fn check_case<M: Machine>(
    script: &Script,
    dialect: &Arc<dyn Dialect>,
    schedule: &Schedule,
) -> Result<Finished, Violation> {
    let finished = run::<M>(script, dialect, schedule)?;
    let twin = run_with::<M>(script, dialect, &Schedule::default(), &finished.interrupted)?;
    outcome_eq(&twin.trajectory, &finished.trajectory).map_err(|difference| {
        Violation::new(Property::ResumeEquivalence, format!("uncut against cut: {difference}"))
    })?;
    Ok(finished)
}

impl Report {
    fn add(&mut self, finished: &Finished) {
        self.cases += 1;
        for (kind, through_bytes) in &finished.cuts {
            self.cuts.entry(*kind).or_default()[usize::from(*through_bytes)] += 1;
        }
        *self.finishes.entry(finished.trajectory.finish.name().to_owned()).or_default() += 1;
    }

    /// Kinds of cuts that did not happen, without a round trip through bytes or with one.
    pub fn missing_cuts(&self) -> impl Iterator<Item = (CutKind, bool)> + '_ {
        CutKind::ALL
            .into_iter()
            .flat_map(|kind| [(kind, false), (kind, true)])
            .filter(|(kind, bytes)| self.cuts.get(kind).is_none_or(|counts| counts[usize::from(*bytes)] == 0))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} cases", self.cases)?;
        for (kind, [without, with]) in &self.cuts {
            writeln!(f, "cut {kind}: {without}, through bytes: {with}")?;
        }
        self.finishes.iter().try_for_each(|(name, count)| writeln!(f, "ended as {name}: {count}"))
    }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cases, what, script, schedule } = self;
        write!(f, "{what}\nfound after {cases} cases; the smallest schedule that shows it:\n{schedule}")?;
        write!(f, "with the task:\n{script}")
    }
}
