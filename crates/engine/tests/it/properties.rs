//! P1 to P8 and P10 over random scripts and schedules, with every kind of cut.

use std::sync::Arc;

use proptest::test_runner::Config;
use respool_core::Dialect;
use respool_engine::Engine;
use respool_testkit::{ResultTokens, TokenDialect, vocabulary};
use respool_verify::{CheckError, Machine, Report, check_total, engine_equivalence};

/// A dialect in which the policy sees what tools and users say.
pub(crate) fn dialect() -> Arc<dyn Dialect> {
    Arc::new(TokenDialect::with_results(ResultTokens::Worded))
}

pub(crate) fn check<M: Machine>(config: Config) -> Result<Report, CheckError> {
    engine_equivalence::<M>(&vocabulary(), &dialect(), config)
}

#[test]
#[expect(clippy::print_stdout, reason = "shown for people who ask what was tried")]
fn cut_runs_equal_uncut_ones() {
    let report = check::<Engine>(Config { cases: 20_000, ..Config::with_source_file(file!()) });
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    println!("{report}");
    assert_eq!(report.missing_cuts().collect::<Vec<_>>(), []);
}

#[test]
fn nothing_panics_and_nothing_leaves_a_broken_rollout() {
    let config = Config { cases: 5_000, ..Config::with_source_file(file!()) };
    check_total::<Engine>(&vocabulary(), &dialect(), config).unwrap_or_else(|error| panic!("{error}"));
}
