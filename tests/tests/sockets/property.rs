//! The properties: the same tokens whatever happens, right versions, no token unaccounted for.

use std::hash::{BuildHasher as _, RandomState};

use respool_llm::WeightSync;

use crate::conductor::Happenings;
use crate::fleet::{Chaos, Flavour};
use crate::run::{Plan, run};

const MODES: &[WeightSync] = &[WeightSync::Abort, WeightSync::Keep, WeightSync::Drain];

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The seeds of a test: the given one, or as many fresh ones as asked for.
fn seeds() -> Vec<u64> {
    if let Some(seed) = number("RESPOOL_SEED") {
        return vec![seed];
    }
    let rounds = number("PROPTEST_CASES").map_or(1, |cases| (cases / 1000).clamp(1, 20));
    (0..rounds).map(|round| RandomState::new().hash_one(round) >> 1).collect()
}

fn rollouts(few: usize) -> usize {
    number("RESPOOL_ROLLOUTS").and_then(|count| usize::try_from(count).ok()).unwrap_or(few)
}

fn everything(flavours: &[Flavour], modes: &'static [WeightSync], count: usize) -> Plan {
    Plan {
        flavours: flavours.to_vec(),
        chaos: Chaos { per_mille: 120, loses_tokens: true },
        happenings: Happenings { modes, deaths: true, unannounced: true },
        rollouts: rollouts(count),
        crashes: true,
    }
}

#[test]
fn a_thousand_rollouts_through_everything() {
    let flavours = [Flavour::SglangCumulative, Flavour::SglangIncremental, Flavour::Vllm];
    for seed in seeds() {
        run(&everything(&flavours, MODES, 1000), seed);
    }
}

#[test]
fn each_weight_sync_on_other_servers() {
    use Flavour::{SglangIncremental, Vllm33, VllmClosed, VllmCompletions, VllmDefault, VllmOldLogprobs};
    for seed in seeds() {
        run(&everything(&[Vllm33, VllmCompletions], &[WeightSync::Abort], 100), seed);
        run(&everything(&[VllmOldLogprobs, VllmDefault], &[WeightSync::Keep], 100), seed);
        run(&everything(&[VllmClosed, SglangIncremental, Vllm33], &[WeightSync::Drain], 100), seed);
    }
}

#[test]
fn servers_that_tell_no_spans() {
    let flavours = [Flavour::SglangSilent, Flavour::VllmSilent];
    for seed in seeds() {
        run(&everything(&flavours, MODES, 150), seed);
    }
}

/// Where no connection is cut and nobody dies, every token is accounted for by the client alone.
#[test]
fn no_token_is_lost_where_nothing_breaks() {
    let plan = Plan {
        chaos: Chaos::NONE,
        happenings: Happenings { modes: MODES, deaths: false, unannounced: true },
        crashes: false,
        ..everything(&[Flavour::SglangCumulative, Flavour::Vllm, Flavour::Vllm33], MODES, 200)
    };
    for seed in seeds() {
        let account = run(&plan, seed);
        assert!(account.unread.is_empty(), "{account}");
        assert_eq!(account.sent, account.kept + account.wasted.values().sum::<u64>(), "{account}");
    }
}
