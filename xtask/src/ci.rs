//! `cargo xtask ci`: the definition of green.

mod families;
mod steps;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::command::root;
use steps::{STEPS, Step};

/// What the user asked for.
struct Asked {
    /// The one step to run; all of them if there is none.
    step: Option<&'static Step>,
    /// Whether the long steps run too.
    full: bool,
    /// Whether test data must be there and be understood.
    strict: bool,
}

/// How a step ended.
enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

/// Runs the steps that are asked for, all of them even if one fails, and sums up. Whether all passed.
///
/// # Errors
/// If the arguments are not understood.
pub(crate) fn run(args: &[String]) -> Result<bool> {
    let asked = asked(args)?;
    // Default folders such as `../shared` are beside the workspace, wherever the user is.
    std::env::set_current_dir(root()?)?;
    let chosen: Vec<&Step> = match asked.step {
        Some(step) => vec![step],
        None => STEPS.iter().filter(|step| asked.full || !step.long).collect(),
    };
    let mut done = Vec::with_capacity(chosen.len());
    for step in chosen {
        eprintln!("\n=== {} ({})", step.name, step.about);
        let start = Instant::now();
        let outcome = (step.run)(&asked).unwrap_or_else(|error| Outcome::Failed(format!("{error:#}")));
        let took = start.elapsed();
        eprintln!("=== {}: {} in {}", step.name, outcome.word(), seconds(took));
        done.push((step.name, outcome, took));
    }
    Ok(summary(&done))
}

fn asked(args: &[String]) -> Result<Asked> {
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    let mut asked = Asked { step: None, full: false, strict: in_ci };
    for arg in args {
        match arg.as_str() {
            "--full" => asked.full = true,
            "--strict" => asked.strict = true,
            name => match STEPS.iter().find(|step| step.name == name) {
                Some(step) if asked.step.is_none() => asked.step = Some(step),
                Some(_) => bail!("{name:?} is a second step, expected one or none"),
                None => bail!("unknown step or option {name:?}\n\n{}", usage()),
            },
        }
    }
    Ok(asked)
}

/// All steps, one a line.
pub(crate) fn usage() -> String {
    let lines = STEPS.iter().map(|step| {
        let long = if step.long { " (with --full)" } else { "" };
        format!("  {:10} {}{long}", step.name, step.about)
    });
    format!("steps of ci:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

fn summary(done: &[(&str, Outcome, Duration)]) -> bool {
    println!();
    for (name, outcome, took) in done {
        println!("{name:10} {:8} {:>8}  {}", outcome.word(), seconds(*took), outcome.why());
    }
    let count = |word: &str| done.iter().filter(|(_, outcome, _)| outcome.word() == word).count();
    let (passed, failed, skipped) = (count("passed"), count("failed"), count("skipped"));
    let total: Duration = done.iter().map(|(_, _, took)| *took).sum();
    println!("{:19} {:>8}\n", "total", seconds(total));
    println!("steps: {passed} passed, {failed} failed, {skipped} skipped");
    failed == 0
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

impl Outcome {
    fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::Skipped(_) => "skipped",
        }
    }

    fn why(&self) -> &str {
        match self {
            Self::Passed => "",
            Self::Failed(why) | Self::Skipped(why) => why,
        }
    }
}
