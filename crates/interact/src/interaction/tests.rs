use proptest::prelude::*;
use respool_core::{Content, EffectId, InteractionSpec, JsonText, Message, RolloutId};
use tower::ServiceExt;

use super::*;
use crate::{Scripted, ScriptedReply};

fn request(name: &str, messages: Vec<Message>, user_turns: u32) -> InteractRequest {
    InteractRequest {
        rollout: RolloutId(1),
        effect: EffectId { turn: user_turns, slot: 0, attempt: 0 },
        interaction: InteractionSpec { name: name.to_owned(), kwargs: JsonText::empty_object() },
        messages,
        user_turns,
        seed: 0,
    }
}

/// A chat by one letter a message: `s`ystem, `u`ser, `a`ssistant, `t`ool.
fn chat(roles: &str) -> Vec<Message> {
    let role = |letter| match letter {
        's' => Role::System,
        'u' => Role::User,
        't' => Role::Tool,
        _ => Role::Assistant,
    };
    roles.chars().map(|letter| Message::new(role(letter), "x")).collect()
}

fn script() -> Scripted {
    let reply =
        |content: &str, score, terminate| ScriptedReply { content: content.to_owned(), score, terminate };
    Scripted::new([reply("not quite", Some(0.0), false), reply("right", Some(1.0), true)])
}

#[track_caller]
fn check_index(first: &str, appended: &str, user_turns: u32, expected: usize) {
    let request = request("", chat(&format!("{first}{appended}")), user_turns);
    assert_eq!(reply_index(&request), expected, "{first} {appended}");
}

#[test]
fn the_position_counts_only_replies_after_the_first_chat() {
    check_index("su", "a", 0, 0);
    check_index("su", "aua", 1, 1);
    check_index("su", "auaua", 2, 2);
    check_index("su", "ata", 1, 0);
    check_index("su", "attaua", 2, 1);
    check_index("su", "auatauata", 4, 2);
    check_index("uauau", "a", 0, 0);
    check_index("uauau", "aua", 1, 1);
    check_index("", "a", 0, 0);
    check_index("", "", 3, 0);
}

proptest! {
    #[test]
    fn the_position_is_the_number_of_replies(
        first in "s?(ua){0,3}u{1,2}",
        batches in prop::collection::vec(prop_oneof![Just("u"), Just("t"), Just("ttt")], 0..8),
    ) {
        let mut roles = format!("{first}a");
        batches.iter().for_each(|batch| roles.extend([batch, "a"]));
        let request = request("", chat(&roles), u32::try_from(batches.len()).unwrap());
        prop_assert_eq!(reply_index(&request), batches.iter().filter(|batch| **batch == "u").count());
    }
}

async fn ask(roles: &str, user_turns: u32) -> InteractReply {
    let service = Interactions::new().with("teacher", script()).unwrap().service();
    service.oneshot(request("teacher", chat(roles), user_turns)).await.unwrap()
}

#[tokio::test]
async fn a_script_replies_in_order_and_ends_past_its_end() {
    let reply =
        |content: &str, score, terminate| InteractReply { content: Content::from(content), score, terminate };
    assert_eq!(ask("sua", 0).await, reply("not quite", Some(0.0), false));
    assert_eq!(ask("suaua", 1).await, reply("right", Some(1.0), true));
    assert_eq!(ask("suauaua", 2).await, reply("", None, true));
}

#[test]
fn a_script_is_read_from_a_list() {
    let json =
        r#"[{"content": "not quite", "score": 0}, {"content": "right", "score": 1.0, "terminate": true}]"#;
    assert_eq!(serde_json::from_str::<Scripted>(json).unwrap(), script());
    assert!(serde_json::from_str::<Scripted>(r#"[{"content": "", "reward": 1}]"#).is_err());
}

struct Broken;

impl Interaction for Broken {
    fn reply<'a>(&'a self, request: &'a InteractRequest) -> BoxFuture<'a, Result<InteractReply, Fault>> {
        assert!(request.user_turns > 0, "no turn yet");
        let score = Some(f64::NAN);
        Box::pin(async move { Ok(InteractReply { content: Content::from(""), score, terminate: false }) })
    }
}

#[tokio::test]
async fn what_goes_wrong_is_a_terminal_fault_of_that_request() {
    let service =
        Interactions::new().with("teacher", script()).unwrap().with("broken", Broken).unwrap().service();
    let check = async |name, user_turns, expected: &str| {
        let fault = service.clone().oneshot(request(name, chat("ua"), user_turns)).await.unwrap_err();
        assert_eq!(fault, Fault::terminal(expected));
    };
    check("tutor", 0, "unknown interaction `tutor`, expected one of `broken`, `teacher`").await;
    check("broken", 0, "interaction `broken` panicked: no turn yet").await;
    check("broken", 1, "interaction `broken` gave NaN, expected a finite number").await;
    let empty = Interactions::default().service().oneshot(request("tutor", chat("ua"), 0)).await;
    assert_eq!(empty.unwrap_err().message, "unknown interaction `tutor`: none is registered");
}

#[test]
fn a_name_is_registered_once() {
    let taken = Interactions::new().with("a", Broken).unwrap().with("a", Broken).unwrap_err();
    assert_eq!(taken.to_string(), "two interactions are named `a`, expected different names");
}
