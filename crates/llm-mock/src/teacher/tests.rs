use proptest::prelude::*;

use super::*;
use crate::testing::{STOP, decode, encoder, request, turn, turn_in_pieces, turn_writer};

const SOLUTION: &str = "Janet sells 16 - 3 - 4 = <<16-3-4=9>>9 duck eggs a day.\n\
    She makes 9 * 2 = $<<9*2=18>>18 every day at the farmer’s market.\n#### 18";

fn teacher(error_rate: f64, has_calculator: bool) -> TeacherPolicy {
    let task = TeacherTask { solution: SOLUTION.into(), has_calculator };
    TeacherPolicy {
        lookup: Arc::new(move |_| Some(task.clone())),
        encode: encoder(),
        write: turn_writer(),
        stop: STOP,
        error_rate,
    }
}

fn say(policy: &TeacherPolicy, seed: u64, turn_index: u32) -> String {
    let (tokens, _) = turn(policy, &request(seed, &[1, 2, 3], turn_index)).unwrap();
    assert_eq!(tokens.last(), Some(&STOP));
    decode(&tokens)
}

fn call(expression: &str) -> String {
    turn_writer()("", &[("calculator", &format!("{{\"expression\":\"{expression}\"}}"))]).unwrap()
}

#[test]
fn each_mark_is_a_turn_with_a_call_and_the_last_turn_answers() {
    let policy = teacher(0.0, true);
    assert_eq!(say(&policy, 1, 0), format!("Janet sells 16 - 3 - 4 =\n{}", call("16-3-4")));
    assert_eq!(say(&policy, 1, 1), format!("9 duck eggs a day.\nShe makes 9 * 2 = $\n{}", call("9*2")));
    let end = "18 every day at the farmer’s market.\n#### 18";
    assert_eq!(say(&policy, 1, 2), end);
    assert_eq!(say(&policy, 1, 9), end, "asked again");
}

#[test]
fn without_a_calculator_it_is_one_turn() {
    let expected = "Janet sells 16 - 3 - 4 = 9 duck eggs a day.\n\
        She makes 9 * 2 = $18 every day at the farmer’s market.\n#### 18";
    assert_eq!(say(&teacher(0.0, false), 1, 0), expected);
}

#[test]
fn errors_are_as_frequent_as_asked_and_decided_by_the_seed() {
    let wrong = |rate, seed| !say(&teacher(rate, true), seed, 2).ends_with("#### 18");
    assert_eq!((0..100).filter(|seed| wrong(0.0, *seed)).count(), 0);
    assert_eq!((0..100).filter(|seed| wrong(1.0, *seed)).count(), 100);
    let some = (0..400).filter(|seed| wrong(0.25, *seed)).count();
    assert!((60..140).contains(&some), "{some} of 400");
}

#[test]
fn an_unknown_task_is_a_terminal_fault_that_names_the_rollout() {
    let policy = TeacherPolicy { lookup: Arc::new(|_| None), ..teacher(0.0, true) };
    let fault = turn(&policy, &request(1, &[1], 0)).unwrap_err();
    assert!(!fault.class.may_retry());
    assert!(fault.message.contains("no solution is known for rollout 0000"), "{fault}");
}

#[test]
fn a_turn_that_the_family_cannot_say_is_a_terminal_fault() {
    let policy = TeacherPolicy { write: Arc::new(|_, _| None), ..teacher(0.0, true) };
    let fault = turn(&policy, &request(1, &[1], 0)).unwrap_err();
    assert!(!fault.class.may_retry());
    assert!(fault.message.contains("cannot be written in the model's tool-call format"), "{fault}");
}

proptest! {
    #[test]
    fn a_turn_is_the_same_however_it_is_cut(
        seed: u64,
        turn_index in 0_u32..4,
        sizes in prop::collection::vec(0_usize..60, 0..6),
    ) {
        let (policy, request) = (teacher(0.5, true), request(seed, &[1, 2], turn_index));
        prop_assert_eq!(turn_in_pieces(&policy, &request, &sizes), turn(&policy, &request).unwrap());
    }
}
