//! R3, R4, R12, R13, R15: how turns end, and what comes then.

use respool_core::{
    CallOutcome, Event, FailedCallReward, Fault, GenerateFinish, MalformedCalls, MarkKind, RolloutSpec, Token,
};

use crate::scene::{Scene, interaction};

#[test]
fn r3_an_abort_keeps_stops_or_goes_on() {
    let check = |tokens: &[Token], state| {
        let mut scene = Scene::new(|spec| spec.limits.response_length = 3);
        scene.sampled(tokens).ended(GenerateFinish::Abort);
        scene.check_state(state);
        assert_eq!(scene.response(), tokens);
        scene
    };
    check(&[11, 2], "terminated").check_finish("answered");
    check(&[11, 12, 13], "terminated").check_finish("response_length");
    check(&[11, 12, 2], "terminated").check_finish("answered");
    assert_eq!(check(&[11, 12], "generating").effect().attempt, 1);
}

#[test]
fn r3_a_stop_token_stops_the_turn_also_where_the_server_calls_it_length() {
    let check = |leave: &dyn Fn(&mut Scene)| {
        let mut scene = Scene::new(|spec| spec.limits.turn_length = Some(2));
        leave(scene.sampled(&[701, 2]));
        scene.check_state("processing_tools");
        scene.returned(0, CallOutcome::Ok, "").encode().sampled(&[11, 2]).ended(GenerateFinish::Length);
        scene.check_finish("answered");
    };
    check(&|scene| _ = scene.ended(GenerateFinish::Length));
    check(&|scene| _ = scene.step(Event::Interrupt).step(Event::Resume));
}

#[test]
fn r3_reasons_that_end_a_turn_end_the_rollout() {
    let check = |finish: GenerateFinish, name| {
        let mut scene = Scene::new(|_| {});
        scene.sampled(&[11, 701]).ended(finish);
        scene.check_finish(name);
        assert_eq!(scene.outcomes(), [CallOutcome::NotRun]);
        assert_eq!(scene.engine.data().assistant_turns, 1);
    };
    check(GenerateFinish::Length, "turn_length");
    check(GenerateFinish::Repetition, "repetition");
    check(GenerateFinish::ContextLength, "context_length");
    check(GenerateFinish::Other("odd".to_owned()), "odd");
}

#[test]
fn r3_a_prompt_refused_for_its_length_is_a_failure() {
    let mut scene = Scene::new(|_| {});
    scene.ended(GenerateFinish::ContextLength);
    assert!(scene.failure().contains("prompt of 2 tokens"), "{}", scene.failure());
}

/// The deltas of a turn, each `None` a cut; what is kept of `all`.
#[track_caller]
fn check_stop(stop: &str, deltas: &[Option<&[Token]>], kept: &[Token]) {
    let mut scene = Scene::new(|spec| spec.sampling.stop = vec![stop.to_owned()]);
    for delta in deltas {
        match delta {
            Some(tokens) => scene.sampled(tokens),
            None => scene.step(Event::Interrupt).step(Event::Resume),
        };
    }
    assert_eq!(scene.response(), kept);
    scene.check_finish("answered");
}

#[test]
fn r3_stop_strings_are_matched_over_the_whole_turn() {
    check_stop("abc", &[Some(&[13, 10, 11, 12, 13, 2])], &[13, 10, 11, 12]);
    check_stop("abc", &[Some(&[10]), Some(&[11]), Some(&[12, 13])], &[10, 11, 12]);
    check_stop("abc", &[Some(&[10, 11]), None, Some(&[12, 13])], &[10, 11, 12]);
    check_stop("abc", &[Some(&[10]), None, Some(&[11]), None, Some(&[12])], &[10, 11, 12]);
    // A character of two tokens, cut inside.
    check_stop("é", &[Some(&[10, 40]), None, Some(&[41, 10])], &[10, 40, 41]);
    // Tokens that stand for nothing do not hide the beginning.
    let nothing = [0; 20];
    let all = [&[10][..], &nothing, &[11]].concat();
    check_stop("ab", &[Some(&[10]), Some(&nothing), None, Some(&[11, 12])], &all);
}

#[test]
fn r3_tokens_after_a_stop_string_are_counted() {
    let mut scene = Scene::new(|spec| spec.sampling.stop = vec!["b".to_owned()]);
    scene.sampled(&[10, 11, 12, 13]);
    assert_eq!(scene.engine.data().wasted_tokens, 2);
}

#[test]
fn r3_stop_tokens_are_the_dialects_and_the_tasks() {
    let check = |ignore_eos, last, state| {
        let mut scene = Scene::new(|spec| {
            (spec.sampling.ignore_eos, spec.sampling.stop_token_ids) = (ignore_eos, vec![33]);
        });
        scene.sampled(&[11, last]).ended(GenerateFinish::Abort).check_state(state);
    };
    check(false, 2, "terminated");
    check(false, 33, "terminated");
    check(true, 2, "generating");
    check(true, 33, "terminated");
}

#[track_caller]
fn check_limits(edit: impl FnOnce(&mut RolloutSpec), turn: &[Token], finish: &str) {
    let mut scene = Scene::new(edit);
    scene.turn(turn);
    scene.check_finish(finish);
    assert_eq!(scene.engine.data().assistant_turns, 1);
}

#[test]
fn r4_limits_are_tested_in_order_and_an_answer_is_an_answer() {
    let all = |spec: &mut RolloutSpec| {
        spec.limits.response_length = 3;
        spec.limits.context_length = Some(5);
        (spec.limits.max_assistant_turns, spec.limits.max_user_turns) = (Some(1), Some(0));
    };
    check_limits(all, &[11, 701, 2], "response_length");
    check_limits(all, &[11, 12, 2], "answered");
    check_limits(all, &[701, 2], "assistant_turns");
    check_limits(|spec| spec.limits.max_user_turns = Some(0), &[701, 2], "user_turns");
    check_limits(|spec| spec.limits.context_length = Some(4), &[701, 2], "context_length");
}

#[test]
fn r4_a_malformed_call_is_an_attempt_unless_it_is_dropped() {
    let check = |malformed, finish| {
        let limit = |spec: &mut RolloutSpec| {
            spec.limits.max_assistant_turns = Some(1);
            spec.options.compat.malformed_calls = malformed;
        };
        check_limits(limit, &[11, 3, 4, 2], finish);
    };
    check(MalformedCalls::Answer, "assistant_turns");
    check(MalformedCalls::Drop, "answered");
}

#[test]
fn r4_an_empty_turn_is_counted_and_not_asked_again() {
    let mut scene = Scene::new(|spec| spec.interaction = interaction());
    scene.ended(GenerateFinish::Stop);
    scene.check_finish("empty_reply");
    assert_eq!(scene.engine.data().num_turns(), 2);
    assert_eq!(scene.engine.data().messages.len(), 1);
}

#[test]
fn r4_calls_come_before_the_interaction() {
    let mut scene = Scene::new(|spec| spec.interaction = interaction());
    scene.turn(&[701, 2]).check_state("processing_tools");
    scene.returned(0, CallOutcome::Ok, "").encode().turn(&[11, 2]);
    scene.check_state("interacting");
}

#[test]
fn r12_a_limit_of_user_turns_lets_one_more_turn_happen() {
    let mut scene = Scene::new(|spec| spec.limits.max_user_turns = Some(1));
    scene.turn(&[701, 2]).returned(0, CallOutcome::Ok, "").encode().turn(&[702, 2]);
    scene.check_finish("user_turns");
    let data = scene.engine.data();
    assert_eq!((data.user_turns, data.assistant_turns, data.num_turns()), (1, 2, 4));
    assert_eq!(scene.outcomes(), [CallOutcome::Ok, CallOutcome::NotRun]);
}

#[test]
fn r13_a_stop_token_that_was_not_returned_is_supplied() {
    let mut scene = Scene::new(|_| {});
    scene.turn(&[11, 701]).returned(0, CallOutcome::Ok, "").encode().turn(&[14]);
    assert_eq!(scene.response(), [11, 701, 2, 801, 9, 14]);
    assert_eq!(scene.mask(), [1, 1, 0, 0, 0, 1]);
    scene.check_finish("answered");
}

#[test]
fn r15_a_turn_that_may_not_be_cut_is_asked_again() {
    let check = |leave: &dyn Fn(&mut Scene)| {
        let mut scene = Scene::new(|spec| spec.options.partial_rollout = false);
        scene.turn(&[11, 701, 2]).returned(0, CallOutcome::Ok, "").encode();
        let before = scene.response().to_vec();
        leave(scene.sampled_by(2, &[12, 13]));
        assert_eq!(scene.response(), before);
        assert_eq!((scene.engine.data().wasted_tokens, scene.effect().attempt), (2, 1));
        assert!(scene.engine.data().marks.iter().all(|mark| mark.at <= 7));
        let versions =
            scene.engine.data().marks.iter().filter(|mark| matches!(mark.kind, MarkKind::Version(_)));
        assert_eq!(versions.map(|mark| mark.at).collect::<Vec<_>>(), [2], "only of tokens that are there");
    };
    check(&|scene| _ = scene.step(Event::Interrupt));
    check(&|scene| _ = scene.step(Event::Resume));
    check(&|scene| _ = scene.ended(GenerateFinish::Abort));
    check(&|scene| _ = scene.broke(Fault::transient("gone")));
}

#[test]
fn r15_a_turn_that_stopped_is_kept_all_the_same() {
    let mut scene = Scene::new(|spec| spec.options.partial_rollout = false);
    scene.sampled(&[11, 2]).step(Event::Interrupt).check_finish("answered");
}

#[test]
fn attempts_without_a_token_are_limited() {
    let mut scene = Scene::new(|spec| spec.limits.max_attempts = 2);
    scene.broke(Fault::transient("gone")).sampled(&[11]).broke(Fault::transient("gone"));
    scene.broke(Fault::transient("gone"));
    scene.check_state("generating");
    // Interrupts are nobody's failure.
    scene.step(Event::Interrupt).step(Event::Resume).check_state("generating");
    scene.broke(Fault::transient("server 3 is gone"));
    let failure = scene.failure();
    assert!(failure.contains("2 attempts without a new token; the last: server 3 is gone"), "{failure}");
    assert_eq!(scene.response(), [11]);
    assert_eq!(scene.last_text(), "b");
}

#[test]
fn a_failure_that_stays_is_not_retried() {
    let mut scene = Scene::new(|spec| spec.options.compat.failed_call_reward = FailedCallReward::Zero);
    scene.broke(Fault::terminal("no such model"));
    assert_eq!(scene.failure(), "generate: no such model");
}
