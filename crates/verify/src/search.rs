//! Looks for a case in which a property does not hold, and for the smallest one.

use std::{cell::Cell, fmt};

use proptest::{
    strategy::Strategy,
    test_runner::{Config, TestCaseError, TestError, TestRunner},
};

/// The smallest case found in which a property does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// After how many cases the first one was found.
    pub cases: u32,
    /// What does not hold.
    pub what: String,
    /// The case, for people.
    pub smallest: String,
}

/// A check did not pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// A property does not hold.
    #[error("{0}")]
    Broken(Box<Counterexample>),
    /// The cases could not be made.
    #[error("the cases could not be run: {0}")]
    NotRun(String),
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cases, what, smallest } = self;
        write!(f, "{what}\nfound after {cases} cases; the smallest that shows it:\n{smallest}")
    }
}

/// Runs `check` on `config.cases` values. A panic in it counts as a failure.
pub(crate) fn search<S: Strategy, E: fmt::Display>(
    config: Config,
    strategy: &S,
    check: impl Fn(S::Value) -> Result<(), E>,
    show: impl Fn(&S::Value) -> String,
) -> Result<(), CheckError> {
    let (cases, has_failed) = (Cell::new(0), Cell::new(false));
    let result = TestRunner::new(config).run(strategy, |value| {
        cases.set(cases.get() + u32::from(!has_failed.get()));
        // Set before, so that a panic is seen as well.
        let failed_before = has_failed.replace(true);
        check(value).map_err(|error| TestCaseError::fail(error.to_string()))?;
        has_failed.set(failed_before);
        Ok(())
    });
    result.map_err(|error| match error {
        TestError::Abort(reason) => CheckError::NotRun(reason.to_string()),
        TestError::Fail(reason, value) => CheckError::Broken(Box::new(Counterexample {
            cases: cases.get(),
            what: reason.to_string(),
            smallest: show(&value),
        })),
    })
}
