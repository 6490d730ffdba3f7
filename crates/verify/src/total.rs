//! P9: no pair of state and event panics, and every event leaves a rollout that can be resumed.

use std::sync::Arc;

use proptest::{collection::vec, prelude::*, sample::select, test_runner::Config};
use respool_core::{AgentData, AgentState, Dialect, Event, InteractReply, Replay, SlotProgress, ToolSlot};

use crate::{
    CheckError, Machine, Script, Vocabulary,
    event::{aimed, event, number},
    script::script,
    search::search,
};

/// One thing that happens.
#[derive(Clone, Debug)]
enum Happening {
    /// What is wanted is answered as it should be.
    Encode,
    /// An event with the effect that the rollout waits for, if it waits for one.
    Aimed(Event),
    /// Any event.
    Any(Event),
    /// The rollout is read from a file that says something else about its phase.
    Forged(Box<AgentState>),
    /// The rollout is read from a file with these numbers of turns.
    Recounted(u32, u32),
}

/// Lets anything happen to `config.cases` rollouts, files that were tampered with included.
///
/// # Errors
/// [`CheckError::Broken`] if something panics, or if an event leaves a rollout that
/// [`Machine::from_parts`] refuses.
pub fn check_total<M: Machine>(
    vocabulary: &Arc<Vocabulary>,
    dialect: &Arc<dyn Dialect>,
    config: Config,
) -> Result<(), CheckError> {
    let strategy = (script(Arc::clone(vocabulary)), vec(happening(), 1..25));
    let check = |(script, happenings): (Script, Vec<Happening>)| {
        let mut machine = M::new(Arc::clone(&script.spec), Arc::clone(dialect));
        happenings.into_iter().try_for_each(|happening| happen(&mut machine, happening, dialect))
    };
    search(config, &strategy, check, |(script, happenings)| {
        format!("{happenings:#?}\nwith the task:\n{script}")
    })
}

fn happen<M: Machine>(
    machine: &mut M,
    happening: Happening,
    dialect: &Arc<dyn Dialect>,
) -> Result<(), String> {
    let (mut data, mut state) = (machine.engine().data().clone(), machine.engine().state().clone());
    let event = match happening {
        Happening::Encode => machine.engine().encode(),
        Happening::Aimed(event) => Some(at_wanted(machine, event)),
        Happening::Any(event) => Some(event),
        Happening::Forged(forged) => {
            state = *forged;
            None
        }
        Happening::Recounted(assistant, user) => {
            (data.assistant_turns, data.user_turns) = (assistant, user);
            None
        }
    };
    let Some(event) = event else {
        if let Ok(read) = M::from_parts(data, state, Arc::clone(dialect)) {
            *machine = read;
        }
        return Ok(());
    };
    let shown = format!("{event:?}");
    // Whether it fits is another property's.
    let _fits = machine.step(event);
    is_valid::<M>(machine.engine().data().clone(), machine.engine().state().clone(), dialect)
        .map_err(|reason| format!("after {shown}: {reason}"))
}

fn is_valid<M: Machine>(
    data: AgentData,
    state: AgentState,
    dialect: &Arc<dyn Dialect>,
) -> Result<(), String> {
    M::from_parts(data, state, Arc::clone(dialect)).map(drop).map_err(|invalid| invalid.to_string())
}

fn at_wanted<M: Machine>(machine: &M, event: Event) -> Event {
    let wanted = machine.engine().wanted().effects().next();
    match wanted {
        Some((_, effect)) => aimed(event, effect, machine.engine().data().transcript.len()),
        None => event,
    }
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => Just(Happening::Encode),
        8 => event().prop_map(Happening::Aimed),
        2 => event().prop_map(Happening::Any),
        1 => state().prop_map(|state| Happening::Forged(Box::new(state))),
        1 => (number(), number()).prop_map(|(assistant, user)| Happening::Recounted(assistant, user)),
    ]
}

fn state() -> impl Strategy<Value = AgentState> {
    let reply = InteractReply { content: "hm".into(), score: None, terminate: false };
    prop_oneof![
        Just(AgentState::Pending),
        (number(), number(), number(), number()).prop_map(
            |(attempt, fruitless, turn_start, attempt_start)| {
                AgentState::Generating { attempt, fruitless, turn_start, attempt_start }
            }
        ),
        (number(), number(), prop::option::of(Just(reply)))
            .prop_map(|(attempt, fruitless, reply)| AgentState::Interacting { attempt, fruitless, reply }),
        vec(slot(), 0..4).prop_map(|slots| AgentState::ProcessingTools { slots }),
    ]
}

fn slot() -> impl Strategy<Value = ToolSlot> {
    let replay = select(vec![Replay::Pure, Replay::Keyed, Replay::Once]);
    (number(), number(), any::<bool>(), any::<bool>(), replay).prop_map(
        |(slot, attempt, runs, started, replay)| {
            let call = respool_core::ToolCall {
                id: "c".to_owned(),
                slot,
                name: "t01".to_owned(),
                arguments: respool_core::JsonText::empty_object(),
            };
            let progress =
                if started { SlotProgress::Started { attempt } } else { SlotProgress::Ready { attempt } };
            ToolSlot { call, runs, replay, progress }
        },
    )
}
