//! What a check found.

use std::fmt;

/// The properties of the design that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Property {
    /// P1 (with P2, P3, P10): the outcome is that of the uncut run.
    ResumeEquivalence,
    /// P4: duplicate and stale events change nothing.
    StaleEvents,
    /// P5: nothing is wanted if and only if the rollout is over, and every run ends.
    Progress,
    /// P6: what is decoded is what was encoded.
    RoundTrip,
    /// P7: budgets are never exceeded.
    Budget,
    /// P8: every sampled token has a version, and a log-probability or an explicit *missing*.
    Provenance,
    /// A call has exactly one result and is not run again after it; no effect's name is used twice.
    OneResult,
    /// What answers a wanted effect fits.
    Answers,
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ResumeEquivalence => "resume equivalence (P1)",
            Self::StaleEvents => "stale events change nothing (P4)",
            Self::Progress => "nothing wanted means over (P5)",
            Self::RoundTrip => "bytes keep everything (P6)",
            Self::Budget => "budgets are kept (P7)",
            Self::Provenance => "tokens know where they come from (P8)",
            Self::OneResult => "one result for each call",
            Self::Answers => "answers fit what is wanted",
        })
    }
}

/// A property does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{property}: {what}")]
pub struct Violation {
    /// Which.
    pub property: Property,
    /// What was found, what was expected.
    pub what: String,
}

impl Violation {
    pub(crate) fn new(property: Property, what: impl Into<String>) -> Self {
        Self { property, what: what.into() }
    }
}
