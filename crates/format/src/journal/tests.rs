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
