use proptest::prelude::*;

use super::*;

fn durations() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::MAX),
        any::<u32>().prop_map(|nanos| Duration::from_nanos(nanos.into()))
    ]
}

fn retryable() -> impl Strategy<Value = Class> {
    let after = proptest::option::of(durations());
    prop_oneof![Just(Class::Transient), after.prop_map(|after| Class::Overloaded { after })]
}

proptest! {
    #[test]
    fn delays_stay_in_their_bounds(base in durations(), max in durations(), retry: u32, seed: u64, class in retryable()) {
        let delay = Backoff::new(base, max).delay(retry, class, seed).unwrap();
        match class {
            Class::Overloaded { after: Some(after) } => {
                prop_assert!(delay >= after.min(Backoff::LONGEST_WISH));
                prop_assert!(delay <= after.min(Backoff::LONGEST_WISH).saturating_add(base.min(max)));
            }
            _ => prop_assert!(delay <= max),
        }
        prop_assert_eq!(Backoff::new(base, max).delay(retry, class, seed), Some(delay), "no hidden state");
    }

    #[test]
    fn a_retry_waits_twice_as_long_as_the_one_before(retry in 0_u32..6, seed: u64) {
        let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10));
        let full = Duration::from_millis(100) * 2_u32.pow(retry);
        let delay = backoff.delay(retry, Class::Transient, seed).unwrap();
        prop_assert!((full / 2..=full).contains(&delay));
    }
}

#[test]
fn extremes_do_not_overflow() {
    let backoff = Backoff::new(Duration::MAX, Duration::MAX);
    assert!(backoff.delay(u32::MAX, Class::Transient, 1).is_some());
    let wish = Class::Overloaded { after: Some(Duration::MAX) };
    assert!(backoff.delay(u32::MAX, wish, 1).is_some());
}

#[test]
fn rollouts_that_failed_together_come_back_apart() {
    let backoff = Backoff::default();
    let delays: std::collections::BTreeSet<_> =
        (0..100).map(|seed| backoff.delay(3, Class::Transient, seed)).collect();
    assert_eq!(delays.len(), 100);
}
