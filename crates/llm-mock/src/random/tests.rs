use proptest::prelude::*;

use super::*;
use crate::testing::{STOP, continued, decode, hash_policy, request, take, turn, turn_in_pieces};

proptest! {
    #[test]
    fn a_turn_is_the_same_however_it_is_cut(
        seed: u64,
        prompt in prop::collection::vec(0_u32..400, 0..40),
        sizes in prop::collection::vec(0_usize..60, 0..12),
    ) {
        let (policy, request) = (hash_policy(), request(seed, &prompt, 3));
        prop_assert_eq!(turn_in_pieces(&policy, &request, &sizes), turn(&policy, &request).unwrap());
    }

    #[test]
    fn a_foreign_prefix_is_continued_the_same_however_it_is_cut(
        seed: u64,
        foreign in prop::collection::vec(0_u32..400, 1..40),
        first in 1_usize..40,
    ) {
        let policy = hash_policy();
        let request = continued(request(seed, &[5, 6], 0), &foreign);
        let whole = take(policy.start(&request).unwrap(), 60);
        let (mut tokens, mut logprobs) = take(policy.start(&request).unwrap(), first);
        if tokens.last() != Some(&STOP) {
            let rest = take(policy.start(&continued(request, &tokens)).unwrap(), 60 - tokens.len());
            tokens.extend(rest.0);
            logprobs.extend(rest.1);
        }
        prop_assert_eq!((tokens, logprobs), whole);
    }

    #[test]
    fn position_in_the_rollout_and_attempt_do_not_matter(seed: u64, turn_index: u32, attempt: u32) {
        let policy = hash_policy();
        let mut other = request(seed, &[1], turn_index);
        other.effect.attempt = attempt;
        prop_assert_eq!(turn(&policy, &other).unwrap(), turn(&policy, &request(seed, &[1], 0)).unwrap());
    }
}

/// What a policy says over many seeds.
fn sayings() -> Vec<String> {
    let policy = hash_policy();
    (0..500).map(|seed| decode(&turn(&policy, &request(seed, &[1], 0)).unwrap().0)).collect()
}

#[test]
fn it_says_everything_that_the_grammar_has() {
    let sayings = sayings();
    let count = |wanted: &dyn Fn(&str) -> bool| sayings.iter().filter(|saying| wanted(saying)).count();
    assert!(count(&|text| text.is_empty()) > 0, "empty turns");
    assert!(count(&|text| text.contains("<call>")) > 200, "calls");
    assert!(count(&|text| text.matches("</call>").count() > 2) > 50, "several calls");
    let is_open = |text: &str| text.matches("<call>").count() > text.matches("</call>").count();
    assert!(count(&is_open) > 10, "calls without an end");
    assert!(count(&|text| text.contains("{\"name\": \"cments\": {}}")) > 0, "calls without a middle");
    assert!(count(&|text| text.contains("no_such_tool")) > 0, "calls of an unknown tool");
    assert!(count(&|text| text.contains("👩‍👩‍👧")) > 50, "characters of many bytes");
    assert!(count(&|text| text.starts_with("<think>")) > 50, "reasoning");
    assert!(count(&|text| !text.is_empty() && !text.contains("<call>")) > 50, "answers");
}

#[test]
fn a_policy_that_is_not_stopped_goes_on() {
    let policy = hash_policy();
    let mut cursor = policy.start(&request(1, &[1], 0)).unwrap();
    let tokens: Vec<_> = (0..2000).map(|_| cursor.next().0).collect();
    assert_eq!(
        tokens[1999],
        policy.start(&continued(request(1, &[1], 0), &tokens[..1999])).unwrap().next().0
    );
}

#[test]
fn impossible_turn_lengths_are_taken_as_the_whole_prompt() {
    let mut request = request(1, &[1, 2], 0);
    request.turn_tokens = u32::MAX;
    assert!(turn(&hash_policy(), &request).is_ok());
}

#[test]
fn a_grammar_without_words_is_silent() {
    let grammar =
        Grammar { words: Vec::new(), max_calls: 0, ..Grammar::new(&[], &crate::testing::turn_writer()) };
    let policy = HashPolicy::new(grammar, &crate::testing::encoder(), STOP);
    assert_eq!(turn(&policy, &request(1, &[1], 0)).unwrap().0, [STOP]);
}
