use std::collections::HashSet;

use super::*;

fn key(task: &str, sample: u32) -> Key {
    Key { task_id: task.to_owned(), sample }
}

/// Written down once: a run is resumed by another process, and compared with another year's.
#[test]
fn seeds_and_names_never_change() {
    let key = key("openai/gsm8k/test/0", 3);
    assert_eq!(key.seed(0), 2_138_817_839_848_344_005);
    assert_eq!(key.rollout(0).to_string(), "fd0d42e35b7607401db9757281f02803");
}

#[test]
fn every_part_counts() {
    let keys = [key("a", 0), key("a", 1), key("b", 0), key("a0", 0)];
    let seeds: HashSet<_> = keys.iter().flat_map(|key| [key.seed(0), key.seed(1)]).collect();
    let rollouts: HashSet<_> = keys.iter().flat_map(|key| [key.rollout(0), key.rollout(1)]).collect();
    assert_eq!((seeds.len(), rollouts.len()), (8, 8));
}

#[test]
fn snapshot_names_are_safe_and_differ() {
    assert_eq!(key("openai/gsm8k/test/0", 3).snapshot_name(), "openai%2Fgsm8k%2Ftest%2F0-3.snap");
    assert_eq!(key("a-b_c.d é", 0).snapshot_name(), "a%2Db_c.d%20%C3%A9-0.snap");
    let (a, b) = (key(&"é".repeat(500), 0), key(&format!("{}x", "é".repeat(500)), 0));
    assert!(a.snapshot_name().len() < 255);
    assert_ne!(a.snapshot_name(), b.snapshot_name());
}
