//! P11 over random orders of submitting, interrupting, resuming, cancelling and waiting.

use std::time::Duration;

use proptest::{collection::vec, prelude::*};
use respool_core::PolicyVersion;
use tokio::task::JoinSet;

use super::{balanced, spec, worker};
use crate::Work;

#[derive(Clone, Copy, Debug)]
enum Act {
    Run(&'static str),
    RunToEnd(&'static str),
    Interrupt,
    Resume,
    Cancel,
    Wait(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let name = prop::sample::select(vec!["patient", "patient", "failing", "panicking", "no_such_agent"]);
    prop_oneof![
        4 => name.clone().prop_map(Act::Run),
        4 => name.prop_map(Act::RunToEnd),
        2 => Just(Act::Interrupt),
        2 => Just(Act::Resume),
        1 => Just(Act::Cancel),
        4 => (0..2500_u64).prop_map(Act::Wait),
    ]
}

async fn check(acts: Vec<Act>, concurrency: usize) {
    let (worker, _) = worker(concurrency);
    let mut tasks = JoinSet::new();
    let (mut submitted, mut version) = (0, 0);
    for act in acts {
        match act {
            Act::Run(name) | Act::RunToEnd(name) => {
                let (worker, work) = (worker.clone(), Work::New(spec(submitted, name)));
                submitted += 1;
                let to_end = matches!(act, Act::RunToEnd(_));
                tasks.spawn(async move {
                    if to_end { worker.run_to_end(work).await } else { worker.run(work).await }
                });
            }
            Act::Interrupt => worker.interrupt(),
            Act::Resume => {
                version += 1;
                worker.resume(PolicyVersion(version)).await.unwrap();
            }
            Act::Cancel => worker.cancel(),
            Act::Wait(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
        }
        let counts = worker.counts();
        assert!(balanced(counts), "{act:?}: {counts:?}");
    }
    worker.resume(PolicyVersion(version + 1)).await.unwrap();
    let mut ended = 0;
    // Also those that panic.
    while tasks.join_next().await.is_some() {
        ended += 1;
    }
    let counts = worker.counts();
    assert!(balanced(counts) && counts.in_flight == 0, "{counts:?}");
    assert_eq!((ended, u128::from(counts.submitted)), (submitted, submitted));
}

proptest! {
    #[test]
    fn every_rollout_is_in_exactly_one_place_at_all_times(acts in vec(act(), 0..40), concurrency in 1..6_usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(check(acts, concurrency));
    }
}
