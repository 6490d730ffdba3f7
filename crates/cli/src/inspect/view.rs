//! One rollout as text: its turns with the places where it was cut, or its messages.

use std::io::{self, Write};

use respool_core::Dialect;
use respool_dialect::HfDialect;
use respool_format::{MarkRecord, MessageRecord, PartRecord, RecordContent, TrajectoryRecord};

use super::Item;
use crate::paint::{Ink, Paint};

/// How rollouts are shown.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) paint: Paint,
    /// Without it there are only messages.
    pub(super) dialect: Option<&'a HfDialect>,
    /// Every token by itself.
    pub(super) tokens: bool,
}

impl View<'_> {
    pub(super) fn write(&self, item: &Item, out: &mut dyn Write) -> io::Result<()> {
        self.head(item, out)?;
        match self.dialect {
            Some(dialect) => self.turns(&item.record, dialect, out)?,
            None => self.messages(&item.record, out)?,
        }
        if self.tokens {
            self.table(&item.record, out)?;
        }
        writeln!(out)
    }

    fn head(&self, item: &Item, out: &mut dyn Write) -> io::Result<()> {
        let Item { record, state } = item;
        let title = format!("{} sample {}", record.task_id, record.sample_index);
        let end = match state {
            Some(state) => format!("interrupted while {state}"),
            None => record.finish.clone(),
        };
        let reward = record.reward_score.map_or_else(String::new, |reward| format!(" · reward {reward}"));
        writeln!(out, "{} · {} · {end}{reward}", self.paint.ink(Ink::Title, &title), record.agent_name)?;
        let sampled = record.response_mask.iter().filter(|mask| **mask == 1).count();
        writeln!(
            out,
            "  turns: {} assistant, {} user · tokens: {} prompt, {sampled} {}, {} {} · {} · interrupts: {}",
            record.assistant_turns,
            record.user_turns,
            record.prompt_ids.len(),
            self.paint.ink(Ink::Sampled, "sampled"),
            record.response_ids.len() - sampled,
            self.paint.ink(Ink::Given, "given"),
            versions(record),
            record.metrics.interrupts
        )?;
        self.notes(record, out)
    }

    /// What does not apply is not said.
    fn notes(&self, record: &TrajectoryRecord, out: &mut dyn Write) -> io::Result<()> {
        let counts = [
            ("infrastructure errors", u64::from(record.infrastructure_errors)),
            ("malformed calls", u64::from(record.malformed_calls)),
            ("wrong calls", u64::from(record.wrong_calls)),
            ("dropped calls", u64::from(record.dropped_calls)),
            ("calls read leniently", u64::from(record.lenient_calls)),
            ("wasted tokens", record.wasted_tokens),
            ("tokens without log-probability", u64::from(record.logprobs_missing)),
        ];
        for (what, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            writeln!(out, "  {what}: {count}")?;
        }
        if record.version_uncertain {
            writeln!(out, "  some version labels are a guess")?;
        }
        if !record.template_append_only {
            writeln!(out, "  the template would write earlier text differently; tokens stay as they are")?;
        }
        Ok(())
    }

    fn turns(&self, record: &TrajectoryRecord, dialect: &HfDialect, out: &mut dyn Write) -> io::Result<()> {
        let title = format!("── prompt, {} tokens", record.prompt_ids.len());
        writeln!(out, "{}", self.paint.ink(Ink::Title, &title))?;
        writeln!(out, "{}", self.paint.ink(Ink::Given, dialect.decode(&record.prompt_ids).trim_end()))?;
        for (index, stretch) in (1..).zip(stretches(&record.response_mask)) {
            let is_sampled = record.response_mask[stretch.start] == 1;
            let (ink, what) = if is_sampled { (Ink::Sampled, "sampled") } else { (Ink::Given, "given") };
            let title = format!("── {index}: {what}, {} tokens", stretch.len());
            writeln!(out, "{}", self.paint.ink(Ink::Title, &title))?;
            self.stretch(record, dialect, stretch, ink, out)?;
        }
        let after = record.response_ids.len();
        self.marks(record, after, out)?;
        Ok(())
    }

    /// Tokens of one kind, with the marks between them. A mark inside a character is shown after it.
    fn stretch(
        &self,
        record: &TrajectoryRecord,
        dialect: &HfDialect,
        stretch: std::ops::Range<usize>,
        ink: Ink,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (mut bytes, mut waiting, end) = (Vec::new(), stretch.start, stretch.end);
        for at in stretch {
            let is_marked = (waiting..=at).any(|at| has_marks(record, at));
            if is_marked && !is_inside_character(&bytes) {
                self.text(&mut bytes, ink, out)?;
                (waiting..=at).try_for_each(|at| self.marks(record, at, out))?;
                waiting = at + 1;
            } else if !is_marked {
                waiting = at + 1;
            }
            dialect.token_bytes(record.response_ids[at], &mut bytes);
        }
        self.text(&mut bytes, ink, out)?;
        (waiting..end).try_for_each(|at| self.marks(record, at, out))?;
        writeln!(out)
    }

    fn text(&self, bytes: &mut Vec<u8>, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{}", self.paint.ink(ink, &String::from_utf8_lossy(bytes)))?;
        bytes.clear();
        Ok(())
    }

    /// The marks before the response token of that index.
    fn marks(&self, record: &TrajectoryRecord, at: usize, out: &mut dyn Write) -> io::Result<()> {
        for mark in record.marks.iter().filter(|mark| place(record, mark) == Some(at)) {
            write!(out, "{}", self.paint.ink(Ink::Mark, &format!("⟦{}⟧", describe(mark))))?;
        }
        if at == record.response_ids.len() && has_marks(record, at) {
            writeln!(out)?;
        }
        Ok(())
    }

    fn messages(&self, record: &TrajectoryRecord, out: &mut dyn Write) -> io::Result<()> {
        for message in &record.messages {
            let ink = if message.role == "assistant" { Ink::Sampled } else { Ink::Given };
            writeln!(out, "{}", self.paint.ink(Ink::Title, &format!("── {}", message.role)))?;
            writeln!(out, "{}", self.paint.ink(ink, &text(message)))?;
        }
        for mark in &record.marks {
            let line = format!("⟦{}⟧ in turn {}, after {} tokens", describe(mark), mark.turn, mark.at);
            writeln!(out, "{}", self.paint.ink(Ink::Mark, &line))?;
        }
        Ok(())
    }

    fn table(&self, record: &TrajectoryRecord, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{}",
            self.paint.ink(Ink::Title, "── response tokens: index, id, version, log-probability, text")
        )?;
        for (at, token) in record.response_ids.iter().enumerate() {
            let version =
                record.token_versions[at].map_or_else(|| "-".to_owned(), |version| version.to_string());
            let logprob =
                record.response_logprobs[at].map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"));
            let text =
                self.dialect.map_or_else(String::new, |dialect| format!("{:?}", dialect.decode(&[*token])));
            let ink = if record.response_mask[at] == 1 { Ink::Sampled } else { Ink::Given };
            writeln!(out, "{at:6} {token:7} {version:>4} {logprob:>9}  {}", self.paint.ink(ink, &text))?;
        }
        Ok(())
    }
}

fn versions(record: &TrajectoryRecord) -> String {
    match (record.param_version_start, record.param_version_end) {
        (Some(start), Some(end)) if start != end => format!("versions: {start} to {end}"),
        (Some(version), _) => format!("version: {version}"),
        (None, _) => "nothing sampled".to_owned(),
    }
}

/// Maximal ranges of one kind.
fn stretches(mask: &[u8]) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut start = 0;
    mask.chunk_by(|a, b| a == b).map(move |chunk| {
        let range = start..start + chunk.len();
        start = range.end;
        range
    })
}

/// Whether the last bytes only begin a character.
fn is_inside_character(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

fn has_marks(record: &TrajectoryRecord, at: usize) -> bool {
    record.marks.iter().any(|mark| place(record, mark) == Some(at))
}

/// The index of the response token that a mark is before.
fn place(record: &TrajectoryRecord, mark: &MarkRecord) -> Option<usize> {
    (mark.at as usize).checked_sub(record.prompt_ids.len())
}

fn describe(mark: &MarkRecord) -> String {
    match (mark.kind.as_str(), mark.version, &mark.reason) {
        ("version", Some(version), _) => format!("version {version}"),
        (kind, _, Some(reason)) => format!("{}: {reason}", kind.replace('_', " ")),
        (kind, _, None) => kind.replace('_', " "),
    }
}

fn text(message: &MessageRecord) -> String {
    let mut text = match &message.reasoning_content {
        Some(reasoning) => format!("[reasoning] {reasoning}\n"),
        None => String::new(),
    };
    match &message.content {
        RecordContent::Text(content) => text.push_str(content),
        RecordContent::Parts(parts) => text.extend(parts.iter().map(part)),
    }
    for call in &message.tool_calls {
        text.push_str(&format!("\n→ {}({})", call.function.name, call.function.arguments));
    }
    text
}

fn part(part: &PartRecord) -> String {
    match part {
        PartRecord::Text { text } => text.clone(),
        PartRecord::ImageUrl { .. } => "[image]".to_owned(),
        PartRecord::VideoUrl { .. } => "[video]".to_owned(),
        PartRecord::AudioUrl { .. } => "[audio]".to_owned(),
    }
}

#[cfg(test)]
mod tests;
