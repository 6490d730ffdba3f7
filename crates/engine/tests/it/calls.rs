//! R5, R6, R7: calls and their results; cancel; `once`.

use std::sync::Arc;

use respool_core::{
    CallOutcome::{self, Cancelled, Infrastructure, Interrupted, Malformed, Ok as Fine, OverLimit, Wrong},
    CallsOverLimit, Compat, Event, FailedCallReward, GenerateFinish, JsonText, MalformedCalls, Message, Role,
    RolloutSpec, Token, ToolCall, ToolResult, TruncateSide,
};
use respool_engine::Engine;
use respool_testkit::TokenDialect;

use crate::scene::{Scene, spec};

/// Lets all calls of a turn return, the last one first.
fn after(edit: impl FnOnce(&mut RolloutSpec), turn: &[Token]) -> Scene {
    let mut scene = Scene::new(edit);
    scene.turn(turn);
    let wanted: Vec<_> = scene.engine.wanted().effects().map(|(_, effect)| effect.slot).collect();
    if scene.engine.state().name() == "processing_tools" && scene.engine.encode().is_none() {
        wanted.iter().rev().for_each(|slot| _ = scene.returned(*slot, Fine, "found"));
    }
    if scene.engine.encode().is_some() {
        scene.encode();
    }
    scene
}

fn two_at_once(spec: &mut RolloutSpec) {
    spec.limits.max_parallel_calls = 2;
}

#[test]
fn r5_results_are_appended_in_call_order() {
    let scene = after(|_| {}, &[701, 702, 701, 2]);
    assert_eq!(scene.response(), [701, 702, 701, 2, 801, 802, 801, 9]);
    assert_eq!(scene.engine.data().tool_rewards, [0.25; 3]);
    let ids: Vec<_> =
        scene.engine.data().messages[2..].iter().map(|message| message.tool_call_id.clone()).collect();
    let called: Vec<_> =
        scene.engine.data().messages[1].tool_calls.iter().map(|call| Some(call.id.clone())).collect();
    assert_eq!(ids, called);
}

#[test]
fn r5_calls_over_the_limit_are_answered_or_dropped() {
    let scene = after(two_at_once, &[701, 702, 701, 2]);
    assert_eq!(scene.outcomes(), [Fine, Fine, OverLimit]);
    assert_eq!(scene.last_text(), "Error: only the first 2 tool calls of a turn are run; this one was not");
    let drops = |spec: &mut RolloutSpec| {
        two_at_once(spec);
        spec.options.compat.calls_over_limit = CallsOverLimit::Drop;
    };
    let scene = after(drops, &[701, 702, 701, 2]);
    assert_eq!(scene.outcomes(), [Fine, Fine, OverLimit]);
    assert_eq!(scene.response(), [701, 702, 701, 2, 801, 802, 9]);
}

#[test]
fn r5_malformed_calls_do_not_count_toward_the_limit() {
    // Malformed, t01, malformed, t02, t01.
    let turn = [3, 4, 701, 3, 4, 702, 701, 2];
    let scene = after(two_at_once, &turn);
    assert_eq!(scene.outcomes(), [Malformed, Fine, Malformed, Fine, OverLimit]);
    let answers = scene.engine.data().messages.iter().filter(|message| message.role == Role::Tool).count();
    assert_eq!(answers, 5);
    let drops = |spec: &mut RolloutSpec| {
        two_at_once(spec);
        spec.options.compat.malformed_calls = MalformedCalls::Drop;
    };
    let scene = after(drops, &turn);
    assert_eq!(scene.outcomes(), [Malformed, Fine, Malformed, Fine, OverLimit]);
    let answers = scene.engine.data().messages.iter().filter(|message| message.role == Role::Tool).count();
    assert_eq!(answers, 3);
}

#[test]
fn r5_a_turn_of_dropped_calls_goes_on_as_one_without_calls() {
    let drops = |spec: &mut RolloutSpec| spec.options.compat.malformed_calls = MalformedCalls::Drop;
    after(drops, &[11, 3, 4, 2]).check_finish("answered");
}

#[test]
fn r5_a_wrong_call_keeps_its_place_and_no_tool_runs() {
    let scene = after(two_at_once, &[3, 601, 5, 4, 702, 701, 2]);
    assert_eq!(scene.outcomes(), [Wrong, Fine, OverLimit]);
    assert_eq!(scene.response()[7..], [801, 802, 801, 9]);
    let ran: Vec<_> = scene.engine.data().calls.iter().map(|call| call.ran).collect();
    assert_eq!(ran, [false, true, false]);
}

#[test]
fn r5_a_call_across_a_cut_is_one_call() {
    let mut scene = Scene::new(|_| {});
    scene.sampled(&[11, 3]).step(Event::Interrupt).step(Event::Resume);
    scene.sampled(&[601]).step(Event::Resume).turn(&[4, 2]);
    scene.returned(0, Fine, "").encode();
    assert_eq!(scene.response(), [11, 3, 601, 4, 2, 801, 9]);
}

#[test]
fn r6_only_answers_bring_rewards() {
    let check = |outcome, failed_call_reward, rewards: &[f64]| {
        let mut scene = Scene::new(|spec| spec.options.compat.failed_call_reward = failed_call_reward);
        scene.turn(&[701, 2]).returned(0, outcome, "text").encode();
        assert_eq!(scene.engine.data().tool_rewards, rewards, "{outcome:?}");
    };
    check(Fine, FailedCallReward::None, &[0.25]);
    check(Wrong, FailedCallReward::None, &[]);
    check(Wrong, FailedCallReward::Zero, &[0.0]);
    check(Infrastructure, FailedCallReward::Zero, &[]);
}

#[test]
fn r7_long_texts_are_cut_on_the_named_side() {
    let check = |compat: Compat, side, kept: &str| {
        let mut scene = Scene::new(|spec| {
            spec.limits.max_tool_response_length = 3;
            (spec.options.compat, spec.options.truncate_side) = (compat, side);
        });
        scene.turn(&[701, 2]).returned(0, Fine, "aé京😀x").encode();
        assert_eq!(scene.last_text(), kept);
    };
    check(Compat::default(), TruncateSide::Right, "aé京...(truncated)");
    check(Compat::default(), TruncateSide::Left, "(truncated)...京😀x");
    check(Compat::default(), TruncateSide::Middle, "a...(truncated)...x");
    check(Compat::verl(), TruncateSide::Left, "aé京...(truncated)");
}

#[test]
fn a_once_call_is_recorded_before_it_runs_and_never_run_again() {
    let mut scene = Scene::new(|_| {});
    scene.turn(&[703, 2]);
    let effect = scene.tool(0);
    let result = ToolResult::text(CallOutcome::Ok, "done");
    assert!(scene.rejected(Event::ToolReturned { effect, result }).reason.contains("recorded as started"));
    scene.step(Event::ToolStarted { effect }).step(Event::Interrupt).step(Event::Resume);
    assert_eq!(scene.tool(0), effect);
    assert!(scene.engine.is_started(effect));
    scene.step(Event::ToolInterrupted { effect }).encode();
    assert_eq!(scene.outcomes(), [Interrupted]);
    assert!(scene.last_text().contains("interrupted"));
}

#[test]
fn finished_siblings_are_kept_and_the_others_run_again() {
    let mut scene = Scene::new(|_| {});
    scene.turn(&[701, 702, 2]).returned(1, Fine, "b");
    let late = scene.tool(0);
    scene.step(Event::Interrupt).step(Event::Resume);
    let result = ToolResult::text(Fine, "late");
    scene.rejected(Event::ToolReturned { effect: late, result });
    let wanted: Vec<_> =
        scene.engine.wanted().effects().map(|(_, effect)| (effect.slot, effect.attempt)).collect();
    assert_eq!(wanted, [(0, 1)]);
    scene.returned(0, Fine, "a").encode();
    let texts: Vec<_> =
        scene.engine.data().messages[2..].iter().map(|message| message.content.text()).collect();
    assert_eq!(texts, ["a", "b"]);
}

#[test]
fn a_call_is_told_of_the_earlier_calls_to_its_tool() {
    let mut scene = Scene::new(|_| {});
    scene.turn(&[701, 702, 2]).returned(0, Fine, "").returned(1, Fine, "").encode();
    scene.turn(&[701, 701, 3, 4, 2]).returned(0, Fine, "");
    let request = scene.engine.tool_request(scene.tool(1)).unwrap();
    let history: Vec<_> = request.history.iter().map(|call| (call.name.as_str(), call.id.as_str())).collect();
    assert_eq!(history, [("t01", "c00000000"), ("t01", "c00001000")]);
}

#[test]
fn reasoning_and_arguments_count_as_text_to_encode() {
    let bytes = |edit: &dyn Fn(&mut Message)| {
        let (mut spec, mut message) = (spec(), Message::new(Role::Assistant, "a"));
        edit(&mut message);
        spec.messages.push(message);
        Engine::new(Arc::new(spec), Arc::new(TokenDialect::new())).encode_bytes()
    };
    let plain = bytes(&|_| {});
    assert_eq!(bytes(&|message| message.reasoning = Some("0123456789".to_owned())), plain + 10);
    let arguments = JsonText::new(r#"{"a": 1}"#).unwrap();
    let call = ToolCall { id: String::new(), slot: 0, name: "t01".to_owned(), arguments };
    assert_eq!(bytes(&|message| message.tool_calls.push(call.clone())), plain + 8);
}

#[test]
fn cancel_gives_every_open_call_its_one_result() {
    let mut scene = Scene::new(|_| {});
    scene.turn(&[701, 702, 2]).returned(0, Fine, "found").step(Event::Cancel);
    scene.check_finish("cancelled");
    assert_eq!(scene.outcomes(), [Fine, Cancelled]);
    assert_eq!(scene.engine.data().tool_rewards, [0.25]);
    assert_eq!(scene.last_text(), "Error: the rollout was cancelled");
    let rejected = scene.rejected(Event::Cancel);
    assert_eq!(rejected.to_string(), "cancel does not fit a rollout that is terminated: the rollout is over");
}

#[test]
fn cancel_inside_a_turn_keeps_what_was_sampled() {
    let mut scene = Scene::new(|_| {});
    scene.sampled(&[10, 11, 701]).step(Event::Cancel);
    scene.check_finish("cancelled");
    assert_eq!((scene.response(), scene.last_text().as_str()), (&[10, 11, 701][..], "ab"));
    assert_eq!(scene.engine.data().assistant_turns, 0);
}

#[test]
fn r5_a_call_that_was_read_leniently_runs_and_is_counted() {
    let check = |ended: &dyn Fn(&mut Scene), count| {
        let mut scene = Scene::new(|_| {});
        ended(scene.sampled(&[3, 601, 8, 4, 701, 3, 602, 8, 4, 2]));
        assert_eq!(scene.engine.data().lenient_calls(), count);
    };
    check(&|scene| _ = scene.ended(GenerateFinish::Stop), 2);
    check(&|scene| _ = scene.step(Event::Interrupt).step(Event::Resume), 2);
    check(&|scene| _ = scene.step(Event::Cancel), 2);
    check(&|_| {}, 0);
}
