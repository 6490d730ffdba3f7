use proptest::prelude::*;

use super::*;

const SUFFIX: [Token; 2] = [7, 8];

#[test]
fn the_last_generation_prompt_is_where_the_turn_began() {
    #[track_caller]
    fn check(prompt: &[Token], turn: u32, turn_tokens: u32) {
        assert_eq!(turns_by_suffix(SUFFIX.into()).find(prompt), TurnPlace { turn, turn_tokens });
    }
    check(&[], 0, 0);
    check(&[1, 2, 3], 0, 0);
    check(&[1, 7, 8], 0, 0);
    check(&[1, 7, 8, 5, 6], 0, 2);
    check(&[7, 8, 5, 2, 7, 8], 1, 0);
    check(&[7, 8, 5, 2, 7, 8, 7], 1, 1);
    assert_eq!(turns_by_suffix(Vec::new()).find(&[1, 2]), TurnPlace::default());
}

#[test]
fn ids_of_our_form_tell_their_rollout() {
    #[track_caller]
    fn check(id: &str, expected: Option<u128>) {
        assert_eq!(rollout_of_wire_id(id), expected.map(RolloutId), "{id}");
    }
    let ours = format!("{:032x}-{:08x}-{:016x}", 0xabc, 3, 9);
    check(&ours, Some(0xabc));
    check(&format!("generate-tokens-{ours}"), Some(0xabc));
    check(&ours[1..], None);
    check("", None);
    check("a-b-c", None);
    check(&ours.replace("abc", "xyz"), None);
}

#[test]
fn rollouts_have_seeds_of_their_own() {
    assert_eq!(seed(Some(RolloutId(5)), Some(1)), seed(Some(RolloutId(5)), Some(2)));
    assert_ne!(seed(Some(RolloutId(5)), None), seed(Some(RolloutId(6)), None));
    assert_ne!(seed(None, Some(1)), seed(None, Some(2)));
    assert_eq!(seed(None, None), 0);
}

proptest! {
    #[test]
    fn any_id_is_read_without_a_panic(id in ".*") {
        let _ = rollout_of_wire_id(&id);
    }
}
