use proptest::prelude::*;

use super::*;
use crate::arbitrary;

fn encode_all(entries: &[JournalEntry]) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = Vec::new();
    let mut ends = vec![0];
    for entry in entries {
        bytes.extend(encode_entry(entry));
        ends.push(bytes.len());
    }
    (bytes, ends)
}

proptest! {
    /// P6.
    #[test]
    fn reading_gives_what_was_written(entries in arbitrary::journal()) {
        let (bytes, _) = encode_all(&entries);
        let journal = read_journal(&bytes);
        prop_assert_eq!(journal.good_bytes, bytes.len());
        prop_assert_eq!(journal.stopped, None);
        prop_assert_eq!(encode_all(&journal.entries).0, bytes);
        prop_assert_eq!(journal.entries, entries);
    }

    #[test]
    fn a_torn_end_costs_only_the_last_entry(entries in arbitrary::journal(), cut in any::<prop::sample::Index>()) {
        let (bytes, ends) = encode_all(&entries);
        let cut = cut.index(bytes.len() + 1);
        let whole = ends.iter().filter(|end| **end <= cut).count() - 1;
        let journal = read_journal(&bytes[..cut]);
        prop_assert_eq!(journal.good_bytes, ends[whole]);
        prop_assert_eq!(&journal.entries[..], &entries[..whole]);
        prop_assert_eq!(journal.stopped.is_some_and(|error| error.is_torn()), cut != ends[whole]);
    }

    #[test]
    fn damage_never_gives_another_event(
        entries in arbitrary::journal(),
        at in any::<prop::sample::Index>(),
        flip in 1..=u8::MAX,
    ) {
        let (mut bytes, ends) = encode_all(&entries);
        prop_assume!(!bytes.is_empty());
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        let before = ends.iter().filter(|end| **end <= at).count() - 1;
        let journal = read_journal(&bytes);
        prop_assert_eq!(&journal.entries[..], &entries[..before]);
        prop_assert!(journal.stopped.is_some());
    }
}

#[test]
fn a_gap_stops_reading() {
    let entry = |seq| JournalEntry { seq, event: Event::Interrupt };
    let (bytes, ends) = encode_all(&[entry(4), entry(5), entry(7)]);
    let journal = read_journal(&bytes);
    assert_eq!(journal.good_bytes, ends[2]);
    let stopped = journal.stopped.unwrap();
    assert_eq!(stopped.to_string(), "invalid content: seq: found 7 after 5, expected one more");
    assert!(!stopped.is_torn());
}

#[track_caller]
fn check(payload: &impl serde::Serialize, expected: &str) {
    let bytes = envelope::seal(Kind::JournalEntry, &crate::to_postcard(payload));
    let error = decode_entry(&bytes).unwrap_err().to_string();
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn forged_contents_are_refused() {
    let effect = (0_u32, 0_u32, 0_u32);
    let sampled = |len: u64| (0_u64, 2_u32, effect, 12_u32, 3_u64, len);
    let not_whole = "the payload is not journal entry format 1.0: ";
    check(&sampled(u64::MAX), not_whole);
    check(&sampled(u64::MAX >> 1), not_whole);
    check(&(0_u64, 99_u32), not_whole);
    let infinite = (sampled(0), f32::INFINITY.to_le_bytes().to_vec());
    check(&infinite, "invalid content: event.delta.logprobs: found inf, expected a finite value");
    check(
        &(sampled(0), vec![0_u8; 3]),
        "invalid content: event.delta.logprobs: 3 bytes, expected four for each",
    );
    let patience = (0_u64, 4_u32, effect, (1_u32, Some((1_u64, 1_000_000_000_u32))), "busy");
    check(
        &patience,
        "invalid content: event.fault.class.after.nanoseconds: found 1000000000, expected less than a second",
    );
}
