//! R9: someone answers in the user's place.

use respool_core::{Event, Fault, TerminatingReplyTokens, Token};

use crate::scene::{Scene, interaction};

#[test]
fn r9_a_reply_is_a_user_turn_with_a_score() {
    let mut scene = Scene::new(|spec| spec.interaction = interaction());
    scene.turn(&[11, 2]).replied("20 21", 0.5, false).encode();
    assert_eq!(scene.response(), [11, 2, 20, 21, 9]);
    let data = scene.engine.data();
    assert_eq!((data.turn_scores.as_slice(), data.user_turns), (&[0.5][..], 1));
    scene.check_state("generating");
}

#[test]
fn r9_the_tokens_of_the_last_reply_are_omitted_or_appended() {
    let check = |tokens, response: &[Token]| {
        let mut scene = Scene::new(|spec| {
            spec.interaction = interaction();
            spec.options.compat.terminating_reply_tokens = tokens;
        });
        scene.turn(&[11, 2]).replied("20", 0.5, true);
        if scene.engine.encode().is_some() {
            scene.encode();
        }
        scene.check_finish("interaction_ended");
        assert_eq!(scene.response(), response);
        assert_eq!((scene.last_text().as_str(), scene.engine.data().user_turns), ("20", 1));
        assert_eq!(scene.engine.data().turn_scores, [0.5]);
    };
    check(TerminatingReplyTokens::Omit, &[11, 2]);
    check(TerminatingReplyTokens::Append, &[11, 2, 20, 9]);
}

#[test]
fn an_interaction_is_asked_again_where_that_can_help() {
    let check = |fault: Fault, times: usize| {
        let mut scene = Scene::new(|spec| {
            spec.interaction = interaction();
            spec.limits.max_attempts = 3;
        });
        scene.turn(&[11, 2]);
        let mut asked = 0;
        while scene.engine.state().name() == "interacting" {
            let effect = scene.effect();
            scene.step(Event::InteractFailed { effect, fault: fault.clone() });
            asked += 1;
        }
        assert_eq!(asked, times);
        assert_eq!(scene.failure(), format!("interact: {fault}"));
    };
    check(Fault::transient("away"), 3);
    check(Fault::terminal("gone for good"), 1);
}
