//! The properties are worth something: they catch engines that are broken on purpose.

use proptest::test_runner::Config;
use respool_testkit::broken::{ForgetsSiblings, GrantsBudgetAgain, ParsesLastAttempt};
use respool_verify::{CheckError, Machine};

use crate::properties::check;

#[track_caller]
#[expect(clippy::print_stdout, reason = "says after how many cases it was caught, and by which schedule")]
fn check_caught<M: Machine>(property: &str) {
    let config = Config { cases: 1000, failure_persistence: None, ..Config::default() };
    let Err(CheckError::Broken(found)) = check::<M>(config) else { panic!("not caught in 1000 cases") };
    println!("{found}");
    assert!(found.what.contains(property), "{found}");
}

#[test]
fn parsing_only_the_last_attempt_is_caught() {
    check_caught::<ParsesLastAttempt>("resume equivalence (P1)");
}

#[test]
fn forgetting_finished_siblings_is_caught() {
    check_caught::<ForgetsSiblings>("one result for each call");
}

#[test]
fn granting_the_budget_again_is_caught() {
    check_caught::<GrantsBudgetAgain>("budgets are kept (P7)");
}
