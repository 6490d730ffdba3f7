//! Whether two trajectory files say the same, up to what an interrupt may change.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Debug},
    path::Path,
};

use respool_core::Difference;
use serde_json::value::RawValue;

use crate::{MetricsRecord, RecordError, Records, ToolMetricsRecord, TrajectoryRecord};

/// Names a record in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordKey {
    /// The task's name.
    pub task_id: String,
    /// Index within the group.
    pub sample_index: u32,
}

impl fmt::Display for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sample {}", self.task_id, self.sample_index)
    }
}

/// What two files have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// How many records are in both files and equal.
    pub equal: usize,
    /// Records with the first difference found.
    pub differing: Vec<(RecordKey, Difference)>,
    /// Records that only the first file has.
    pub only_left: Vec<RecordKey>,
    /// Records that only the second file has.
    pub only_right: Vec<RecordKey>,
    /// Records that come more than once in one of the files; the first of them is compared.
    pub duplicates: Vec<RecordKey>,
}

impl Comparison {
    /// Whether both files hold the same records, each once.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        let Self { equal: _, differing, only_left, only_right, duplicates } = self;
        differing.is_empty() && only_left.is_empty() && only_right.is_empty() && duplicates.is_empty()
    }
}

/// Compares two files record by record with [`record_eq`], whatever the order of their lines.
/// The first file is held in memory.
///
/// # Errors
/// If a file cannot be read or a line is not a record.
pub fn compare_files(left: &Path, right: &Path) -> Result<Comparison, RecordError> {
    compare(Records::open(left)?, Records::open(right)?)
}

fn compare(left: Records, right: Records) -> Result<Comparison, RecordError> {
    let mut comparison = Comparison::default();
    let mut waiting = BTreeMap::new();
    for record in left {
        let record = record?;
        match waiting.entry(key(&record)) {
            std::collections::btree_map::Entry::Vacant(place) => drop(place.insert(record)),
            std::collections::btree_map::Entry::Occupied(place) => {
                comparison.duplicates.push(place.key().clone())
            }
        }
    }
    let mut seen = BTreeSet::new();
    for record in right {
        let record = record?;
        let key = key(&record);
        if !seen.insert(key.clone()) {
            comparison.duplicates.push(key);
            continue;
        }
        match waiting.remove(&key).map(|left| record_eq(&left, &record)) {
            Some(Ok(())) => comparison.equal += 1,
            Some(Err(difference)) => comparison.differing.push((key, difference)),
            None => comparison.only_right.push(key),
        }
    }
    comparison.only_left = waiting.into_keys().collect();
    Ok(comparison)
}

fn key(record: &TrajectoryRecord) -> RecordKey {
    RecordKey { task_id: record.task_id.clone(), sample_index: record.sample_index }
}

/// Compares two fields, or two lists item by item.
macro_rules! same {
    ($a:ident, $b:ident: values $($value:ident)* ; lists $($list:ident)*) => {
        $(Difference::of_values(stringify!($value), $value, &$b.$value)?;)*
        $(Difference::of_lists(stringify!($list), $list, &$b.$list)?;)*
    };
}

/// Whether two records are the same outcome: everything but policy versions, marks, wasted
/// tokens, the rollout's id, and of the metrics everything but how calls ended.
///
/// # Errors
/// The first difference found.
pub fn record_eq(a: &TrajectoryRecord, b: &TrajectoryRecord) -> Result<(), Difference> {
    // Without `..`: a new field does not compile until it is decided whether it is compared.
    let TrajectoryRecord {
        task_id,
        group_id,
        sample_index,
        rollout_id: _,
        agent_name,
        seed,
        data_source,
        ground_truth,
        prompt_ids,
        response_ids,
        response_mask,
        response_logprobs,
        token_versions: _,
        param_version_start: _,
        param_version_end: _,
        messages,
        num_turns,
        assistant_turns,
        user_turns,
        finish,
        reward_score,
        tool_rewards,
        turn_scores,
        sampling,
        extra_info,
        marks: _,
        template_append_only,
        template_changes,
        version_uncertain: _,
        infrastructure_errors,
        wasted_tokens: _,
        logprobs_missing,
        metrics,
        malformed_calls,
        dropped_calls,
        wrong_calls,
        lenient_calls,
    } = a;
    same!(a, b:
        values task_id group_id sample_index agent_name seed data_source;
        lists prompt_ids response_ids response_mask);
    Difference::of_lists("response_logprobs", &bits(response_logprobs), &bits(&b.response_logprobs))?;
    same!(a, b:
        values finish num_turns assistant_turns user_turns sampling infrastructure_errors logprobs_missing
            malformed_calls dropped_calls wrong_calls lenient_calls template_append_only;
        lists messages template_changes);
    Difference::of_lists("tool_rewards", &bits64(tool_rewards), &bits64(&b.tool_rewards))?;
    Difference::of_lists("turn_scores", &bits64(turn_scores), &bits64(&b.turn_scores))?;
    Difference::of_values(
        "reward_score",
        &reward_score.map(f64::to_bits),
        &b.reward_score.map(f64::to_bits),
    )?;
    Difference::of_values("ground_truth", &text(ground_truth.as_deref()), &text(b.ground_truth.as_deref()))?;
    Difference::of_values("extra_info", extra_info.get(), b.extra_info.get())?;
    Difference::of_values("metrics.calls", &metrics.calls, &b.metrics.calls)?;
    Difference::of_values("metrics.tools", &calls_by_tool(metrics), &calls_by_tool(&b.metrics))
}

fn text(json: Option<&RawValue>) -> Option<&str> {
    json.map(RawValue::get)
}

/// What tools measured may be timings.
fn calls_by_tool(metrics: &MetricsRecord) -> Vec<(&str, &BTreeMap<String, u32>, u32)> {
    let calls = |(name, tool)| {
        let (name, ToolMetricsRecord { calls, ran, values: _ }): (&String, &ToolMetricsRecord) = (name, tool);
        (name.as_str(), calls, *ran)
    };
    metrics.tools.iter().map(calls).collect()
}

fn bits(values: &[Option<f32>]) -> Vec<Option<u32>> {
    values.iter().map(|value| value.map(f32::to_bits)).collect()
}

fn bits64(values: &[Option<f64>]) -> Vec<Option<u64>> {
    values.iter().map(|value| value.map(f64::to_bits)).collect()
}

#[cfg(test)]
mod tests;
