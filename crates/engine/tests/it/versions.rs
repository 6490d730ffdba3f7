//! R10: every sampled token knows its version.

use respool_core::{AgentState, CallOutcome, Event, MarkKind, PolicyVersion, VersionSpan};
use respool_engine::Engine;

use crate::scene::Scene;

fn versions(scene: &Scene) -> Vec<Option<u64>> {
    let versions = scene.engine.data().transcript.token_versions();
    versions.into_iter().map(|version| version.map(|version| version.0)).collect()
}

fn span(start: u32, len: u32, version: u64) -> VersionSpan {
    VersionSpan { start, len, version: PolicyVersion(version) }
}

#[test]
fn r10_tokens_keep_the_version_that_sampled_them() {
    let mut scene = Scene::new(|_| {});
    scene.sampled_by(3, &[11]).step(Event::Interrupt).step(Event::Resume);
    scene.sampled_by(5, &[701, 2]);
    let effect = scene.effect();
    scene.step(Event::GenerateEnded { effect, finish: respool_core::GenerateFinish::Stop });
    scene.returned(0, CallOutcome::Ok, "").encode();
    assert_eq!(versions(&scene), [Some(3), Some(5), Some(5), None, None]);
    let transcript = &scene.engine.data().transcript;
    assert_eq!(transcript.version_start(), Some(PolicyVersion(3)));
    assert_eq!(transcript.version_end(), Some(PolicyVersion(5)));
}

#[test]
fn r10_reported_spans_win_also_after_the_turn() {
    let mut scene = Scene::new(|_| {});
    scene.sampled_by(3, &[11]).step(Event::Interrupt).step(Event::Resume);
    let effect = scene.effect();
    scene.sampled_by(3, &[12, 13, 701, 2]);
    scene.step(Event::GenerateEnded { effect, finish: respool_core::GenerateFinish::Stop });
    scene.returned(0, CallOutcome::Ok, "").encode();
    // A span past the attempt's end labels no token of another attempt.
    scene.step(Event::Versions { effect, spans: vec![span(1, 99, 4)], uncertain: true });
    assert_eq!(versions(&scene), [Some(3), Some(3), Some(4), Some(4), Some(4), None, None]);
    assert!(scene.engine.data().version_uncertain);
    let marks: Vec<_> = scene.engine.data().marks.iter().map(|mark| (mark.at, mark.kind.clone())).collect();
    let version = |version| MarkKind::Version(PolicyVersion(version));
    assert_eq!(marks, [(2, version(3)), (3, MarkKind::Cut), (3, MarkKind::Resumed), (4, version(4))]);
}

#[test]
fn r10_an_attempt_that_was_left_amid_two_versions_is_uncertain() {
    for (versions, uncertain) in [(vec![3], false), (vec![3, 3], false), (vec![3, 4], true)] {
        let mut scene = Scene::new(|_| {});
        // What came before the attempt does not matter.
        scene.sampled_by(2, &[11]).step(Event::Resume);
        for version in versions {
            scene.sampled_by(version, &[12]);
        }
        scene.step(Event::Resume);
        assert_eq!(scene.engine.data().version_uncertain, uncertain);
    }
}

#[test]
fn r10_labels_of_an_unknown_attempt_are_rejected() {
    let mut scene = Scene::new(|_| {});
    let effect = scene.effect();
    scene.rejected(Event::Versions { effect, spans: vec![span(0, 1, 4)], uncertain: true });
    assert!(!scene.engine.data().version_uncertain);
    assert_eq!(scene.engine.data().rejected_events, 1);
}

#[test]
fn r10_nothing_sampled_has_no_version() {
    let scene = Scene::new(|_| {});
    let transcript = &scene.engine.data().transcript;
    assert_eq!((transcript.version_start(), transcript.version_end()), (None, None));
}

#[test]
fn attempts_that_do_not_belong_to_the_state_are_refused() {
    let check = |turns, attempt, turn_start, attempt_start, reason: &str| {
        let mut scene = Scene::new(|_| {});
        scene.sampled(&[11, 12, 13]);
        let (mut data, _) = scene.engine.clone().into_parts();
        data.assistant_turns = turns;
        let state = AgentState::Generating { attempt, fruitless: 0, turn_start, attempt_start };
        let refused = Engine::from_parts(data, state, scene.engine.dialect().clone()).unwrap_err();
        assert_eq!(refused.reason, reason);
    };
    check(0, 1, 4, 4, "its turn begins inside an attempt");
    check(0, 0, 5, 5, "an attempt has the name of an earlier or later one");
    check(1, 0, 2, 2, "an attempt has the name of an earlier or later one");
}
