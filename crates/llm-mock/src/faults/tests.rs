use respool_core::{EffectId, RolloutId};

use super::*;
use crate::testing;

fn request(rollout: u128, attempt: u32) -> GenerateRequest {
    let mut request = testing::request(1, &[1], 0);
    request.rollout = RolloutId(rollout);
    request.effect = EffectId { turn: 0, slot: 0, attempt };
    request
}

#[test]
fn scripted_faults_come_at_their_request() {
    let stall = ServerFault::Stall { after: 3 };
    let script = FaultScript::none().at(1, stall);
    assert_eq!(script.fault(&request(1, 0), 0), None);
    assert_eq!(script.fault(&request(1, 0), 1), Some(stall));
    assert_eq!(script.fault(&request(1, 0), 2), None);
}

#[test]
fn random_faults_are_as_frequent_as_asked_and_decided_by_the_seed() {
    let rates = FaultRates { latency: 0.1, stall: 0.1, abort: 0.1, disconnect: 0.1, overload: 0.1 };
    let draw = |seed: u64| -> Vec<_> {
        let script = FaultScript::none().random(seed, rates);
        (0..2000).map(|index| script.fault(&request(index % 500, (index / 500) as u32), 0)).collect()
    };
    let faults = draw(1);
    assert_eq!(faults, draw(1));
    assert_ne!(faults, draw(2));
    let count = |kind: fn(&ServerFault) -> bool| faults.iter().flatten().filter(|fault| kind(fault)).count();
    let counts = [
        count(|fault| matches!(fault, ServerFault::Latency(_))),
        count(|fault| matches!(fault, ServerFault::Stall { .. })),
        count(|fault| matches!(fault, ServerFault::Abort { .. })),
        count(|fault| matches!(fault, ServerFault::Disconnect { .. })),
        count(|fault| matches!(fault, ServerFault::Overload { .. })),
    ];
    assert!(counts.iter().all(|count| (140..260).contains(count)), "{counts:?}");
}
