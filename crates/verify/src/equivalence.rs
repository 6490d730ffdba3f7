//! Resume equivalence of an engine: cut runs against uncut twins, over many random cases.

use std::{cell::RefCell, collections::BTreeMap, fmt, sync::Arc};

use proptest::test_runner::Config;
use respool_core::{Dialect, outcome_eq};

use crate::{
    CheckError, CutKind, Finished, Machine, Schedule, Script, Violation, Vocabulary,
    run::{run, run_with},
    schedule::schedule,
    script::script,
    search::search,
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
    let report = RefCell::new(Report::default());
    let strategy = (script(Arc::clone(vocabulary)), schedule());
    let check = |(script, schedule)| {
        let finished = check_case::<M>(&script, dialect, &schedule)?;
        report.borrow_mut().add(&finished);
        Ok::<_, Violation>(())
    };
    search(config, &strategy, check, |(script, schedule)| format!("{schedule}with the task:\n{script}"))?;
    Ok(report.into_inner())
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
