//! Strategies for arbitrary valid values: rich samples with everything that has a size varied.

use std::{collections::BTreeSet, sync::Arc};

use proptest::{collection::vec, prelude::*};
use respool_core::*;

use crate::{Fingerprints, JournalEntry, Snapshot, samples};

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-zA-Z<>/_ ]{0,20}", "\\PC{0,12}", "[\\n\"\\\\é😀\u{0}]{0,6}"]
}

/// Any float but NaN, which is not equal to itself; NaN has a test of its own.
fn float() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("NaN is not equal to itself", |value| !value.is_nan())
}

fn logprob() -> impl Strategy<Value = Logprob> {
    any::<u32>().prop_map(|bits| Logprob::new(f32::from_bits(bits)))
}

fn json() -> impl Strategy<Value = JsonText> {
    let key = "[a-z]{0,3}";
    let number = "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,4})?(e[+-]?[0-9]{1,3})?";
    (key, number, "[ \\n\\t]{0,3}").prop_map(|(key, number, space)| {
        JsonText::new(format!("{space}{{{space}\"{key}\":{space}[{number},\"\\ud83d\\\\\"]}}{space}"))
            .unwrap()
    })
}

fn effect() -> impl Strategy<Value = EffectId> {
    (any::<u32>(), any::<u32>(), 0..1_000_000_u32).prop_map(|(turn, slot, attempt)| EffectId {
        turn,
        slot,
        attempt,
    })
}

fn content() -> impl Strategy<Value = Content> {
    let part = (0..4, text()).prop_map(|(kind, text)| match kind {
        0 => ContentPart::Text(text),
        1 => ContentPart::Image(text),
        2 => ContentPart::Video(text),
        _ => ContentPart::Audio(text),
    });
    prop_oneof![text().prop_map(Content::Text), vec(part, 0..4).prop_map(Content::Parts)]
}

fn call() -> impl Strategy<Value = ToolCall> {
    (text(), any::<u32>(), text(), json()).prop_map(|(id, slot, name, arguments)| ToolCall {
        id,
        slot,
        name,
        arguments,
    })
}

fn outcome() -> impl Strategy<Value = CallOutcome> {
    prop::sample::select(samples::OUTCOMES.to_vec())
}

fn message() -> impl Strategy<Value = Message> {
    let roles = vec![Role::System, Role::Developer, Role::User, Role::Assistant, Role::Tool];
    let opt = || prop::option::of(text());
    let role = prop::sample::select(roles);
    (role, content(), opt(), vec(call(), 0..3), opt(), opt(), prop::option::of(outcome())).prop_map(
        |(role, content, reasoning, tool_calls, tool_call_id, name, outcome)| Message {
            role,
            content,
            reasoning,
            tool_calls,
            tool_call_id,
            name,
            outcome,
        },
    )
}

fn metrics() -> impl Strategy<Value = Vec<(String, f64)>> {
    vec((text(), float()), 0..3)
}

fn result() -> impl Strategy<Value = ToolResult> {
    (outcome(), content(), prop::option::of(float()), metrics())
        .prop_map(|(outcome, content, reward, metrics)| ToolResult { outcome, content, reward, metrics })
}

fn reply() -> impl Strategy<Value = InteractReply> {
    (content(), prop::option::of(float()), any::<bool>())
        .prop_map(|(content, score, terminate)| InteractReply { content, score, terminate })
}

pub(crate) fn transcript() -> impl Strategy<Value = Transcript> {
    let run = (prop::option::of(0..4_u64), vec((any::<u32>(), logprob()), 0..40));
    (vec(any::<u32>(), 0..40), any::<bool>(), vec(run, 0..6)).prop_map(|(prompt, ended, runs)| {
        let mut transcript = Transcript::new();
        transcript.push_given(&prompt);
        if ended {
            transcript.end_prompt();
        }
        for (version, items) in runs {
            let (tokens, logprobs): (Vec<_>, Vec<_>) = items.into_iter().unzip();
            match version {
                Some(version) => transcript.push_sampled(PolicyVersion(version), &tokens, &logprobs),
                None => transcript.push_given(&tokens),
            }
        }
        transcript
    })
}

fn calls() -> impl Strategy<Value = Vec<CallRecord>> {
    let record = (any::<u32>(), any::<u32>(), text(), outcome(), any::<bool>(), metrics());
    let record = record.prop_map(|(turn, slot, name, outcome, ran, metrics)| CallRecord {
        turn,
        slot,
        name,
        outcome,
        ran,
        metrics,
    });
    vec(record, 0..4)
}

fn effects() -> impl Strategy<Value = Vec<EffectKey>> {
    let kinds = vec![EffectKind::Encode, EffectKind::Generate, EffectKind::Tool, EffectKind::Interact];
    let key = (prop::sample::select(kinds), any::<u32>(), any::<u32>());
    let key = key.prop_map(|(kind, turn, slot)| EffectKey { kind, turn, slot });
    prop::collection::btree_set(key, 0..6).prop_map(|set: BTreeSet<_>| set.into_iter().collect())
}

fn spec() -> impl Strategy<Value = RolloutSpec> {
    let names = (any::<u128>(), text(), text(), any::<u32>(), any::<u64>());
    let texts = (json(), json(), prop::option::of(json()), text());
    let options = prop::sample::select(samples::all_options().to_vec());
    (names, texts, options, vec(message(), 0..4), any::<u32>()).prop_map(
        |((id, task_id, group_id, sample_index, seed), texts, options, messages, limit)| {
            let mut spec = RolloutSpec::clone(&samples::data(options).spec);
            (spec.id, spec.task_id, spec.group_id) = (RolloutId(id), task_id, group_id);
            (spec.sample_index, spec.seed, spec.messages) = (sample_index, seed, messages);
            (spec.template_args, spec.extra_info, spec.ground_truth, spec.data_source) = texts;
            (spec.limits.response_length, spec.limits.turn_length) = (limit, Some(limit / 2));
            spec
        },
    )
}

fn attempt(len: u32) -> impl Strategy<Value = AttemptSpan> {
    (effect(), 0..=len, 0..=len).prop_map(|(effect, a, b)| AttemptSpan {
        effect,
        start: a.min(b),
        len: a.abs_diff(b),
    })
}

pub(crate) fn data() -> impl Strategy<Value = AgentData> {
    let scores = (vec(float(), 0..4), vec(float(), 0..4), prop::option::of(float()));
    let numbers = (0..1000_u32, 0..1000_u32, any::<u64>(), any::<u64>(), any::<bool>());
    let lists = (calls(), effects(), vec(message(), 0..4), vec(any::<u8>(), 0..64));
    (spec(), transcript(), scores, numbers, lists, any::<bool>())
        .prop_flat_map(|values| {
            let len = values.1.len();
            (Just(values), vec(attempt(len), 0..3))
        })
        .prop_map(|((spec, transcript, scores, numbers, lists, shares), attempts)| {
            let mut data = samples::data(Options::default());
            let (calls, effects, more, user_data) = lists;
            data.messages = if shares { [spec.messages.clone(), more].concat() } else { more };
            (data.spec, data.transcript, data.attempts) = (Arc::new(spec), transcript, attempts);
            (data.tool_rewards, data.turn_scores, data.reward_score) = scores;
            (data.calls, data.effects) = (calls, effects);
            let uncertain;
            (data.assistant_turns, data.user_turns, data.wasted_tokens, data.rejected_events, uncertain) =
                numbers;
            data.version_uncertain = uncertain;
            let len = data.transcript.len();
            let lenient = Mark { at: len, turn: 0, kind: MarkKind::LenientCall };
            data.marks.extend(uncertain.then_some(lenient));
            data.marks.iter_mut().for_each(|mark| mark.at = mark.at.min(len));
            data.set_user_data(user_data).unwrap();
            data
        })
}

fn slots() -> impl Strategy<Value = Vec<ToolSlot>> {
    let progress = prop_oneof![
        (0..9_u32).prop_map(|attempt| SlotProgress::Ready { attempt }),
        (0..9_u32).prop_map(|attempt| SlotProgress::Started { attempt }),
        result().prop_map(SlotProgress::Returned),
    ];
    let replay = prop::sample::select(vec![Replay::Pure, Replay::Keyed, Replay::Once]);
    let slot = (call(), any::<bool>(), replay, progress);
    vec(slot, 0..4).prop_map(|slots| {
        let number = |(at, (mut call, runs, replay, progress)): (u32, (ToolCall, _, _, _))| {
            call.slot = 2 * at;
            ToolSlot { call, runs, replay, progress }
        };
        (0..).zip(slots).map(number).collect()
    })
}

fn state(transcript: &Transcript) -> impl Strategy<Value = AgentState> + use<> {
    let (prompt, len) = (transcript.prompt_len(), transcript.len());
    let generating = (0..9_u32, 0..9_u32, prompt..=len, prompt..=len);
    prop_oneof![
        Just(AgentState::Pending),
        generating.prop_map(|(attempt, fruitless, a, b)| AgentState::Generating {
            attempt,
            fruitless,
            turn_start: a.min(b),
            attempt_start: a.max(b)
        }),
        slots().prop_map(|slots| AgentState::ProcessingTools { slots }),
        (0..9_u32, 0..9_u32, prop::option::of(reply()))
            .prop_map(|(attempt, fruitless, reply)| AgentState::Interacting { attempt, fruitless, reply }),
        prop::sample::select(samples::finishes()).prop_map(AgentState::Terminated),
    ]
}

pub(crate) fn snapshot() -> impl Strategy<Value = Snapshot> {
    data().prop_flat_map(|data| {
        let state = state(&data.transcript);
        (Just(data), state, any::<[[u8; 32]; 3]>()).prop_map(|(data, state, prints)| {
            let [dialect, tools, agent_loop] = prints.map(Fingerprint);
            Snapshot { data, state, fingerprints: Fingerprints { dialect, tools, agent_loop } }
        })
    })
}

fn event() -> impl Strategy<Value = Event> {
    let delta = (any::<u64>(), vec(any::<u32>(), 0..20), vec(logprob(), 0..20));
    let delta = delta.prop_map(|(version, tokens, logprobs)| GenerateDelta {
        version: PolicyVersion(version),
        tokens,
        logprobs,
    });
    let span = (any::<u32>(), any::<u32>(), any::<u64>());
    let span =
        span.prop_map(|(start, len, version)| VersionSpan { start, len, version: PolicyVersion(version) });
    let encoded = vec(any::<u32>(), 0..20).prop_map(|tokens| Encoded { tokens, changes: Vec::new() });
    prop_oneof![
        prop::sample::select(samples::entries()).prop_map(|entry| entry.event),
        (effect(), encoded).prop_map(|(effect, encoded)| Event::Encoded { effect, encoded }),
        (effect(), any::<u32>(), delta).prop_map(|(effect, at, delta)| Event::Sampled { effect, at, delta }),
        (effect(), vec(span, 0..4), any::<bool>()).prop_map(|(effect, spans, uncertain)| Event::Versions {
            effect,
            spans,
            uncertain
        }),
        (effect(), result()).prop_map(|(effect, result)| Event::ToolReturned { effect, result }),
        (effect(), reply()).prop_map(|(effect, reply)| Event::Replied { effect, reply }),
    ]
}

pub(crate) fn journal() -> impl Strategy<Value = Vec<JournalEntry>> {
    (0..u64::MAX / 2, vec(event(), 0..12)).prop_map(|(first, events)| {
        (first..).zip(events).map(|(seq, event)| JournalEntry { seq, event }).collect()
    })
}
