//! Any event, fitting or not.

use proptest::{collection::vec, option, prelude::*, sample::select};
use respool_core::{
    CallOutcome, DialectError, EffectId, Encoded, Event, Fault, GenerateDelta, GenerateFinish, InteractReply,
    Logprob, PolicyVersion, ToolResult, VersionSpan,
};

/// Any event, fitting or not. Numbers are small, or anything.
pub fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => of_generation(),
        3 => of_tools(),
        2 => of_messages(),
        1 => select(vec![Event::Interrupt, Event::Resume, Event::Cancel]),
    ]
}

/// Small, or anything.
pub(crate) fn number() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 0..8u32, 1 => any::<u32>(), 1 => Just(u32::MAX)]
}

fn effect() -> impl Strategy<Value = EffectId> {
    (number(), number(), number()).prop_map(|(turn, slot, attempt)| EffectId { turn, slot, attempt })
}

fn tokens() -> impl Strategy<Value = Vec<u32>> {
    vec(prop_oneof![3 => 0..50u32, 2 => 600..810u32, 1 => any::<u32>()], 0..30)
}

fn fault() -> impl Strategy<Value = Fault> {
    select(vec![Fault::transient("gone"), Fault::terminal("refused"), Fault::overloaded(None, "full")])
}

fn text() -> impl Strategy<Value = &'static str> {
    select(vec!["", "ok", "京 <stop> 😀", "a text that is longer than some limits of its length"])
}

fn of_generation() -> impl Strategy<Value = Event> {
    use GenerateFinish::{Abort, ContextLength, Length, Other, Repetition, Stop};
    let finish = select(vec![Stop, Length, Abort, Repetition, ContextLength, Other("odd".to_owned())]);
    let logprobs = vec(any::<f32>().prop_map(Logprob::new), 0..30);
    let delta = (any::<u64>(), tokens(), logprobs).prop_map(|(version, tokens, logprobs)| GenerateDelta {
        version: PolicyVersion(version),
        tokens,
        logprobs,
    });
    let span = (number(), number(), any::<u64>()).prop_map(|(start, len, version)| VersionSpan {
        start,
        len,
        version: PolicyVersion(version),
    });
    prop_oneof![
        3 => (effect(), number(), delta).prop_map(|(effect, at, delta)| Event::Sampled { effect, at, delta }),
        2 => (effect(), finish).prop_map(|(effect, finish)| Event::GenerateEnded { effect, finish }),
        1 => (effect(), fault()).prop_map(|(effect, fault)| Event::GenerateFailed { effect, fault }),
        1 => (effect(), vec(span, 0..4), any::<bool>())
            .prop_map(|(effect, spans, uncertain)| Event::Versions { effect, spans, uncertain }),
    ]
}

fn of_tools() -> impl Strategy<Value = Event> {
    let outcome = select(vec![CallOutcome::Ok, CallOutcome::Wrong, CallOutcome::Interrupted]);
    let result = (outcome, text(), option::of(any::<f64>())).prop_map(|(outcome, text, reward)| {
        let mut result = ToolResult::text(outcome, text);
        result.reward = reward;
        result
    });
    prop_oneof![
        effect().prop_map(|effect| Event::ToolStarted { effect }),
        (effect(), result).prop_map(|(effect, result)| Event::ToolReturned { effect, result }),
        effect().prop_map(|effect| Event::ToolInterrupted { effect }),
    ]
}

fn of_messages() -> impl Strategy<Value = Event> {
    let encoded = tokens().prop_map(|tokens| Encoded { tokens, changes: Vec::new() });
    let reply = (text(), option::of(any::<f64>()), any::<bool>())
        .prop_map(|(text, score, terminate)| InteractReply { content: text.into(), score, terminate });
    prop_oneof![
        (effect(), encoded).prop_map(|(effect, encoded)| Event::Encoded { effect, encoded }),
        effect().prop_map(|effect| Event::EncodeFailed { effect, error: DialectError::new("refused") }),
        (effect(), reply).prop_map(|(effect, reply)| Event::Replied { effect, reply }),
        (effect(), fault()).prop_map(|(effect, fault)| Event::InteractFailed { effect, fault }),
    ]
}

/// The event with the effect, and the place in the transcript, that the rollout waits for.
pub(crate) fn aimed(mut event: Event, wanted: EffectId, len: u32) -> Event {
    match &mut event {
        Event::Sampled { effect, at, .. } => (*effect, *at) = (wanted, len),
        Event::Encoded { effect, .. }
        | Event::EncodeFailed { effect, .. }
        | Event::GenerateEnded { effect, .. }
        | Event::GenerateFailed { effect, .. }
        | Event::Versions { effect, .. }
        | Event::ToolStarted { effect }
        | Event::ToolReturned { effect, .. }
        | Event::ToolInterrupted { effect }
        | Event::Replied { effect, .. }
        | Event::InteractFailed { effect, .. } => *effect = wanted,
        Event::Interrupt | Event::Resume | Event::Cancel => {}
    }
    event
}
