//! What of a check a person should know before training.

use serde::Serialize;

use super::{DialectCheck, NewMessages, Reference, SystemMessage};
use crate::auto::FormatEvidence;
use crate::sample;

/// Something that can cost a training run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hazard {
    /// What was found.
    pub what: String,
    /// What to do about it.
    pub advice: &'static str,
}

/// The worst first: what stops rollouts, what trains on something unexpected, what is good to know.
pub(super) fn of(check: &DialectCheck) -> Vec<Hazard> {
    let mut hazards = Vec::new();
    let mut add = |what: String, advice| hazards.push(Hazard { what, advice });
    for (kind, new) in
        [("tool results", &check.continuation.tool), ("a user message", &check.continuation.user)]
    {
        if let NewMessages::Cannot { reason } = new {
            add(
                format!("the template cannot take {kind} after a sampled turn: {reason}"),
                "rollouts that need it end with an error; choose another template (model.template_name)",
            );
        }
    }
    if !check.template.shows_tools {
        add(
            "the template does not show tools to the model".to_owned(),
            "describe them in a system message, or choose a template that does (model.template_name)",
        );
    }
    let takes_results = matches!(check.continuation.tool, NewMessages::Appended { .. });
    if !check.template.writes_calls && takes_results {
        add(
            "the template does not write the tool calls of earlier turns".to_owned(),
            "sampled calls stay in the rollout; a chat that is rendered whole, as servers of chats do, lacks them",
        );
    }
    if let SystemMessage::Refuses { reason } = &check.template.system {
        add(
            format!("the template refuses system messages: {reason}"),
            "put the instruction into the user message",
        );
    }
    if check.tool_format.evidence == FormatEvidence::Nothing {
        add(
            format!("nothing tells the tool-call format, and {} was taken", check.tool_format.name),
            "name the format in which the model writes calls (model.format)",
        );
    }
    if check.template.begins_no_turn {
        add(
            "the template ends the prompt with the end of the last message and begins no turn".to_owned(),
            "the model has to begin its turn by itself; see whether the template is the right one",
        );
    }
    if let Some(stop) = &check.template.other_stop {
        let stops: Vec<_> = check.tokens.stop.iter().map(|known| known.text.as_str()).collect();
        add(
            format!("the template ends turns with {stop}, but turns stop at {}", stops.join(", ")),
            "name its id in eos_token_id of the model folder's generation_config.json",
        );
    }
    texts(check, &mut add);
    earlier(check, &mut add);
    reference(check, &mut add);
    hazards
}

fn texts(check: &DialectCheck, add: &mut impl FnMut(String, &'static str)) {
    if let Some([before, after]) = check.tokens.changed.first() {
        add(
            format!("the tokenizer changes text: {before:?} becomes {after:?}"),
            "messages of users and tools reach the model so; sampled tokens are never encoded again and stay",
        );
    }
    if check.template.reads.iter().any(|name| name == "strftime_now") {
        add(
            "the template writes the date".to_owned(),
            "a run has one date, that of its start, and keeps it when it is resumed",
        );
    }
    if let Some(marker) =
        check.tool_format.markers.iter().find(|marker| marker.ids.len() > 1 && marker.in_template)
    {
        add(
            format!("{} is no single token of this tokenizer", marker.text),
            "it is found wherever the model spells it out, in quotations too",
        );
    }
}

fn earlier(check: &DialectCheck, add: &mut impl FnMut(String, &'static str)) {
    let thinking = &check.thinking;
    if thinking.kept_after_user == Some(false) || thinking.kept_after_tool_results == Some(false) {
        let when = match (thinking.kept_after_tool_results, thinking.kept_after_user) {
            (Some(false), Some(false)) => "tool results or the next user message come",
            (Some(false), _) => "tool results come",
            _ => "the next user message comes",
        };
        add(
            format!("the template leaves out reasoning of earlier turns once {when}"),
            "sampled reasoning stays in the rollout, and the record says so (changes); a chat that is rendered \
             whole, as servers of chats do, is another one",
        );
    }
    for (kind, new) in
        [("tool results", &check.continuation.tool), ("a user message", &check.continuation.user)]
    {
        let NewMessages::Appended { changes, .. } = new else { continue };
        let others = |[kept, _]: &&[String; 2]| !kept.contains(sample::REASONING);
        if let Some([kept, template]) = changes.iter().find(others) {
            add(
                format!(
                    "with {kind} the template writes earlier text otherwise: {kept:?} becomes {template:?}"
                ),
                "earlier tokens stay as they were sampled, and the record says so (changes)",
            );
        }
    }
}

fn reference(check: &DialectCheck, add: &mut impl FnMut(String, &'static str)) {
    for (kind, new) in
        [("tool results", &check.continuation.tool), ("a user message", &check.continuation.user)]
    {
        let NewMessages::Appended { text, separator, reference, .. } = new else { continue };
        match reference {
            Reference::Same => {}
            Reference::Other { text: theirs } if format!("{separator}{theirs}") == *text => add(
                format!("compat = \"verl\" loses {separator:?} between the turn and {kind}"),
                "keep continuation = \"template\", the default, unless a run of verl is to be repeated",
            ),
            Reference::Other { text: theirs } => add(
                format!("compat = \"verl\" appends {theirs:?} for {kind}, and the template {text:?}"),
                "keep continuation = \"template\", the default, unless a run of verl is to be repeated",
            ),
            Reference::Cannot { reason } => add(
                format!("compat = \"verl\" cannot append {kind}: {reason}"),
                "keep continuation = \"template\", the default",
            ),
        }
    }
}
