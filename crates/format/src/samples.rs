//! Values that hold every variant once: what the committed fixtures decode to.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use respool_core::*;

use crate::{Fingerprints, JournalEntry, Snapshot};

fn json(text: &str) -> JsonText {
    JsonText::new(text).unwrap()
}

fn message(role: Role, text: &str) -> Message {
    Message::new(role, text)
}

pub(crate) fn call(slot: u32, name: &str) -> ToolCall {
    let arguments = json(r#"{"b": 12345678901234567890, "a": "\u00e9"}"#);
    ToolCall { id: format!("call_0_{slot}"), slot, name: name.to_owned(), arguments }
}

fn parts() -> Content {
    Content::Parts(vec![
        ContentPart::Text("see".to_owned()),
        ContentPart::Image("data:image/png;base64,AA==".to_owned()),
        ContentPart::Video("https://example.org/v".to_owned()),
        ContentPart::Audio("https://example.org/a".to_owned()),
    ])
}

fn result(outcome: CallOutcome) -> ToolResult {
    ToolResult { outcome, content: parts(), reward: Some(0.1), metrics: vec![("ms".to_owned(), 12.5)] }
}

fn tool(name: &str, replay: Replay, session: SessionPolicy) -> ToolSpec {
    let schema = json(&format!(r#"{{"type": "function", "function": {{"name": "{name}"}}}}"#));
    ToolSpec { name: name.to_owned(), schema, replay, session }
}

fn spec(options: Options) -> RolloutSpec {
    RolloutSpec {
        id: RolloutId(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef),
        task_id: "gsm8k/test/7".to_owned(),
        group_id: "group".to_owned(),
        sample_index: 3,
        agent_name: "async_partial_tool_agent".to_owned(),
        kind: if options.partial_rollout { LoopKind::Tools } else { LoopKind::SingleTurn },
        seed: u64::MAX,
        messages: vec![
            message(Role::System, "be brief"),
            message(Role::Developer, "be kind"),
            Message::new(Role::User, parts()),
        ],
        tools: vec![
            tool("pure", Replay::Pure, SessionPolicy::Stateless),
            tool("keyed", Replay::Keyed, SessionPolicy::Reattach),
            tool("once", Replay::Once, SessionPolicy::Rebuild),
            tool("lost", Replay::Once, SessionPolicy::Lost),
        ],
        tools_kwargs: BTreeMap::from([("pure".to_owned(), json(r#"{"x":1}"#))]),
        interaction: Some(InteractionSpec { name: "teacher".to_owned(), kwargs: json("{}") }),
        template_args: json(r#"{"enable_thinking":false}"#),
        sampling: Sampling {
            temperature: Some(0.7),
            top_p: Some(1.0),
            top_k: Some(-1),
            min_p: Some(0.05),
            repetition_penalty: Some(1.1),
            presence_penalty: Some(0.0),
            frequency_penalty: Some(-0.0),
            min_new_tokens: Some(1),
            stop: vec!["###".to_owned()],
            stop_token_ids: vec![2],
            ignore_eos: true,
        },
        limits: Limits {
            context_length: Some(32_768),
            turn_length: Some(512),
            max_assistant_turns: Some(8),
            max_user_turns: Some(7),
            ..Limits::default()
        },
        options,
        data_source: "openai/gsm8k".to_owned(),
        ground_truth: Some(json("\"18\"")),
        extra_info: json(r#"{"index": 7, "big": 123456789012345678901234567890, "answer": "18"}"#),
    }
}

pub(crate) fn transcript() -> Transcript {
    let mut transcript = Transcript::new();
    transcript.push_given(&[1, 200, 151_643]);
    transcript.end_prompt();
    let logprobs = [Logprob::new(-0.5), Logprob::new(-0.0), Logprob::MISSING];
    transcript.push_sampled(PolicyVersion(3), &[11, 12, 13], &logprobs);
    transcript.push_sampled(PolicyVersion(4), &[14], &[Logprob::new(-0.123_456_79)]);
    transcript.push_given(&[801, 9]);
    transcript.push_sampled(
        PolicyVersion(u64::MAX),
        &[15, 2],
        &[Logprob::new(-1e-30), Logprob::new(f32::MIN)],
    );
    transcript
}

pub(crate) const OUTCOMES: [CallOutcome; 8] = [
    CallOutcome::Ok,
    CallOutcome::Wrong,
    CallOutcome::Malformed,
    CallOutcome::OverLimit,
    CallOutcome::Infrastructure,
    CallOutcome::Interrupted,
    CallOutcome::Cancelled,
    CallOutcome::NotRun,
];

fn calls() -> Vec<CallRecord> {
    let record = |(slot, outcome): (u32, CallOutcome)| CallRecord {
        turn: 0,
        slot,
        name: if outcome == CallOutcome::Malformed { String::new() } else { "pure".to_owned() },
        outcome,
        ran: outcome == CallOutcome::Ok,
        metrics: vec![("ms".to_owned(), f64::from(slot) + 0.25)],
    };
    (0..).zip(OUTCOMES).map(record).collect()
}

fn chat(first: &[Message]) -> Vec<Message> {
    let mut turn = message(Role::Assistant, "");
    turn.reasoning = Some("hm".to_owned());
    turn.tool_calls = vec![call(0, "pure")];
    let mut answer = message(Role::Tool, "18");
    answer.tool_call_id = Some("call_0_0".to_owned());
    answer.name = Some("pure".to_owned());
    answer.outcome = Some(CallOutcome::Ok);
    first.iter().cloned().chain([turn, answer]).collect()
}

pub(crate) fn data(options: Options) -> AgentData {
    let spec = spec(options);
    let effect = |kind, slot| EffectKey { kind, turn: 0, slot };
    let mark = |at, kind| Mark { at, turn: 0, kind };
    AgentData {
        messages: chat(&spec.messages),
        spec: Arc::new(spec),
        transcript: transcript(),
        assistant_turns: 2,
        user_turns: 1,
        tool_rewards: vec![0.1, -0.0, f64::MAX],
        turn_scores: vec![0.5, f64::MIN_POSITIVE],
        reward_score: Some(1.0),
        calls: calls(),
        effects: vec![
            effect(EffectKind::Encode, 0),
            effect(EffectKind::Generate, 0),
            effect(EffectKind::Tool, 1),
            effect(EffectKind::Interact, 0),
        ],
        attempts: vec![AttemptSpan { effect: EffectId { turn: 0, slot: 0, attempt: 1 }, start: 3, len: 4 }],
        marks: vec![
            mark(5, MarkKind::Cut),
            mark(5, MarkKind::Resumed),
            mark(5, MarkKind::FailedOver { reason: "connection reset".to_owned() }),
            mark(6, MarkKind::Version(PolicyVersion(4))),
            mark(7, MarkKind::LenientCall),
        ],
        template_changes: vec![TemplateChange {
            at: 17,
            kept: "<think>".to_owned(),
            template: String::new(),
        }],
        wasted_tokens: 300,
        version_uncertain: true,
        rejected_events: 2,
        user_data: UserData::new(vec![0, 255]).unwrap(),
    }
}

pub(crate) fn all_options() -> [Options; 3] {
    let ours = Options::default();
    let reference = Options {
        compat: Compat::verl(),
        truncate_side: TruncateSide::Left,
        prompt_overflow: PromptOverflow::CutLeft,
        partial_rollout: false,
        partial_off: PartialOff::Restart,
        tool_interrupt: ToolInterrupt::Detach,
        reward_on_infrastructure: true,
    };
    let cut_right = Options {
        truncate_side: TruncateSide::Right,
        prompt_overflow: PromptOverflow::CutRight,
        ..ours.clone()
    };
    [ours, reference, cut_right]
}

pub(crate) fn finishes() -> Vec<Finish> {
    let after = Some(Duration::new(2, 500_000_000));
    let classes =
        [Class::Transient, Class::Overloaded { after }, Class::Overloaded { after: None }, Class::Terminal];
    let kinds = [
        FailureKind::PromptTooLong,
        FailureKind::Dialect,
        FailureKind::Generate,
        FailureKind::Interact,
        FailureKind::Reward,
        FailureKind::Task,
        FailureKind::Checkpoint,
    ];
    let failure = |(kind, class)| Finish::Failed(Failure { kind, class, message: "no".to_owned() });
    let failures = kinds.into_iter().zip(classes.into_iter().cycle()).map(failure);
    let finishes = [
        Finish::Answered,
        Finish::ResponseLength,
        Finish::ContextLength,
        Finish::TurnLength,
        Finish::AssistantTurns,
        Finish::UserTurns,
        Finish::InteractionEnded,
        Finish::Repetition,
        Finish::Other("eaten".to_owned()),
        Finish::EmptyReply,
        Finish::Cancelled,
    ];
    finishes.into_iter().chain(failures).collect()
}

pub(crate) fn states() -> Vec<AgentState> {
    let slot = |slot, runs, replay, progress| ToolSlot { call: call(slot, "pure"), runs, replay, progress };
    let slots = vec![
        slot(0, true, Replay::Pure, SlotProgress::Ready { attempt: 2 }),
        slot(1, true, Replay::Once, SlotProgress::Started { attempt: 0 }),
        slot(4, false, Replay::Keyed, SlotProgress::Returned(result(CallOutcome::Wrong))),
    ];
    let reply = InteractReply { content: "go on".into(), score: Some(-1.5), terminate: true };
    let open = [
        AgentState::Pending,
        AgentState::Generating { attempt: 1, fruitless: 0, turn_start: 9, attempt_start: 10 },
        AgentState::ProcessingTools { slots },
        AgentState::Interacting { attempt: 1, fruitless: 1, reply: None },
        AgentState::Interacting { attempt: 0, fruitless: 0, reply: Some(reply) },
    ];
    open.into_iter().chain(finishes().into_iter().map(AgentState::Terminated)).collect()
}

pub(crate) fn snapshots() -> Vec<Snapshot> {
    let fingerprint = |byte| Fingerprint([byte; 32]);
    let fingerprints =
        Fingerprints { dialect: fingerprint(1), tools: fingerprint(2), agent_loop: fingerprint(3) };
    let options = all_options().into_iter().cycle();
    let snapshot = |(state, options)| Snapshot { data: data(options), state, fingerprints };
    states().into_iter().zip(options).map(snapshot).collect()
}

pub(crate) fn generate_finishes() -> [GenerateFinish; 6] {
    [
        GenerateFinish::Stop,
        GenerateFinish::Length,
        GenerateFinish::Abort,
        GenerateFinish::Repetition,
        GenerateFinish::ContextLength,
        GenerateFinish::Other("eaten".to_owned()),
    ]
}

pub(crate) fn entries() -> Vec<JournalEntry> {
    let effect = EffectId { turn: 1, slot: 2, attempt: 3 };
    let changes = vec![TemplateChange { at: 0, kept: "a".to_owned(), template: "b".to_owned() }];
    let delta = GenerateDelta {
        version: PolicyVersion(9),
        tokens: vec![7, 151_643],
        logprobs: vec![Logprob::new(-0.25), Logprob::MISSING],
    };
    let events = [
        Event::Encoded { effect, encoded: Encoded { tokens: vec![1, 2], changes } },
        Event::EncodeFailed { effect, error: DialectError::new("no template") },
        Event::Sampled { effect, at: 12, delta },
        Event::GenerateFailed { effect, fault: Fault::overloaded(Some(Duration::from_millis(1)), "busy") },
        Event::Versions {
            effect,
            spans: vec![VersionSpan { start: 0, len: 2, version: PolicyVersion(8) }],
            uncertain: true,
        },
        Event::ToolStarted { effect },
        Event::ToolInterrupted { effect },
        Event::Replied { effect, reply: InteractReply { content: parts(), score: None, terminate: false } },
        Event::InteractFailed { effect, fault: Fault::terminal("gone") },
        Event::Interrupt,
        Event::Resume,
        Event::Cancel,
    ];
    let ended = generate_finishes().map(|finish| Event::GenerateEnded { effect, finish });
    let returned = OUTCOMES.map(|outcome| Event::ToolReturned { effect, result: result(outcome) });
    let all = events.into_iter().chain(ended).chain(returned);
    (40..).zip(all).map(|(seq, event)| JournalEntry { seq, event }).collect()
}

pub(crate) fn trajectories() -> Vec<Trajectory> {
    let options = all_options().into_iter().cycle();
    let mut all: Vec<_> = finishes()
        .into_iter()
        .zip(options)
        .map(|(finish, options)| Trajectory { data: data(options), finish })
        .collect();
    for (at, trajectory) in (0..).zip(&mut all) {
        Arc::make_mut(&mut trajectory.data.spec).sample_index = at;
    }
    all
}
