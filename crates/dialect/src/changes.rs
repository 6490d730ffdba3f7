//! What a template writes differently in earlier text, now that the chat goes on.

use minijinja::value::Value;
use respool_core::TemplateChange;

use crate::cut::Cut;
use crate::python::Dict;

/// The texts to be compared, control strings in their places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Earlier<'a> {
    /// What the engine was given for the sampled turn.
    pub(crate) prompt: &'a str,
    /// The sampled turn.
    pub(crate) turn: &'a Value,
    /// Spelling of the turn's last token, if it is a stop token.
    pub(crate) last: Option<&'a str>,
    /// What the template writes now.
    pub(crate) now: &'a Cut,
}

impl Earlier<'_> {
    /// The differences, in order; empty if the template only appends.
    pub(crate) fn changes(&self) -> Vec<TemplateChange> {
        let head = self.now.head.strip_suffix(self.now.stop.as_str()).unwrap_or(&self.now.head);
        let mut changes: Vec<TemplateChange> = match head.strip_prefix(self.prompt) {
            Some(turn) => self.in_turn(turn).into_iter().collect(),
            None => vec![self.in_prompt(head)],
        };
        if let Some(last) = self.last.filter(|last| *last != self.now.stop) {
            changes.push(change(head, last, &self.now.stop));
        }
        changes
    }

    /// The prompt is another one now. Where the turn begins in it is known only if its text is there.
    fn in_prompt(&self, head: &str) -> TemplateChange {
        let content = self.field("content").trim();
        let turn_at =
            Some(content).filter(|content| !content.is_empty()).and_then(|content| head.rfind(content));
        let theirs = &head[..turn_at.unwrap_or(head.len())];
        let same = common_prefix(self.prompt, theirs);
        let (kept, template) = (&self.prompt[same..], &theirs[same..]);
        let tail = common_suffix(kept, template);
        change(&self.prompt[..same], &kept[..kept.len() - tail], &template[..template.len() - tail])
    }

    /// The turn is written otherwise than it was sampled: its reasoning or its text is not there, or
    /// reasoning is there that nobody sampled. How calls and markers around the text are spelled is
    /// not compared: only the tokens know how the policy spelled them.
    fn in_turn(&self, written: &str) -> Option<TemplateChange> {
        let content = self.field("content").trim();
        let reasoning = ["reasoning_content", "thinking", "reasoning"].map(|name| self.field(name).trim());
        let reasoning = reasoning.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
        let kept = if reasoning.is_empty() { content } else { reasoning };
        let is_kept = match written.find(reasoning) {
            None => false,
            Some(_) if reasoning.is_empty() => adds_no_reasoning(written, content),
            Some(at) => written[at + reasoning.len()..].contains(content),
        };
        (!is_kept).then(|| change(self.prompt, kept, written))
    }

    fn field(&self, name: &str) -> &str {
        self.turn.downcast_object_ref::<Dict>().and_then(|turn| turn.text(name)).unwrap_or_default()
    }
}

/// Whether a turn without reasoning is written with its text and without an empty block of reasoning.
fn adds_no_reasoning(written: &str, content: &str) -> bool {
    written
        .split_once(content)
        .is_some_and(|(before, after)| !before.contains("think>") && !after.contains("think>"))
}

fn change(before: &str, kept: &str, template: &str) -> TemplateChange {
    TemplateChange {
        at: u32::try_from(before.chars().count()).unwrap_or(u32::MAX),
        kept: kept.to_owned(),
        template: template.to_owned(),
    }
}

fn common_prefix(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

/// Length of the end that two texts share.
pub(crate) fn common_suffix(a: &str, b: &str) -> usize {
    a.chars().rev().zip(b.chars().rev()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}
