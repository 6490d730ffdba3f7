//! What happens to the rollout from outside, read from free text.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::report::Verdict;
use crate::world::server::Interrupt;
use crate::world::tools::seconds;

/// The actions as a schedule.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// Interrupts by the index of the request that they come with.
    pub(super) interrupts: BTreeMap<usize, Interrupt>,
    /// So long after the first tool started.
    pub(super) interrupt_after_tools: Option<Duration>,
    /// So long after the first tool started.
    pub(super) cancel_after_tools: Option<Duration>,
    /// For each resume, whether it happens in another process.
    pub(super) resumes: Vec<Resume>,
}

/// How an interrupted rollout goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resume {
    InPlace,
    /// Through the bytes of a snapshot.
    FromSnapshot,
}

/// Reads all actions, in order.
///
/// # Errors
/// If one is not understood.
pub(super) fn read(actions: &[String]) -> Result<Plan, Verdict> {
    let mut plan = Plan::default();
    let mut resume = Resume::InPlace;
    for action in actions {
        let text = action.trim();
        match text {
            "write snapshot" | "load snapshot" | "end the process" | "start a new process" => {
                resume = Resume::FromSnapshot;
            }
            "resume" => plan.resumes.push(std::mem::replace(&mut resume, Resume::InPlace)),
            _ => read_signal(text, &mut plan)
                .ok_or_else(|| Verdict::NotUnderstood(format!("actions: {action:?}")))?,
        }
    }
    Ok(plan)
}

fn read_signal(text: &str, plan: &mut Plan) -> Option<()> {
    if let Some(after) = after_tools(text, "hard cancel of the trajectory ") {
        plan.cancel_after_tools = Some(after);
    } else if let Some(after) = after_tools(text, "interrupt ") {
        plan.interrupt_after_tools = Some(after);
    } else {
        let (index, interrupt) = with_request(text)?;
        plan.interrupts.insert(index, interrupt);
    }
    Some(())
}

/// `<what> 0.1 s after the tools started`, whatever follows in brackets.
fn after_tools(text: &str, what: &str) -> Option<Duration> {
    let (time, event) = text.strip_prefix(what)?.split_once(" after the tool")?;
    event.trim_start_matches('s').starts_with(" started").then(|| seconds(time))?
}

/// `interrupt during request 1`, `interrupt while request 1 is still queued`; a server that ignores
/// the abort `answers normally 0.5 s later`.
fn with_request(text: &str) -> Option<(usize, Interrupt)> {
    let rest = text
        .strip_prefix("interrupt during request ")
        .or_else(|| text.strip_prefix("interrupt while request "))?;
    let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    let number: usize = rest[..digits].parse().ok()?;
    let ignored = rest[digits..].contains("ignores the abort");
    let interrupt = match rest[digits..].split_once("answers normally ") {
        Some((_, later)) => Interrupt::Ignored(seconds(later.strip_suffix(" later")?)?),
        None if ignored => Interrupt::Ignored(Duration::ZERO),
        None => Interrupt::AfterTokens,
    };
    Some((number.checked_sub(1)?, interrupt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_a_schedule() {
        let words = |text: &[&str]| read(&text.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        let plan =
            words(&["interrupt during request 2", "write snapshot", "end the process", "resume", "resume"]);
        let plan = plan.expect("understood");
        assert_eq!(plan.interrupts[&1], Interrupt::AfterTokens);
        assert_eq!(plan.resumes, [Resume::FromSnapshot, Resume::InPlace]);
        let late =
            "interrupt during request 1; the server ignores the abort and answers normally 0.5 s later";
        let plan = words(&[late]).expect("understood");
        assert_eq!(plan.interrupts[&0], Interrupt::Ignored(Duration::from_millis(500)));
        let plan =
            words(&["hard cancel of the trajectory 0.1 s after the tools started"]).expect("understood");
        assert_eq!(plan.cancel_after_tools, Some(Duration::from_millis(100)));
        assert!(words(&["dance"]).is_err());
    }
}
