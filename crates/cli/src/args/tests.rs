use clap::CommandFactory;

use super::*;

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn durations_are_written_with_a_unit() {
    assert_eq!(duration("5ms"), Ok(Duration::from_millis(5)));
    assert_eq!(duration("0ms"), Ok(Duration::ZERO));
    assert!(duration("5").is_err_and(|error| error.contains("such as 5ms")));
    assert!(positive_duration("0s").is_err());
}
