use respool_core::{ContinuationMode, Dialect as _};

use super::*;
use crate::{Clock, DialectOptions};

const CHATML: &str =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";
const OPENING: &str = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

fn options() -> DialectOptions {
    DialectOptions::new(Clock::from_unix_seconds(0))
}

fn with_template(template: &str) -> DialectCheck {
    let options = DialectOptions { template: Some(template.to_owned()), ..options() };
    HfDialect::embedded(options).expect("a dialect").check()
}

fn hazards(check: &DialectCheck) -> Vec<&str> {
    check.hazards.iter().map(|hazard| hazard.what.as_str()).collect()
}

fn warns(template: &str, says: &str) {
    let check = with_template(template);
    assert!(hazards(&check).iter().any(|what| what.contains(says)), "{says}: {:#?}", check.hazards);
}

#[test]
fn the_built_in_dialect_has_no_hazard_but_that_of_the_reference() {
    let check = HfDialect::embedded(options()).expect("a dialect").check();
    let lost = ["tool results", "a user message"]
        .map(|kind| format!("compat = \"verl\" loses \"\\n\" between the turn and {kind}"));
    assert_eq!(hazards(&check), lost);
    assert_eq!(check.tool_format.evidence, FormatEvidence::Template(vec!["<tool_call>"]));
    assert_eq!(check.template.system, SystemMessage::AsGiven);
    assert_eq!(check.thinking.kept_after_user, Some(true));
    assert!(check.tool_format.markers.iter().all(|marker| marker.ids.len() == 1));
}

#[test]
fn the_example_is_a_rollout_token_for_token() {
    let dialect = HfDialect::embedded(options()).expect("a dialect");
    let example = dialect.check().example;
    assert_eq!(example.iter().map(|piece| piece.sampled).collect::<Vec<_>>(), [false, true, false, true]);
    for piece in &example {
        assert_eq!(piece.tokens.concat(), dialect.decode(&piece.ids));
        let ends = piece.ids.last().is_some_and(|last| dialect.stop_tokens().contains(last));
        assert_eq!(ends, piece.sampled, "{piece:?}");
    }
}

#[test]
fn the_check_is_the_same_however_rollouts_are_continued() {
    let reference = DialectOptions { continuation: ContinuationMode::Reference, ..options() };
    let text = |options| {
        let check = HfDialect::embedded(options).expect("a dialect").check();
        serde_json::to_string(&check).expect("a check is JSON")
    };
    assert_eq!(text(reference), text(options()));
}

#[test]
fn hazards_are_told() {
    let whole = format!("{CHATML}{OPENING}");
    warns(&whole, "does not show tools");
    warns(&whole, "does not write the tool calls");
    warns(&whole, "nothing tells the tool-call format");
    warns(CHATML, "begins no turn");
    warns(
        &whole.replace("<|im_end|>", "<|endoftext|>"),
        "ends turns with <|endoftext|>, but turns stop at <|im_end|>",
    );
    warns(&format!("{{{{ strftime_now('%Y') }}}}{whole}"), "writes the date");
    let guard =
        "{% for m in messages %}{% if m.role == 'ROLE' %}{{ raise_exception('no') }}{% endif %}{% endfor %}";
    warns(&(guard.replace("ROLE", "system") + &whole), "refuses system messages");
    warns(&(guard.replace("ROLE", "tool") + &whole), "cannot take tool results");
    let last = whole.replace("m.content", "m.content if loop.last or m.role != 'user' else ''");
    warns(
        &last,
        "with a user message the template writes earlier text otherwise: \"Look it up.\" becomes \"\"",
    );
    let thinks = "{{ m.reasoning_content if loop.last and m.reasoning_content }}{{ m.content";
    warns(&whole.replace("{{ m.content", thinks), "leaves out reasoning of earlier turns once");
}

#[test]
fn a_template_that_writes_no_calls_takes_their_results() {
    let check = with_template(&format!("{CHATML}{OPENING}"));
    let NewMessages::Appended { text, changes, .. } = check.continuation.tool else {
        panic!("{:?}", check.continuation.tool)
    };
    assert_eq!(text, "\n<|im_start|>tool\nan animal<|im_end|>\n<|im_start|>assistant\n");
    assert!(changes.is_empty(), "{changes:?}");
}

#[test]
fn what_a_template_reads_and_adds_is_told() {
    let set = "{% if messages %}{% set mood = 'x' %}{% endif %}{% if enable_thinking %}{{ mood }}{% endif %}\
        {% if effort is not defined %}{% set effort = 1 %}{% endif %}{{ effort }}";
    let check = with_template(&format!("{set}{CHATML}{OPENING}"));
    assert_eq!(check.template.reads, ["effort", "enable_thinking"]);
    let own = "{% if messages[0].role != 'system' %}<|im_start|>system\nYou are a kind machine.<|im_end|>\n{% endif %}";
    let check = with_template(&format!("{own}{CHATML}{OPENING}"));
    let text = "system\nYou are a kind machine.".to_owned();
    assert_eq!(check.template.system, SystemMessage::Adds { text });
}
