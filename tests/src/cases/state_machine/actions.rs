//! What happens to the rollout from outside, read from free text.

use std::collections::BTreeMap;

use super::words::{Moment, Signal, Words};
use crate::report::Verdict;
use crate::world::server::Interrupt;

/// The actions as a schedule.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// Signals by the index of the request that they come with.
    pub(super) requests: BTreeMap<usize, Interrupt>,
    /// The first run.
    pub(super) first: Run,
    /// What follows, each run a resume of the one before it.
    pub(super) resumes: Vec<(Resume, Run)>,
}

/// What happens during one run of the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Run {
    /// What it begins with.
    pub(super) at_start: Option<Signal>,
    /// What comes while tools run.
    pub(super) with_tools: Option<(Moment, Signal)>,
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
    let mut reading = Reading { plan: Plan::default(), through_bytes: false, paused: false };
    for action in actions {
        reading
            .read(&Words::new(action))
            .ok_or_else(|| Verdict::NotUnderstood(format!("actions: {action:?}")))?;
    }
    Ok(reading.plan)
}

struct Reading {
    plan: Plan,
    /// Something was said about a snapshot or a process since the last run.
    through_bytes: bool,
    /// The last run was told to stop.
    paused: bool,
}

impl Reading {
    fn read(&mut self, words: &Words) -> Option<()> {
        self.through_bytes |= words.change_process();
        if words.resume() {
            self.resume(Run::default());
        } else if let Some(signal) = words.signal() {
            self.signal(words, signal)?;
            self.paused = true;
        } else if !words.change_process() && !words.change_weights() {
            return None;
        }
        Some(())
    }

    fn resume(&mut self, run: Run) {
        let resume = if self.through_bytes { Resume::FromSnapshot } else { Resume::InPlace };
        self.plan.resumes.push((resume, run));
        (self.through_bytes, self.paused) = (false, false);
    }

    fn signal(&mut self, words: &Words, signal: Signal) -> Option<()> {
        let at_start = Run { at_start: Some(signal), with_tools: None };
        if words.while_paused() && self.paused {
            // It reaches the rollout when that goes on.
            self.resume(at_start);
        } else if words.before_start() {
            *self.run() = at_start;
        } else if let Some((index, interrupt)) = words.with_request(signal) {
            self.plan.requests.insert(index, interrupt);
        } else {
            self.run().with_tools = Some((words.with_tools()?, signal));
        }
        Some(())
    }

    fn run(&mut self) -> &mut Run {
        match self.plan.resumes.last_mut() {
            Some((_, run)) => run,
            None => &mut self.plan.first,
        }
    }
}

#[cfg(test)]
mod tests;
