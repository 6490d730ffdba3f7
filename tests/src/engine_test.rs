//! The client's whole suite against a running server: `engine-test --server URL [--model DIR]`.
//!
//! Greedy sampling, so that what is asked twice has to come twice: tokens exactly, log-probabilities
//! to 1e-4. What the server has no route for is skipped, and says so.

mod aborts;
mod answers;
mod pauses;
mod suite;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use self::suite::Suite;
use crate::report::{Report, Verdict};

/// Something that a server has to do.
type Check = (&'static str, for<'a> fn(&'a Suite) -> BoxFuture<'a, Result<Outcome>>);

/// How a check went that did not fail.
enum Outcome {
    Passed,
    Skipped(&'static str),
}

macro_rules! checks {
    ($($module:ident: $($name:ident),+;)+) => {
        /// All checks, in the order in which they run.
        const CHECKS: &[Check] = &[$($((stringify!($name), |suite| $module::$name(suite).boxed())),+),+];
    };
}

checks! {
    answers: exact_tokens, one_token, repeats_itself, stops_at_a_stop_token, many_at_once, every_route_agrees,
        full_context_is_a_finish, model_is_told, foreign_tokens_are_not_sent, settings_are_taken;
    aborts: abort_keeps_tokens_and_goes_on, abort_before_the_first_token, dropped_stream_ends_on_the_server,
        abort_all_ends_what_runs;
    pauses: label_does_not_abort, pause_abort, pause_keep, pause_drain, waiting_can_be_aborted, cache_is_flushed;
}

const USAGE: &str = "expected: engine-test --server URL [--model DIR]";

/// Runs every check.
///
/// # Errors
/// If the arguments are not understood, or the server is not fit for use.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let (url, model) = parse(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let suite = Suite::connect(&url, model).await?;
        println!("{}", suite.report);
        let mut report = Report::new("engine-test", std::io::stdout());
        for (name, check) in CHECKS {
            let verdict = match check(&suite).await {
                Ok(Outcome::Passed) => Verdict::Pass,
                Ok(Outcome::Skipped(why)) => Verdict::Skipped(why.to_owned()),
                Err(error) => Verdict::Fail(format!("{error:#}")),
            };
            report.item(name, &verdict)?;
            // Whatever a check left behind, the next one starts with a server that runs.
            suite.go_on().await;
        }
        Ok(if report.end(false)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

fn parse(args: &[String]) -> Result<(String, Option<PathBuf>)> {
    let (mut url, mut model) = (None, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match (arg.as_str(), args.next()) {
            ("--server", Some(value)) => url = Some(value.clone()),
            ("--model", Some(value)) => model = Some(PathBuf::from(value)),
            (option, None) => bail!("{option:?} without a value, {USAGE}"),
            (other, Some(_)) => bail!("unknown argument {other:?}, {USAGE}"),
        }
    }
    match url {
        Some(url) => Ok((url, model)),
        None => bail!("no server, {USAGE}"),
    }
}

#[cfg(test)]
mod tests;
