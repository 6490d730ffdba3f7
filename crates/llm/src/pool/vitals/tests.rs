use proptest::prelude::*;

use super::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Succeeds,
    Fails,
    Answers,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![Just(Step::Succeeds), Just(Step::Fails), Just(Step::Answers)];
    proptest::collection::vec(step, 0..40)
}

proptest! {
    #[test]
    fn room_is_none_while_out_one_at_the_return_and_never_over_the_limit(
        steps in steps(), concurrency in 1_usize..9, eject_after in 0_u32..5
    ) {
        let settings = PoolSettings { concurrency, eject_after, ..PoolSettings::default() };
        let (now, mut vitals) = (Instant::now(), Vitals::well());
        for step in steps {
            let before = vitals.clone();
            match step {
                Step::Succeeds => vitals.succeeded(&settings),
                Step::Fails => {
                    let ejected = vitals.failed(&settings, now, 1);
                    prop_assert_eq!(ejected, !before.is_ejected() && vitals.is_ejected());
                }
                Step::Answers => vitals.come_back(),
            }
            match vitals.condition {
                Condition::Ejected { until } => {
                    prop_assert_eq!(vitals.room(&settings), 0);
                    prop_assert!(until > now && until <= now + settings.eject_max);
                    prop_assert!(before.is_ejected() || matches!(step, Step::Fails));
                }
                Condition::Returning { room } => {
                    prop_assert!(room >= 1 && vitals.room(&settings) <= concurrency);
                    prop_assert!(room == 1 || room <= before.room(&settings) + 1, "slowly");
                }
                Condition::Well => {
                    prop_assert!(vitals.failures < eject_after.max(1));
                    prop_assert!(!before.is_ejected(), "never at once");
                }
            }
        }
    }
}
