use respool_core::{EffectId, GenerateRequest, RolloutId, Sampling};

use super::*;
use crate::TurnPlace;

const ASK: [Token; 2] = [7, 8];

fn book() -> TaskBook {
    let task = |name: &str| TeacherTask { solution: name.into(), has_calculator: true };
    TaskBook::new([
        ((20..40).collect(), task("long")),
        ((20..30).collect(), task("its beginning")),
        (vec![50, 51], task("short")),
        (vec![], task("nothing")),
    ])
}

#[track_caller]
fn check(prompt: &[Token], task: Option<&str>, turn: u32, turn_tokens: u32) {
    let request = GenerateRequest {
        rollout: RolloutId(0),
        effect: EffectId { turn: 0, slot: 0, attempt: 0 },
        prompt_ids: prompt.to_vec(),
        turn_tokens: 0,
        max_tokens: 1,
        stop_token_ids: Arc::from([]),
        sampling: Arc::new(Sampling::default()),
        seed: 0,
    };
    let found = book().lookup()(&request).map(|task| task.solution.to_string());
    assert_eq!(found.as_deref(), task);
    assert_eq!(book().turns(ASK.into()).find(prompt), TurnPlace { turn, turn_tokens });
}

#[test]
fn the_question_that_ends_last_is_the_task() {
    check(&[1, 2, 7, 8], None, 0, 0);
    check(&[50, 51, 7, 8], Some("short"), 0, 0);
    let long: Vec<Token> = (20..40).chain(ASK).collect();
    check(&long, Some("long"), 0, 0);
    let cut: Vec<Token> = (20..35).chain(ASK).collect();
    check(&cut, Some("its beginning"), 0, 0);
}

#[test]
fn turns_before_the_question_are_not_counted() {
    // A few-shot example, then the task, one turn, and a turn that has begun.
    let prompt: Vec<Token> =
        [50, 51].into_iter().chain(ASK).chain([5]).chain(20..40).chain(ASK).chain([5, 6]).collect();
    check(&prompt, Some("long"), 0, 2);
    let later: Vec<Token> = prompt.into_iter().chain([2]).chain(ASK).chain([9]).collect();
    check(&later, Some("long"), 1, 1);
}
