//! Random tasks: a specification and the world that it meets.

use std::{fmt, sync::Arc};

use proptest::{collection::vec, option, prelude::*, sample::select};
use respool_core::{
    CallsOverLimit, Compat, FailedCallReward, InteractionSpec, JsonText, Limits, LoopKind, MalformedCalls,
    Message, Options, PartialOff, PromptOverflow, Replay, Role, RolloutId, RolloutSpec, Sampling,
    TerminatingReplyTokens, ToolInterrupt, ToolSpec, TruncateSide,
};

use crate::{Habits, Vocabulary, World, schedule::MOST_FAULTS};

/// A task and the world that it meets.
#[derive(Clone)]
pub struct Script {
    /// The task.
    pub spec: Arc<RolloutSpec>,
    /// What it meets.
    pub world: World,
    habits: Habits,
    seed: u64,
}

/// Any task that the vocabulary can be about, with limits from generous to hardly any.
pub fn script(vocabulary: Arc<Vocabulary>) -> impl Strategy<Value = Script> {
    let replays = vec(select(vec![Replay::Pure, Replay::Keyed, Replay::Once]), vocabulary.tools.len());
    let stop = prop_oneof![
        3 => Just(Vec::new()).boxed(),
        1 => subset(vocabulary.stop_strings.clone()).boxed(),
    ];
    let world = (any::<u64>(), habits(), option::of(0..4u32), any::<prop::sample::Index>());
    (world, limits(), options(), replays, stop, task_shape()).prop_map(
        move |((seed, habits, last_reply, prompt), limits, options, replays, stop, shape)| {
            let mut spec = RolloutSpec::new(RolloutId(u128::from(seed)), "task", Vec::new());
            let text = vocabulary.prompts.get(prompt.index(vocabulary.prompts.len().max(1)));
            spec.messages = vec![Message::new(Role::User, text.map_or("", String::as_str))];
            spec.tools =
                vocabulary.tools.iter().zip(replays).map(|(name, replay)| tool(name, replay)).collect();
            spec.kind = shape.kind;
            spec.interaction = shape
                .interaction
                .then(|| InteractionSpec { name: "user".to_owned(), kwargs: JsonText::empty_object() });
            spec.sampling = Sampling { stop, ignore_eos: shape.ignore_eos, ..Sampling::default() };
            (spec.limits, spec.options, spec.seed) = (limits, options, seed);
            let world = World::new(&vocabulary, habits, seed, last_reply);
            Script { spec: Arc::new(spec), world, habits, seed }
        },
    )
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    kind: LoopKind,
    interaction: bool,
    ignore_eos: bool,
}

fn task_shape() -> impl Strategy<Value = Shape> {
    let kind = prop_oneof![9 => Just(LoopKind::Tools), 1 => Just(LoopKind::SingleTurn)];
    (kind, any::<bool>(), prop::bool::weighted(0.05)).prop_map(|(kind, interaction, ignore_eos)| Shape {
        kind,
        interaction,
        ignore_eos,
    })
}

fn subset(texts: Vec<String>) -> impl Strategy<Value = Vec<String>> {
    let most = texts.len().min(2);
    prop::sample::subsequence(texts, 0..=most)
}

fn tool(name: &str, replay: Replay) -> ToolSpec {
    ToolSpec { name: name.to_owned(), schema: JsonText::empty_object(), replay, session: Default::default() }
}

fn habits() -> impl Strategy<Value = Habits> {
    let derail = prop_oneof![2 => Just(0u8), 1 => 1..30u8];
    (5..30u8, 5..45u8, 0..15u8, 0..10u8, derail, prop::bool::weighted(0.8)).prop_map(
        |(stop, call, character, reasoning, derail, returns_stop)| Habits {
            stop,
            call,
            character,
            reasoning,
            derail,
            returns_stop,
        },
    )
}

fn limits() -> impl Strategy<Value = Limits> {
    let prompt = prop_oneof![30 => Just(64u32), 1 => 0..6u32];
    let response = prop_oneof![3 => 40..160u32, 1 => 0..40u32];
    let context = prop_oneof![3 => Just(None), 1 => (1..120u32).prop_map(Some)];
    let turn = prop_oneof![4 => Just(None), 1 => (0..20u32).prop_map(Some)];
    let turns = || prop_oneof![4 => Just(None), 1 => (0..5u32).prop_map(Some)];
    let attempts = (MOST_FAULTS + 1)..9;
    (prompt, response, context, turn, turns(), turns(), (1..5u32, 0..40u32, attempts)).prop_map(
        |(prompt, response, context, turn, assistant, user, (parallel, text, attempts))| Limits {
            prompt_length: prompt,
            response_length: response,
            context_length: context,
            turn_length: turn,
            max_assistant_turns: assistant,
            max_user_turns: user,
            max_parallel_calls: parallel,
            max_tool_response_length: text,
            max_attempts: attempts,
        },
    )
}

fn options() -> impl Strategy<Value = Options> {
    let side = select(vec![TruncateSide::Left, TruncateSide::Middle, TruncateSide::Right]);
    let overflow = select(vec![PromptOverflow::Fail, PromptOverflow::CutLeft, PromptOverflow::CutRight]);
    let partial_off = select(vec![PartialOff::Finish, PartialOff::Restart]);
    let interrupt = select(vec![ToolInterrupt::Finish, ToolInterrupt::Detach]);
    (compat(), side, overflow, prop::bool::weighted(0.75), partial_off, interrupt, any::<bool>()).prop_map(
        |(compat, side, overflow, partial_rollout, partial_off, tool_interrupt, reward)| Options {
            compat,
            truncate_side: side,
            prompt_overflow: overflow,
            partial_rollout,
            partial_off,
            tool_interrupt,
            reward_on_infrastructure: reward,
        },
    )
}

fn compat() -> impl Strategy<Value = Compat> {
    let single = any::<[bool; 5]>().prop_map(|[over, malformed, failed, keep_old, terminating]| Compat {
        calls_over_limit: if over { CallsOverLimit::Drop } else { CallsOverLimit::Answer },
        malformed_calls: if malformed { MalformedCalls::Drop } else { MalformedCalls::Answer },
        failed_call_reward: if failed { FailedCallReward::Zero } else { FailedCallReward::None },
        truncate_keep_old: keep_old,
        terminating_reply_tokens: if terminating {
            TerminatingReplyTokens::Append
        } else {
            TerminatingReplyTokens::Omit
        },
        ..Compat::default()
    });
    prop_oneof![2 => Just(Compat::default()), 1 => Just(Compat::verl()), 2 => single]
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = &self.spec;
        writeln!(f, "seed {}, {:?}, interaction: {}", self.seed, spec.kind, spec.interaction.is_some())?;
        writeln!(f, "{:?}", self.habits)?;
        let replays: Vec<_> = spec.tools.iter().map(|tool| (tool.name.as_str(), tool.replay)).collect();
        writeln!(
            f,
            "tools {replays:?}, stop {:?}, ignore_eos {}",
            spec.sampling.stop, spec.sampling.ignore_eos
        )?;
        writeln!(f, "{:?}\n{:?}", spec.limits, spec.options)
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
