//! What is appended after a sampled turn (R8, R13).

use std::ops::Range;

use minijinja::value::Value;
use respool_core::{ContinuationMode, ControlTokens, DialectError, Encoded, Token};

use crate::changes::Earlier;
use crate::cut::{Cut, CutError, Sampled};
use crate::dialect::HfDialect;
use crate::harmony_results;
use crate::load::LoadError;
use crate::opaque::{Opaque, unused_letters};
use crate::options::ToolResults;
use crate::python::Dict;
use crate::stand_in;
use crate::template::Scene;

/// A chat whose last turn was sampled, and what comes next.
#[derive(Debug)]
pub(crate) struct Next<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) turns: Turns,
    pub(crate) last_token: Option<Token>,
}

/// The messages of a [`Next`].
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    pub(crate) prefix: Vec<Value>,
    pub(crate) turn: Option<Value>,
    pub(crate) new: Vec<Value>,
}

/// The rendering of a [`Next`].
#[derive(Debug)]
pub(crate) struct InContext<'a> {
    pub(crate) opaque: Opaque<'a>,
    /// The messages before the turn as the template saw them.
    pub(crate) prefix: Vec<Value>,
    pub(crate) cut: Cut,
}

impl HfDialect {
    pub(crate) fn encode_next(&self, next: &Next<'_>) -> Result<Encoded, DialectError> {
        match self.options.continuation {
            ContinuationMode::Template => self.encode_in_context(next),
            ContinuationMode::Reference => self.encode_alone(next, self.reference_prefix),
        }
    }

    pub(crate) fn encode_in_context(&self, next: &Next<'_>) -> Result<Encoded, DialectError> {
        let InContext { opaque, prefix, cut } = self.in_context(next)?;
        let template = self.template_for(next.scene);
        let prompt = template.render_values(next.scene, prefix, true);
        let prompt = prompt.map_err(|error| DialectError::new(error.to_string()))?;

        let last = next.last_token.filter(|token| self.ends_turn(*token, &cut.stop));
        // R13: the token that the template needs where the turn did not end with one.
        let mut tokens = if last.is_some() { Vec::new() } else { self.encode_text(&cut.stop)? };
        tokens.append(&mut self.encode_guarded(&opaque.reveal(&cut.suffix))?);
        let last = last.map(|token| String::from_utf8_lossy(self.vocabulary.bytes_of(token)));
        let reveal = |text: &str| opaque.reveal(text).text;
        let now = Cut { head: reveal(&cut.head), ..cut };
        let turn = next.turns.turn.as_ref().unwrap_or(&Value::UNDEFINED);
        let earlier = Earlier { prompt: &reveal(&prompt), turn, last: last.as_deref(), now: &now };
        Ok(Encoded { tokens, changes: earlier.changes() })
    }

    /// Renders the whole chat and cuts it behind the sampled turn.
    pub(crate) fn in_context(&self, next: &Next<'_>) -> Result<InContext<'_>, DialectError> {
        let Turns { prefix, turn: Some(turn), new } = &next.turns else {
            return Err(DialectError::new("a continuation needs a chat that ends with the sampled turn"));
        };
        let all = prefix.iter().chain([turn]).chain(new);
        let [bracket, marker] = unused_letters(all.chain(next.scene.context.0.values()))
            .map_err(|_| DialectError::new("the messages use every letter of the cuneiform block"))?;
        let mut opaque = Opaque::new(self.vocabulary.controls(), bracket);
        let (prefix, new) = (self.hidden(&mut opaque, prefix), self.hidden(&mut opaque, new));
        let cut = |prefix: &[Value], turn: &Value, new: &[Value]| {
            let sampled = Sampled { prefix, turn, new };
            let find = |after: &str| self.find_stop(&sampled, next.scene, marker, after);
            sampled.cut(self.template_for(next.scene), next.scene, marker, find)
        };
        let mut in_context = match cut(&prefix, turn, &new) {
            Ok(cut) => InContext { opaque, prefix, cut },
            Err(error) => {
                let chat = stand_in::with_calls(&prefix, turn, &new);
                let chat = chat.ok_or_else(|| self.cannot_continue(&new, &error))?;
                let cut = cut(&chat.prefix, &chat.turn, &chat.new);
                let cut = cut.map_err(|_| self.cannot_continue(&new, &error))?;
                InContext { opaque, prefix: chat.prefix, cut }
            }
        };
        if self.options.tool_results == ToolResults::Harmony
            && let Some(suffix) = harmony_results::suffix(&new)
        {
            in_context.cut.suffix = suffix;
        }
        Ok(in_context)
    }

    /// Where the turn's stop token is in what the template writes after the turn. Control strings of
    /// new messages are hidden from the search: where they count as control tokens, they are no less
    /// the messages' own.
    fn find_stop(
        &self,
        sampled: &Sampled<'_>,
        scene: &Scene,
        marker: char,
        after: &str,
    ) -> Option<Range<usize>> {
        if self.options.control_tokens == ControlTokens::Plain {
            return self.first_stop(after);
        }
        let all = sampled.new.iter().chain(scene.context.0.values());
        let [bracket, _] = unused_letters(all).ok()?;
        let mut opaque = Opaque::new(self.vocabulary.controls(), bracket);
        let new: Vec<Value> = sampled.new.iter().map(|message| opaque.hide_message(message)).collect();
        let hidden = Sampled { new: &new, ..*sampled };
        let hidden = hidden.after_turn(self.template_for(scene), scene, marker).ok()?;
        let stop = self.first_stop(&hidden)?;
        let is_there = after.get(..stop.end) == hidden.get(..stop.end);
        if is_there { Some(stop) } else { self.first_stop(after) }
    }

    /// The first stop token; in a template that writes another one for earlier turns, the first
    /// special token.
    fn first_stop(&self, after: &str) -> Option<Range<usize>> {
        let mut from = 0;
        while let Some((range, control)) = self.vocabulary.controls().find(after, from) {
            if respool_core::Dialect::stop_tokens(self).contains(&control.id) {
                return Some(range);
            }
            from = range.end;
        }
        self.vocabulary.controls().find_special(after).map(|(range, _)| range)
    }

    /// Whether the turn's last token already ends it: a stop token, or what the template has there.
    pub(crate) fn ends_turn(&self, token: Token, stop: &str) -> bool {
        respool_core::Dialect::stop_tokens(self).contains(&token)
            || self.vocabulary.bytes_of(token) == stop.as_bytes()
    }

    fn cannot_continue(&self, new: &[Value], error: &CutError) -> DialectError {
        let role = new.first().and_then(|message| message.downcast_object_ref::<Dict>()?.text("role"));
        let kind = if role == Some("tool") { "tool results" } else { "a user message" };
        DialectError::new(format!(
            "continuation = template: chat template {} cannot take {kind} after a sampled turn: {error}",
            self.name
        ))
    }

    /// As the reference does: the new messages alone, less the `prefix` tokens of system
    /// text that the template adds.
    pub(crate) fn encode_alone(&self, next: &Next<'_>, prefix: usize) -> Result<Encoded, DialectError> {
        let mut scene = next.scene.clone();
        scene.context.set("tools", Value::from(()));
        let new = &next.turns.new;
        let [bracket, _] = unused_letters(new.iter().chain(scene.context.0.values()))
            .map_err(|_| DialectError::new("the messages use every letter of the cuneiform block"))?;
        let mut opaque = Opaque::new(self.vocabulary.controls(), bracket);
        let messages = self.hidden(&mut opaque, new);
        let text = self.template(false).render_values(&scene, messages, true).map_err(|error| {
            DialectError::new(format!("continuation = reference: {error}; use continuation = template"))
        })?;
        let mut tokens = self.encode_guarded(&opaque.reveal(&text))?;
        tokens.drain(..prefix.min(tokens.len()));
        Ok(Encoded { tokens, changes: Vec::new() })
    }

    /// Length of the system text that the template adds: with a = ids of one empty user message and
    /// b = ids of two, it is 2·len(a) − len(b).
    pub(crate) fn measure_reference_prefix(&self) -> Result<usize, LoadError> {
        let failed = |reason: String| LoadError::Reference { template: self.name.clone(), reason };
        let length = |messages: usize| {
            let scene = self.scene(Value::from(()), &respool_core::JsonText::empty_object())?;
            let empty = Dict::of([("role", "user".into()), ("content", "".into())]).into_value();
            let text = self.template(false).render_values(&scene, vec![empty; messages], false);
            let text = text.map_err(|error| DialectError::new(error.to_string()))?;
            Ok(self.encode_text(&text)?.len())
        };
        let one = length(1).map_err(|error: DialectError| failed(error.message))?;
        let two = length(2).map_err(|error: DialectError| failed(error.message))?;
        if two <= one {
            return Err(failed(format!(
                "two empty user messages have {two} tokens and one has {one}, so the system prefix cannot be measured"
            )));
        }
        Ok((2 * one).saturating_sub(two))
    }
}
