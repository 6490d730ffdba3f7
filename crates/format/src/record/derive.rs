//! A record from a trajectory. Everything is derived; nothing is decided here.

use respool_core::{
    CallOutcome, JsonText, Mark, MarkKind, PolicyVersion, RolloutSpec, Sampling, TemplateChange, Trajectory,
};
use serde_json::value::RawValue;

use super::{
    MarkRecord, MessageRecord, MetricsRecord, SamplingRecord, TemplateChangeRecord, TrajectoryRecord,
};

impl From<&Trajectory> for TrajectoryRecord {
    fn from(Trajectory { data, finish }: &Trajectory) -> Self {
        let transcript = &data.transcript;
        let spec: &RolloutSpec = &data.spec;
        let logprobs = transcript.response_logprobs();
        let version = |version: Option<PolicyVersion>| version.map(|version| version.0);
        Self {
            task_id: spec.task_id.clone(),
            group_id: spec.group_id.clone(),
            sample_index: spec.sample_index,
            rollout_id: spec.id.to_string(),
            agent_name: spec.agent_name.clone(),
            seed: spec.seed,
            data_source: spec.data_source.clone(),
            ground_truth: spec.ground_truth.as_ref().map(raw),
            prompt_ids: transcript.prompt_ids().to_vec(),
            response_ids: transcript.response_ids().to_vec(),
            response_mask: transcript.response_mask(),
            response_logprobs: logprobs.iter().map(|logprob| logprob.and_then(|known| known.get())).collect(),
            token_versions: transcript.token_versions().into_iter().map(version).collect(),
            param_version_start: version(transcript.version_start()),
            param_version_end: version(transcript.version_end()),
            messages: data.messages.iter().map(MessageRecord::from).collect(),
            num_turns: data.num_turns(),
            assistant_turns: data.assistant_turns,
            user_turns: data.user_turns,
            finish: finish.name().to_owned(),
            reward_score: data.reward_score.and_then(finite),
            tool_rewards: data.tool_rewards.iter().copied().map(finite).collect(),
            turn_scores: data.turn_scores.iter().copied().map(finite).collect(),
            sampling: SamplingRecord::from(&spec.sampling),
            extra_info: raw(&spec.extra_info),
            marks: data.marks.iter().map(MarkRecord::from).collect(),
            template_append_only: data.template_changes.is_empty(),
            template_changes: data.template_changes.iter().map(TemplateChangeRecord::from).collect(),
            version_uncertain: data.version_uncertain,
            infrastructure_errors: count(data.calls_with(CallOutcome::Infrastructure)),
            wasted_tokens: data.wasted_tokens,
            logprobs_missing: count(transcript.logprobs_missing()),
            metrics: MetricsRecord::from(data),
            malformed_calls: count(data.calls_with(CallOutcome::Malformed)),
            dropped_calls: count(data.calls_with(CallOutcome::OverLimit)),
            wrong_calls: count(data.calls_with(CallOutcome::Wrong)),
            lenient_calls: count(data.lenient_calls()),
        }
    }
}

impl From<&Sampling> for SamplingRecord {
    fn from(sampling: &Sampling) -> Self {
        let Sampling {
            temperature,
            top_p,
            top_k,
            min_p,
            repetition_penalty,
            presence_penalty,
            frequency_penalty,
            min_new_tokens,
            stop,
            stop_token_ids,
            ignore_eos,
        } = sampling;
        Self {
            temperature: *temperature,
            top_p: *top_p,
            top_k: *top_k,
            min_p: *min_p,
            repetition_penalty: *repetition_penalty,
            presence_penalty: *presence_penalty,
            frequency_penalty: *frequency_penalty,
            min_new_tokens: *min_new_tokens,
            stop: stop.clone(),
            stop_token_ids: stop_token_ids.clone(),
            ignore_eos: *ignore_eos,
        }
    }
}

impl From<&Mark> for MarkRecord {
    fn from(Mark { at, turn, kind }: &Mark) -> Self {
        let (kind, reason, version) = match kind {
            MarkKind::Cut => ("cut", None, None),
            MarkKind::Resumed => ("resumed", None, None),
            MarkKind::FailedOver { reason } => ("failed_over", Some(reason.clone()), None),
            MarkKind::Version(version) => ("version", None, Some(version.0)),
            MarkKind::LenientCall => ("lenient_call", None, None),
        };
        Self { at: *at, turn: *turn, kind: kind.to_owned(), reason, version }
    }
}

impl From<&TemplateChange> for TemplateChangeRecord {
    fn from(TemplateChange { at, kept, template }: &TemplateChange) -> Self {
        Self { at: *at, kept: kept.clone(), template: template.clone() }
    }
}

/// JSON has no other numbers.
pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

pub(super) fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// The text as it was written, on one line: white space around and between values may hold line
/// breaks, which a JSONL file may not. (Both sides accept RFC 8259, so null is never reached.)
fn raw(json: &JsonText) -> Box<RawValue> {
    let on_one_line = json.as_str().replace(['\n', '\r'], " ");
    RawValue::from_string(on_one_line).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
