use std::io::Cursor;

use respool_core::{MarkKind, PolicyVersion};

use super::*;
use crate::samples;

fn records() -> Vec<TrajectoryRecord> {
    samples::trajectories().iter().map(TrajectoryRecord::from).collect()
}

fn file(records: &[TrajectoryRecord]) -> Records {
    let mut bytes = Vec::new();
    records.iter().for_each(|record| record.write_line(&mut bytes).unwrap());
    Records::new(Box::new(Cursor::new(bytes)), "test")
}

#[test]
fn versions_marks_and_timings_may_differ() {
    let mut trajectory = samples::trajectories().remove(0);
    let left = TrajectoryRecord::from(&trajectory);
    let data = &mut trajectory.data;
    data.transcript.relabel(0, u32::MAX, PolicyVersion(1));
    data.marks.retain(|mark| mark.kind != MarkKind::Cut);
    data.calls[0].metrics[0].1 += 1.0;
    data.wasted_tokens += 1;
    data.version_uncertain = false;
    data.attempts.clear();
    record_eq(&left, &TrajectoryRecord::from(&trajectory)).unwrap();
}

#[track_caller]
fn check(change: impl FnOnce(&mut TrajectoryRecord), expected: &str) {
    let left = records().remove(0);
    let mut right = left.clone();
    change(&mut right);
    assert_eq!(record_eq(&left, &right).unwrap_err().to_string(), expected);
}

#[test]
fn everything_else_may_not() {
    check(|record| record.response_ids[1] = 99, "response_ids differs at 1: 12 against 99");
    check(
        |record| record.response_logprobs[1] = Some(0.0),
        "response_logprobs differs at 1: Some(2147483648) against Some(0)",
    );
    check(
        |record| record.tool_rewards.truncate(2),
        "tool_rewards differs at 2: Some(9218868437227405311) against nothing",
    );
    check(
        |record| record.finish = "cancelled".to_owned(),
        "finish differs: \"answered\" against \"cancelled\"",
    );
    check(
        |record| record.metrics.calls.clear(),
        &format!("metrics.calls differs: {:?} against {{}}", records()[0].metrics.calls),
    );
}

#[test]
fn files_are_compared_by_key_and_not_by_order() {
    let left = records();
    let mut right = left.clone();
    right.reverse();
    let same = compare(file(&left), file(&right)).unwrap();
    assert!(same.is_equal());
    assert_eq!(same.equal, left.len());
}

#[test]
fn missing_double_and_differing_records_are_told() {
    let left = records();
    let mut right = left.clone();
    right[0].num_turns = 9;
    right[1].sample_index = 100;
    right.push(right[2].clone());
    let found = compare(file(&left), file(&right)).unwrap();
    let key = |sample_index| RecordKey { task_id: left[0].task_id.clone(), sample_index };
    assert!(!found.is_equal());
    assert_eq!(found.equal, left.len() - 2);
    assert_eq!(found.only_left, [key(1)]);
    assert_eq!(found.only_right, [key(100)]);
    assert_eq!(found.duplicates, [key(2)]);
    assert_eq!(found.differing[0].0, key(0));
    assert_eq!(found.differing[0].1.to_string(), "num_turns differs: 4 against 9");
}
