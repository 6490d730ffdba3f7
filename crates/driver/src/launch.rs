//! Launching what the engine wants and does not have running yet.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt, stream};
use respool_core::{
    AgentState, CallOutcome, Class, DialectError, EffectId, EffectKind, Event, Fault, GenerateFinish,
    InteractRequest, Replay, SlotProgress, ToolRequest, ToolResult, ToolSlot,
};
use respool_engine::{Engine, Wanted};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::{
    Services, Settings,
    generation::Generation,
    running::{Events, Key, Running},
};

/// What the driver has to do before it can wait.
pub(crate) enum Next {
    /// Everything wanted runs.
    Wait,
    /// The rollout is over.
    Over,
    /// Step with this at once.
    Step(Event),
    /// Make this durable, then step with it: a `once` call that is launched right after.
    Record(Event),
}

/// Launches what is wanted and not running, and drops what runs and is not wanted any more.
pub(crate) fn reconcile(
    engine: &Engine,
    running: &mut Running,
    services: &Services,
    settings: &Settings,
    failure: Option<Class>,
) -> Next {
    let wanted = engine.wanted();
    running.keep_wanted(&wanted);
    // Only the next attempt after a failure waits.
    let delay = || failure.map_or(Duration::ZERO, |class| retry_delay(engine, settings, class));
    match wanted {
        Wanted::Nothing => Next::Over,
        Wanted::Encode { effect } => encode(engine, running, settings, effect),
        Wanted::Generate(wanted) if running.contains((EffectKind::Generate, wanted.effect)) => Next::Wait,
        Wanted::Generate(wanted) if wanted.max_tokens == 0 => {
            // Its stream is gone and nothing is left to ask for: the turn ends as cut.
            Next::Step(Event::GenerateEnded { effect: wanted.effect, finish: GenerateFinish::Abort })
        }
        Wanted::Generate(wanted) => {
            let abort = CancellationToken::new();
            let generation =
                Generation::launch(services.generate.clone(), wanted.request(), abort.clone(), delay());
            running.launch((EffectKind::Generate, wanted.effect), Box::pin(generation), Some(abort));
            Next::Wait
        }
        Wanted::Tools { turn, slots } => tools(engine, running, services, turn, slots),
        Wanted::Interact(wanted) if running.contains((EffectKind::Interact, wanted.effect)) => Next::Wait,
        Wanted::Interact(wanted) => match wanted.request() {
            Some(request) => {
                let events = interaction(services.clone(), request, delay());
                running.launch((EffectKind::Interact, wanted.effect), events, None);
                Next::Wait
            }
            None => {
                let fault = Fault::terminal("the task has no interaction");
                Next::Step(Event::InteractFailed { effect: wanted.effect, fault })
            }
        },
    }
}

fn tools(engine: &Engine, running: &mut Running, services: &Services, turn: u32, slots: &[ToolSlot]) -> Next {
    for slot in slots {
        let Some(effect) = slot.effect(turn) else { continue };
        if running.contains((EffectKind::Tool, effect)) {
            continue;
        }
        match (&slot.progress, slot.replay) {
            (SlotProgress::Started { .. }, _) => return Next::Step(Event::ToolInterrupted { effect }),
            (SlotProgress::Ready { .. }, Replay::Once) => return Next::Record(Event::ToolStarted { effect }),
            (SlotProgress::Ready { .. } | SlotProgress::Returned(_), _) => {
                launch_tool(engine, running, services, effect);
            }
        }
    }
    Next::Wait
}

/// Small texts are encoded here and now, large ones on the blocking pool.
fn encode(engine: &Engine, running: &mut Running, settings: &Settings, effect: EffectId) -> Next {
    let key: Key = (EffectKind::Encode, effect);
    if running.contains(key) {
        return Next::Wait;
    }
    if engine.encode_bytes() <= settings.encode_inline_bytes
        && let Some(event) = engine.encode()
    {
        return Next::Step(event);
    }
    let copy = engine.clone();
    let encoded = tokio::task::spawn_blocking(move || copy.encode());
    let event = encoded.map(move |joined| match joined {
        Ok(Some(event)) => event,
        Ok(None) => encode_failed(effect, "nothing was to be encoded"),
        Err(error) => encode_failed(effect, &format!("rendering or tokenizing ended with {error}")),
    });
    running.launch(key, Box::pin(stream::once(event)), None);
    Next::Wait
}

fn encode_failed(effect: EffectId, message: &str) -> Event {
    Event::EncodeFailed { effect, error: DialectError::new(message) }
}

/// Launches a call. A `once` call must be on record as started.
pub(crate) fn launch_tool(engine: &Engine, running: &mut Running, services: &Services, effect: EffectId) {
    if let Some(request) = engine.tool_request(effect) {
        running.launch((EffectKind::Tool, effect), tool(services.clone(), request), None);
    }
}

fn tool(services: Services, request: ToolRequest) -> Events {
    let effect = request.effect;
    let name = request.call.name.clone();
    let returned = services.tools.oneshot(request).map(move |result| {
        let result = result.unwrap_or_else(|fault| unreachable_tool(&name, &fault));
        Event::ToolReturned { effect, result }
    });
    Box::pin(stream::once(returned))
}

/// R6: a service that fails says nothing about the policy.
fn unreachable_tool(name: &str, fault: &Fault) -> ToolResult {
    ToolResult::text(CallOutcome::Infrastructure, format!("Error: tool {name} could not be run: {fault}"))
}

fn interaction(services: Services, request: InteractRequest, delay: Duration) -> Events {
    let effect = request.effect;
    let reply = async move {
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        match services.interact.oneshot(request).await {
            Ok(reply) => Event::Replied { effect, reply },
            Err(fault) => Event::InteractFailed { effect, fault },
        }
    };
    stream::once(reply).boxed()
}

/// Longer after each attempt in a row that brought nothing.
fn retry_delay(engine: &Engine, settings: &Settings, class: Class) -> Duration {
    let fruitless = match engine.state() {
        AgentState::Generating { fruitless, .. } | AgentState::Interacting { fruitless, .. } => *fruitless,
        AgentState::Pending | AgentState::ProcessingTools { .. } | AgentState::Terminated(_) => 0,
    };
    let delay = settings.backoff.delay(fruitless.saturating_sub(1), class, engine.data().spec.seed);
    // A class that allows no retry has ended the rollout before this.
    delay.unwrap_or_default()
}
