use std::sync::Arc;

use respool_core::{
    AgentData, Finish, Logprob, Mark, MarkKind, PolicyVersion, RolloutId, RolloutSpec, Token, Trajectory,
};
use respool_dialect::{Clock, DialectOptions};

use super::*;

fn dialect() -> HfDialect {
    HfDialect::embedded(DialectOptions::new(Clock::from_unix_seconds(0))).unwrap()
}

/// A sampled text, cut before every token and at its end.
fn cut_everywhere(prompt: &[Token], text: &[Token]) -> Item {
    let mut data = AgentData::new(Arc::new(RolloutSpec::new(RolloutId(1), "task", Vec::new())));
    data.transcript.push_given(prompt);
    data.transcript.end_prompt();
    data.transcript.push_sampled(PolicyVersion(3), text, &vec![Logprob::new(-1.0); text.len()]);
    let places = prompt.len()..=prompt.len() + text.len();
    data.marks = places.map(|at| Mark { at: at as u32, turn: 0, kind: MarkKind::Cut }).collect();
    let record = TrajectoryRecord::from(&Trajectory { data, finish: Finish::Answered });
    Item { record, state: None }
}

fn show(item: &Item, view: &View<'_>) -> String {
    let mut out = Vec::new();
    view.write(item, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn cuts_are_shown_and_split_no_character() {
    let dialect = dialect();
    for text in ["naïve 北京 😀", "plain", "😀"] {
        let tokens = dialect.encode_text(text).unwrap();
        let item = cut_everywhere(&dialect.encode_text("hi").unwrap(), &tokens);
        let view = View { paint: Paint { is_on: false }, dialect: Some(&dialect), tokens: false };
        let shown = show(&item, &view);
        assert_eq!(shown.matches("⟦cut⟧").count(), tokens.len() + 1, "{shown}");
        assert!(shown.replace("⟦cut⟧", "").contains(&format!("{text}\n")), "{shown}");
    }
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let dialect = dialect();
    let tokens = dialect.encode_text("😀").unwrap();
    let [head, ..] = tokens.as_slice() else { return };
    let item = cut_everywhere(&[], &[*head, *head, 4_000_000_000]);
    let view = View { paint: Paint { is_on: true }, dialect: Some(&dialect), tokens: true };
    assert_eq!(show(&item, &view).matches("⟦cut⟧").count(), 4);
}
