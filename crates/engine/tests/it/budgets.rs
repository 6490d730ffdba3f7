//! R1, R2, R8: nothing gets longer than it may.

use respool_core::{CallOutcome, GenerateFinish, Limits, PromptOverflow, Token};

use crate::scene::{Scene, interaction};

fn limited(response: u32, context: Option<u32>, turn: Option<u32>) -> Limits {
    Limits { response_length: response, context_length: context, turn_length: turn, ..Limits::default() }
}

#[test]
fn r1_a_prompt_over_its_limit_fails_with_both_numbers() {
    let scene = Scene::new(|spec| spec.limits.prompt_length = 1);
    let failure = scene.failure();
    assert!(failure.contains("2 tokens") && failure.contains("at most 1 (prompt_length)"), "{failure}");
    let scene = Scene::new(|spec| spec.limits.context_length = Some(0));
    assert!(scene.failure().contains("at most 0 (the model's context)"), "{}", scene.failure());
}

#[test]
fn r1_a_prompt_is_cut_only_where_that_is_asked() {
    let check = |overflow, prompt: &[Token]| {
        let scene = Scene::new(|spec| {
            spec.limits.prompt_length = 1;
            spec.options.prompt_overflow = overflow;
        });
        assert_eq!(scene.engine.data().transcript.prompt_ids(), prompt);
    };
    check(PromptOverflow::CutLeft, &[5]);
    check(PromptOverflow::CutRight, &[1]);
}

#[test]
fn r1_a_prompt_that_is_cut_to_the_context_leaves_room_for_an_answer() {
    let mut scene = Scene::new(|spec| {
        spec.messages = vec![respool_core::Message::new(respool_core::Role::User, "1 5 6")];
        spec.limits.context_length = Some(2);
        spec.options.prompt_overflow = PromptOverflow::CutLeft;
    });
    assert_eq!((scene.engine.data().transcript.prompt_ids(), scene.max_tokens()), (&[6][..], 1));
    scene.sampled(&[2]);
}

#[test]
fn r2_a_budget_is_the_least_of_what_is_left() {
    let check = |limits: Limits, first, after_two| {
        let mut scene = Scene::new(|spec| spec.limits = limits);
        assert_eq!(scene.max_tokens(), first);
        scene.sampled(&[11, 12]).ended(GenerateFinish::Abort);
        assert_eq!(scene.max_tokens(), after_two);
    };
    check(limited(64, None, None), 64, 62);
    check(limited(64, Some(12), None), 10, 8);
    check(limited(64, Some(12), Some(6)), 6, 4);
    check(limited(3, Some(12), Some(6)), 3, 1);
}

#[test]
fn r2_a_new_turn_has_its_own_cap() {
    let mut scene = Scene::new(|spec| spec.limits = limited(10, Some(11), Some(6)));
    scene.turn(&[11, 701, 2]).returned(0, CallOutcome::Ok, "").encode();
    assert_eq!(scene.max_tokens(), 4);
}

#[test]
fn r2_tokens_over_the_budget_are_dropped_and_counted() {
    let check = |limits: Limits, finish| {
        let mut scene = Scene::new(|spec| spec.limits = limits);
        scene.sampled(&[11, 12, 13, 14, 2]);
        scene.check_finish(finish);
        assert_eq!(scene.response(), [11, 12, 13]);
        assert_eq!(scene.engine.data().wasted_tokens, 2);
    };
    check(limited(3, None, None), "response_length");
    check(limited(9, Some(5), None), "context_length");
    check(limited(9, None, Some(3)), "turn_length");
}

#[test]
fn r2_no_budget_sends_no_request() {
    Scene::new(|spec| spec.limits = limited(0, None, None)).check_finish("response_length");
    Scene::new(|spec| spec.limits = limited(9, Some(2), None)).check_finish("context_length");
    Scene::new(|spec| spec.limits = limited(9, None, Some(0))).check_finish("turn_length");
}

#[test]
fn r8_results_that_reach_a_limit_are_not_appended() {
    let check = |limits: Limits, finish| {
        let mut scene = Scene::new(|spec| spec.limits = limits);
        scene.turn(&[11, 701, 2]).returned(0, CallOutcome::Ok, "found");
        let messages = scene.engine.data().messages.len();
        scene.encode();
        scene.check_finish(finish);
        assert_eq!(scene.response(), [11, 701, 2]);
        let data = scene.engine.data();
        assert_eq!((data.messages.len(), data.user_turns), (messages, 0));
        assert_eq!(data.tool_rewards, [0.25]);
        assert_eq!(scene.outcomes(), [CallOutcome::Ok]);
    };
    check(limited(5, None, None), "response_length");
    check(limited(9, Some(7), None), "context_length");
}

#[test]
fn r8_results_that_leave_a_token_are_appended() {
    let mut scene = Scene::new(|spec| spec.limits = limited(6, None, None));
    scene.turn(&[11, 701, 2]).returned(0, CallOutcome::Ok, "").encode();
    assert_eq!((scene.response(), scene.max_tokens()), (&[11, 701, 2, 801, 9][..], 1));
}

#[test]
fn r8_a_reply_that_reaches_a_limit_keeps_its_score() {
    let mut scene = Scene::new(|spec| {
        spec.limits = limited(4, None, None);
        spec.interaction = interaction();
    });
    scene.turn(&[11, 2]).replied("20", 0.5, false).encode();
    scene.check_finish("response_length");
    let data = scene.engine.data();
    assert_eq!((data.turn_scores.as_slice(), data.user_turns), (&[0.5][..], 0));
}
