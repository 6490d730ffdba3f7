//! The table at the end of a run.

use std::{collections::BTreeMap, fmt::Write, time::Duration};

use respool_format::{FailureRecord, TrajectoryRecord};
use serde::Deserialize;

use crate::names::Key;

/// What the table needs of a trajectory; also read back from its line.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Facts {
    task_id: String,
    sample_index: u32,
    finish: String,
    reward_score: Option<f64>,
    assistant_turns: u32,
    user_turns: u32,
    response_mask: Vec<u8>,
    param_version_start: Option<u64>,
    pub(crate) param_version_end: Option<u64>,
    metrics: Interrupts,
    template_append_only: bool,
    #[serde(default)]
    lenient_calls: u32,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Interrupts {
    interrupts: u32,
}

impl From<&TrajectoryRecord> for Facts {
    fn from(record: &TrajectoryRecord) -> Self {
        Self {
            task_id: record.task_id.clone(),
            sample_index: record.sample_index,
            finish: record.finish.clone(),
            reward_score: record.reward_score,
            assistant_turns: record.assistant_turns,
            user_turns: record.user_turns,
            response_mask: record.response_mask.clone(),
            param_version_start: record.param_version_start,
            param_version_end: record.param_version_end,
            metrics: Interrupts { interrupts: record.metrics.interrupts },
            template_append_only: record.template_append_only,
            lenient_calls: record.lenient_calls,
        }
    }
}

impl Facts {
    pub(crate) fn key(&self) -> Key {
        Key { task_id: self.task_id.clone(), sample: self.sample_index }
    }
}

/// Sums over trajectories.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    rollouts: u64,
    rewards: Vec<f64>,
    /// For each task: samples, and those that are correct.
    groups: BTreeMap<String, (u32, u32)>,
    finishes: BTreeMap<String, u64>,
    assistant_turns: u64,
    user_turns: u64,
    sampled: u64,
    given: u64,
    interrupts: u64,
    interrupted: u64,
    spanning: u64,
    not_append_only: u64,
    lenient_calls: u64,
}

/// What is not in the trajectories.
#[derive(Debug)]
pub(crate) struct Around<'a> {
    pub(crate) failed: &'a [FailureRecord],
    pub(crate) n: u32,
    pub(crate) elapsed: Duration,
    /// Sampled in this process, in that time.
    pub(crate) tokens: u64,
    pub(crate) syncs: u64,
}

impl Summary {
    pub(crate) fn add(&mut self, facts: &Facts) {
        let sampled = facts.response_mask.iter().filter(|mask| **mask == 1).count() as u64;
        self.rollouts += 1;
        self.sampled += sampled;
        self.given += facts.response_mask.len() as u64 - sampled;
        self.assistant_turns += u64::from(facts.assistant_turns);
        self.user_turns += u64::from(facts.user_turns);
        self.interrupts += u64::from(facts.metrics.interrupts);
        self.interrupted += u64::from(facts.metrics.interrupts > 0);
        self.spanning += u64::from(facts.param_version_start != facts.param_version_end);
        self.not_append_only += u64::from(!facts.template_append_only);
        self.lenient_calls += u64::from(facts.lenient_calls);
        *self.finishes.entry(facts.finish.clone()).or_default() += 1;
        if let Some(reward) = facts.reward_score {
            self.rewards.push(reward);
            let (samples, correct) = self.groups.entry(facts.task_id.clone()).or_default();
            *samples += 1;
            *correct += u32::from(is_correct(reward));
        }
    }

    /// Trajectories so far.
    pub(crate) fn rollouts(&self) -> u64 {
        self.rollouts
    }

    /// The table, one fact a line.
    pub(crate) fn table(&self, around: &Around<'_>) -> String {
        let mut table = Table::default();
        table.row("rollouts", format!("{} finished, {} failed", self.rollouts, around.failed.len()));
        self.rewards(&mut table, around.n);
        let turns = |turns: u64| self.per_rollout(turns as f64);
        table.row(
            "turns",
            format!("{} assistant, {} user a rollout", turns(self.assistant_turns), turns(self.user_turns)),
        );
        let share = self.per_rollout((self.sampled + self.given) as f64);
        table.row("tokens", format!("{} sampled, {} given, {share} a rollout", self.sampled, self.given));
        table.row("finish", counts(&self.finishes));
        table.row("weight syncs", around.syncs.to_string());
        table.row("interrupts", format!("{} in {} rollouts", self.interrupts, self.interrupted));
        let percent =
            if self.rollouts == 0 { 0.0 } else { 100.0 * self.spanning as f64 / self.rollouts as f64 };
        table.row("span versions", format!("{} rollouts, {percent:.1} %", self.spanning));
        if self.not_append_only > 0 {
            table.row("not append-only", format!("{} rollouts", self.not_append_only));
        }
        if self.lenient_calls > 0 {
            table.row("read leniently", format!("{} calls", self.lenient_calls));
        }
        if !around.failed.is_empty() {
            table.row("failures", counts(&kinds(around.failed)));
        }
        let seconds = around.elapsed.as_secs_f64();
        let rate = if seconds > 0.0 { around.tokens as f64 / seconds } else { 0.0 };
        table.row("wall time", format!("{seconds:.1} s, {rate:.0} tokens/s"));
        table.0
    }

    /// pass@1 is the mean share of correct samples of a task, pass@n the share of tasks with at
    /// least one.
    fn rewards(&self, table: &mut Table, n: u32) {
        if self.rewards.is_empty() {
            table.row("mean reward", "none given".to_owned());
            return;
        }
        let mean = self.rewards.iter().sum::<f64>() / self.rewards.len() as f64;
        table.row("mean reward", format!("{mean:.4} over {} rollouts", self.rewards.len()));
        let tasks = self.groups.len() as f64;
        let share = |(samples, correct): &(u32, u32)| f64::from(*correct) / f64::from(*samples);
        let pass_1 = self.groups.values().map(share).sum::<f64>() / tasks;
        let pass_n = self.groups.values().filter(|(_, correct)| *correct > 0).count() as f64 / tasks;
        table.row("pass@1", format!("{pass_1:.4} over {} tasks", self.groups.len()));
        if n > 1 {
            table.row(&format!("pass@{n}"), format!("{pass_n:.4}"));
        }
    }

    fn per_rollout(&self, sum: f64) -> String {
        if self.rollouts == 0 { "-".to_owned() } else { format!("{:.1}", sum / self.rollouts as f64) }
    }
}

/// A rollout is correct if its reward is at least 1.
fn is_correct(reward: f64) -> bool {
    reward >= 1.0
}

fn kinds(failed: &[FailureRecord]) -> BTreeMap<String, u64> {
    let mut kinds = BTreeMap::new();
    for record in failed {
        *kinds.entry(record.kind.clone()).or_default() += 1;
    }
    kinds
}

fn counts(counts: &BTreeMap<String, u64>) -> String {
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let texts: Vec<_> = sorted.iter().map(|(name, count)| format!("{name} {count}")).collect();
    if texts.is_empty() { "-".to_owned() } else { texts.join(", ") }
}

/// Lines of a name and a value, aligned.
#[derive(Default)]
struct Table(String);

impl Table {
    fn row(&mut self, name: &str, value: String) {
        // Writing to a string cannot fail.
        let _written = writeln!(self.0, "  {name:<16} {value}");
    }
}

#[cfg(test)]
mod tests;
