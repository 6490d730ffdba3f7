use super::*;

fn facts(task: &str, reward: Option<f64>, finish: &str, versions: (u64, u64)) -> Facts {
    Facts {
        task_id: task.to_owned(),
        sample_index: 0,
        finish: finish.to_owned(),
        reward_score: reward,
        assistant_turns: 3,
        user_turns: 2,
        response_mask: vec![1, 1, 0],
        param_version_start: Some(versions.0),
        param_version_end: Some(versions.1),
        metrics: Interrupts { interrupts: 1 },
        template_append_only: true,
        lenient_calls: 2,
    }
}

fn table(facts: &[Facts], n: u32) -> String {
    let mut summary = Summary::default();
    facts.iter().for_each(|facts| summary.add(facts));
    let elapsed = Duration::from_secs(2);
    summary.table(&Around { failed: &[], n, elapsed, tokens: 10, syncs: 1 })
}

#[test]
fn pass_at_1_is_a_mean_of_tasks_and_pass_at_n_a_share_of_them() {
    let table = table(
        &[
            facts("a", Some(1.0), "answered", (0, 0)),
            facts("a", Some(0.0), "answered", (0, 1)),
            facts("b", Some(0.5), "response_length", (1, 1)),
            facts("b", None, "answered", (1, 1)),
        ],
        2,
    );
    for row in [
        "  rollouts         4 finished, 0 failed",
        "  mean reward      0.5000 over 3 rollouts",
        "  pass@1           0.2500 over 2 tasks",
        "  pass@2           0.5000",
        "  turns            3.0 assistant, 2.0 user a rollout",
        "  tokens           8 sampled, 4 given, 3.0 a rollout",
        "  finish           answered 3, response_length 1",
        "  interrupts       4 in 4 rollouts",
        "  span versions    1 rollouts, 25.0 %",
        "  wall time        2.0 s, 5 tokens/s",
    ] {
        assert!(table.contains(row), "{row}\n{table}");
    }
}

#[test]
fn nothing_is_a_table_too() {
    let table = table(&[], 1);
    assert!(table.contains("none given") && !table.contains("NaN"), "{table}");
}
