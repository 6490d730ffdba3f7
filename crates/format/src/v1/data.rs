//! Everything a rollout is, but for its phase.

use respool_core as core;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::{
    Mirror,
    message::{CallOutcome, Message},
    seam::{EffectId, PolicyVersion},
    spec::RolloutSpec,
    transcript::Transcript,
};
use crate::error::Invalid;

/// Written by hand for one reason: the chat begins with the messages of the spec, which are not
/// written twice.
#[derive(Serialize, Deserialize)]
pub(crate) struct AgentData {
    spec: RolloutSpec,
    transcript: Transcript,
    /// How many messages of the chat are the spec's.
    first_messages: u32,
    /// The others.
    more_messages: Vec<Message>,
    assistant_turns: u32,
    user_turns: u32,
    tool_rewards: Vec<f64>,
    turn_scores: Vec<f64>,
    reward_score: Option<f64>,
    calls: Vec<CallRecord>,
    effects: Vec<EffectKey>,
    attempts: Vec<AttemptSpan>,
    marks: Vec<Mark>,
    template_changes: Vec<TemplateChange>,
    wasted_tokens: u64,
    version_uncertain: bool,
    rejected_events: u64,
    user_data: ByteBuf,
}

impl Mirror<core::AgentData> for AgentData {
    fn store(core: &core::AgentData) -> Self {
        let core::AgentData {
            spec,
            transcript,
            messages,
            assistant_turns,
            user_turns,
            tool_rewards,
            turn_scores,
            reward_score,
            calls,
            effects,
            attempts,
            marks,
            template_changes,
            wasted_tokens,
            version_uncertain,
            rejected_events,
            user_data,
        } = core;
        let shared = messages.iter().zip(&spec.messages).take_while(|(a, b)| a == b).count();
        Self {
            spec: Mirror::store(spec),
            transcript: Mirror::store(transcript),
            first_messages: u32::try_from(shared).unwrap_or(u32::MAX),
            more_messages: messages[shared..].iter().map(Mirror::store).collect(),
            assistant_turns: *assistant_turns,
            user_turns: *user_turns,
            tool_rewards: tool_rewards.clone(),
            turn_scores: turn_scores.clone(),
            reward_score: *reward_score,
            calls: Mirror::store(calls),
            effects: Mirror::store(effects),
            attempts: Mirror::store(attempts),
            marks: Mirror::store(marks),
            template_changes: Mirror::store(template_changes),
            wasted_tokens: *wasted_tokens,
            version_uncertain: *version_uncertain,
            rejected_events: *rejected_events,
            user_data: ByteBuf::from(user_data.as_bytes()),
        }
    }

    fn load(self) -> Result<core::AgentData, Invalid> {
        let Self {
            spec,
            transcript,
            first_messages,
            more_messages,
            assistant_turns,
            user_turns,
            tool_rewards,
            turn_scores,
            reward_score,
            calls,
            effects,
            attempts,
            marks,
            template_changes,
            wasted_tokens,
            version_uncertain,
            rejected_events,
            user_data,
        } = self;
        let spec: std::sync::Arc<core::RolloutSpec> = field("spec", spec)?;
        Ok(core::AgentData {
            messages: chat(&spec, first_messages, field("messages", more_messages)?)?,
            spec,
            transcript: field("transcript", transcript)?,
            assistant_turns,
            user_turns,
            tool_rewards,
            turn_scores,
            reward_score,
            calls: field("calls", calls)?,
            effects: field("effects", effects)?,
            attempts: field("attempts", attempts)?,
            marks: field("marks", marks)?,
            template_changes: field("template_changes", template_changes)?,
            wasted_tokens,
            version_uncertain,
            rejected_events,
            user_data: core::UserData::new(user_data.into_vec())
                .map_err(|error| Invalid::new("user_data", error))?,
        })
    }
}

fn field<C, M: Mirror<C>>(name: &str, mirror: M) -> Result<C, Invalid> {
    mirror.load().map_err(|error| error.within(name))
}

/// The first `shared` messages of the spec, then the others.
fn chat(
    spec: &core::RolloutSpec,
    shared: u32,
    more: Vec<core::Message>,
) -> Result<Vec<core::Message>, Invalid> {
    let Some(first) = spec.messages.get(..shared as usize) else {
        let found = format!("begins with {shared} messages of the spec, which has {}", spec.messages.len());
        return Err(Invalid::new("messages", found));
    };
    Ok(first.iter().cloned().chain(more).collect())
}

mirror!(
    struct CallRecord {
        turn: u32,
        slot: u32,
        name: String,
        outcome: CallOutcome,
        ran: bool,
        metrics: Vec<(String, f64)>,
    }
);

mirror!(
    struct EffectKey {
        kind: EffectKind,
        turn: u32,
        slot: u32,
    }
);
mirror!(
    enum EffectKind {
        Encode,
        Generate,
        Tool,
        Interact,
    }
);
mirror!(
    struct AttemptSpan {
        effect: EffectId,
        start: u32,
        len: u32,
    }
);
mirror!(
    struct Mark {
        at: u32,
        turn: u32,
        kind: MarkKind,
    }
);

mirror!(enum MarkKind {
    Cut,
    Resumed,
    FailedOver { reason: String },
    Version(version: PolicyVersion),
    LenientCall,
});

mirror!(
    struct TemplateChange {
        at: u32,
        kept: String,
        template: String,
    }
);
