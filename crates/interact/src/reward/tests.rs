use std::sync::Arc;

use respool_core::{AgentData, Finish, Message, RolloutId, RolloutSpec};

use super::*;

/// A trajectory whose policy said `answer`, after a first chat with an assistant message.
fn trajectory(answer: Option<&str>, ground_truth: Option<&str>) -> Trajectory {
    let first = vec![Message::new(Role::Assistant, "#### 18"), Message::new(Role::User, "how many?")];
    let ground_truth = ground_truth.map(|json| JsonText::new(json).unwrap());
    let spec = RolloutSpec { ground_truth, ..RolloutSpec::new(RolloutId(1), "task-3", first) };
    let mut data = AgentData::new(Arc::new(spec));
    data.messages.extend(answer.map(|answer| Message::new(Role::Assistant, answer)));
    Trajectory { data, finish: Finish::Answered }
}

async fn check(name: &str, answer: &str, ground_truth: &str, expected: f64) {
    let score = Rewards::built_in().score(name, &trajectory(Some(answer), Some(ground_truth))).await;
    assert_eq!(score, Ok(expected), "{name}: {answer} / {ground_truth}");
}

#[tokio::test]
async fn gsm8k_strict_takes_the_last_marked_answer() {
    check("gsm8k", "so 9 * 2 = 18\n#### 18", "\"18\"", 1.0).await;
    check("gsm8k", "#### 17 no\n#### 18.", "\"18\"", 1.0).await;
    check("gsm8k", "#### 18\n#### 17", "\"18\"", 0.0).await;
    check("gsm8k", "#### 18 (see #### above)", "\"18\"", 1.0).await;
    check("gsm8k", "#### 1,450,000", "\"1450000\"", 1.0).await;
    check("gsm8k", "#### -3.50", "-3.5", 1.0).await;
    check("gsm8k", "#### 18.00", "18", 1.0).await;
    check("gsm8k", "the answer is 18", "\"18\"", 0.0).await;
    check("gsm8k", "####18", "\"18\"", 0.0).await;
}

#[tokio::test]
async fn gsm8k_flexible_takes_the_last_number() {
    check("gsm8k_flexible", "the answer is 18.", "\"18\"", 1.0).await;
    check("gsm8k_flexible", "18 it is, yes, sure ...", "\"18\"", 1.0).await;
    check("gsm8k_flexible", "18 or 19", "\"18\"", 0.0).await;
    check("gsm8k_flexible", "no idea.", "\"18\"", 0.0).await;
}

#[tokio::test]
async fn exact_match_compares_texts() {
    check("exact_match", " Paris\n", "\"Paris\"", 1.0).await;
    check("exact_match", "paris", "\"Paris\"", 0.0).await;
    check("exact_match", "18", "18", 1.0).await;
    check("exact_match", "18.0", "18", 0.0).await;
    check("exact_match", "北京é", "\"\\u5317\\u4eac\\u00e9\"", 1.0).await;
}

#[tokio::test]
async fn the_first_chat_is_no_answer() {
    let silent = trajectory(None, Some("18"));
    assert_eq!(RewardInput::new(&silent).final_text, "");
    assert_eq!(Rewards::built_in().score("gsm8k", &silent).await, Ok(0.0));
}

#[tokio::test]
async fn a_wrong_answer_may_earn_something() {
    let gsm8k = Gsm8k { score: 2.0, format_score: 0.1, ..Gsm8k::strict() };
    let rewards = Rewards::new().with("mine", gsm8k).unwrap();
    let score = async |answer| rewards.score("mine", &trajectory(Some(answer), Some("18"))).await.unwrap();
    assert_eq!((score("#### 18").await, score("#### 1").await, score("18").await), (2.0, 0.1, 0.0));
}

struct Broken;

impl Reward for Broken {
    fn score<'a>(&'a self, input: &'a RewardInput<'a>) -> BoxFuture<'a, Result<f64, Fault>> {
        assert!(!input.final_text.is_empty(), "no answer");
        Box::pin(async { Ok(f64::INFINITY) })
    }
}

#[tokio::test]
async fn what_goes_wrong_is_a_terminal_fault_of_that_trajectory() {
    let rewards = Rewards::built_in().with("broken", Broken).unwrap();
    let check = async |name, trajectory: &Trajectory, expected: &str| {
        assert_eq!(rewards.score(name, trajectory).await, Err(Fault::terminal(expected)));
    };
    let good = trajectory(Some("#### 18"), Some("18"));
    let known = "`broken`, `exact_match`, `gsm8k`, `gsm8k_flexible`";
    check("bleu", &good, &format!("unknown reward function `bleu`, expected one of {known}")).await;
    check("broken", &trajectory(None, None), "reward function `broken` panicked: no answer").await;
    check("broken", &good, "reward function `broken` gave inf, expected a finite number").await;
    let missing = "task `task-3` has no reward_model.ground_truth, expected a string or a number";
    check("gsm8k", &trajectory(Some("1"), None), missing).await;
    let list = "task `task-3` has [18] as reward_model.ground_truth, expected a string or a number";
    check("gsm8k", &trajectory(Some("1"), Some("[18]")), list).await;
    assert!(rewards.check("bleu").is_err());
}
