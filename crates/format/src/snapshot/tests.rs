use proptest::prelude::*;

use super::*;
use crate::{arbitrary, samples};

/// What may be changed in bytes.
fn damage(mut bytes: Vec<u8>, at: prop::sample::Index, flip: u8) -> Vec<u8> {
    let at = at.index(bytes.len());
    bytes[at] ^= flip;
    bytes
}

proptest! {
    /// P6.
    #[test]
    fn decoding_gives_what_was_encoded(snapshot in arbitrary::snapshot()) {
        let bytes = encode(&snapshot);
        let decoded = decode(&bytes).unwrap();
        prop_assert_eq!(&decoded, &snapshot);
        // Equal bytes are equal bits: `==` takes 0.0 and -0.0 for one.
        prop_assert_eq!(encode(&decoded), bytes);
    }

    #[test]
    fn damage_is_always_noticed(
        snapshot in arbitrary::snapshot(),
        at in any::<prop::sample::Index>(),
        flip in 1..=u8::MAX,
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = encode(&snapshot);
        let cut = cut.index(bytes.len());
        prop_assert!(decode(&bytes[..cut]).unwrap_err().is_torn());
        prop_assert!(decode(&damage(bytes, at, flip)).is_err());
    }

    /// A payload with the right checksum and the wrong content: whatever comes out, it is a value
    /// that can be written and read again, or an error.
    #[test]
    fn forged_payloads_never_panic(
        snapshot in arbitrary::snapshot(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut payload = envelope::open(Kind::Snapshot, &encode(&snapshot)).unwrap().payload;
        for (at, byte) in changes {
            let at = at.index(payload.len());
            payload[at] = byte;
        }
        if let Ok(forged) = decode(&envelope::seal(Kind::Snapshot, &payload)) {
            let bytes = encode(&forged);
            prop_assert_eq!(encode(&decode(&bytes).unwrap()), bytes);
        }
    }

    #[test]
    fn arbitrary_payloads_never_panic(payload in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(decode(&envelope::seal(Kind::Snapshot, &payload)).is_err());
    }
}

#[test]
fn nan_keeps_its_bits() {
    let mut snapshot = samples::snapshots().remove(0);
    let bits = [0x7ff8_0000_0000_0001, 0xfff0_0000_dead_beef, f64::INFINITY.to_bits()];
    snapshot.data.tool_rewards = bits.map(f64::from_bits).to_vec();
    let decoded = decode(&encode(&snapshot)).unwrap();
    assert_eq!(decoded.data.tool_rewards.iter().map(|value| value.to_bits()).collect::<Vec<_>>(), bits);
}

#[track_caller]
fn check(change: impl FnOnce(&mut Snapshot), expected: &str) {
    let mut snapshot = samples::snapshots().remove(1);
    change(&mut snapshot);
    assert_eq!(decode(&encode(&snapshot)).unwrap_err().to_string(), expected);
}

fn generating(turn_start: u32, attempt_start: u32) -> core::AgentState {
    core::AgentState::Generating { attempt: 0, fruitless: 0, turn_start, attempt_start }
}

#[test]
fn contradictions_are_named() {
    check(
        |snapshot| snapshot.data.effects.reverse(),
        "invalid content: data.effects: not sorted, or one is there twice",
    );
    check(
        |snapshot| snapshot.data.attempts[0].len = 9,
        "invalid content: data.attempts[0]: 9 tokens from 3 on, in a transcript of 11",
    );
    check(
        |snapshot| snapshot.data.marks[1].at = 12,
        "invalid content: data.marks[1]: at token 12, in a transcript of 11",
    );
    check(
        |snapshot| snapshot.data.user_turns = u32::MAX,
        "invalid content: data.user_turns: found 4294967295, expected at most 1073741823",
    );
    let order = |turn: u32, attempt: u32| {
        format!(
            "invalid content: state.turn_start: prompt ends at 3, turn starts at {turn}, attempt at {attempt}, \
             transcript ends at 11; expected in this order"
        )
    };
    for (turn, attempt) in [(2, 5), (6, 5), (5, 12)] {
        check(|snapshot| snapshot.state = generating(turn, attempt), &order(turn, attempt));
    }
    let slot = |slot| core::ToolSlot {
        call: samples::call(slot, "pure"),
        runs: true,
        replay: core::Replay::Pure,
        progress: core::SlotProgress::Ready { attempt: 0 },
    };
    check(
        |snapshot| snapshot.state = core::AgentState::ProcessingTools { slots: vec![slot(1), slot(1)] },
        "invalid content: state.slots: not in call order, or one is there twice",
    );
}

#[test]
fn a_snapshot_of_800_tokens_is_small() {
    let mut snapshot = samples::snapshots().remove(1);
    for turn in 0..8_u32 {
        let noise = |at: u32| (turn * 100 + at).wrapping_mul(2_654_435_761) >> 8;
        let tokens: Vec<_> = (0..70).map(|at| noise(at) % 150_000).collect();
        let logprobs: Vec<_> = (0..70).map(|at| core::Logprob::new(-(noise(at) as f32) / 1e7)).collect();
        snapshot.data.transcript.push_sampled(core::PolicyVersion(7), &tokens, &logprobs);
        snapshot.data.transcript.push_given(&tokens[..30]);
        snapshot.data.messages.push(core::Message::new(core::Role::Assistant, format!("{tokens:?}")));
    }
    let len = encode(&snapshot).len();
    assert!(len < 10 << 10, "{len} bytes");
}
