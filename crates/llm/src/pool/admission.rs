//! A request's way to a server: it waits its turn, without polling, until one has room.

use std::sync::Arc;

use respool_core::Fault;
use respool_stack::GenerateCall;
use tokio::time::Instant;

use super::{
    roster::{Choice, Chosen},
    settings::after,
    shared::{Place, Shared, Slot},
};

/// A request with its place at a server.
pub(crate) struct Admitted {
    pub(crate) chosen: Chosen,
    pub(crate) slot: Slot,
    /// The pool's reckoning of pauses and versions when the place was taken.
    pub(crate) epoch: u64,
}

/// What a request that waits does next.
enum Step {
    Go(Admitted),
    /// The pool aborted everything.
    Aborted,
    /// Look again then, or when woken.
    Wait(Instant),
    Fail(Fault),
}

/// Waits for a server. `None` if the request was aborted first.
pub(crate) async fn admit(shared: &Arc<Shared>, call: &GenerateCall) -> Result<Option<Admitted>, Fault> {
    if call.abort.is_cancelled() {
        return Ok(None);
    }
    let start = Instant::now();
    let place = Place::last(shared);
    loop {
        let look_again = match step(shared, call, &place, start) {
            Step::Go(admitted) => return Ok(Some(admitted)),
            Step::Aborted => return Ok(None),
            Step::Fail(fault) => return Err(fault),
            Step::Wait(until) => until,
        };
        tokio::select! {
            biased;
            () = call.abort.cancelled() => return Ok(None),
            () = place.woken.notified() => {}
            () = tokio::time::sleep_until(look_again) => {}
        }
    }
}

fn step(shared: &Arc<Shared>, call: &GenerateCall, place: &Place<'_>, start: Instant) -> Step {
    let (now, limit) = (Instant::now(), shared.settings.wait_for_server);
    let mut state = shared.lock();
    if state.roster.aborts != place.aborts {
        return Step::Aborted;
    }
    let is_first = state.queue.keys().next() == Some(&place.number);
    let choice = if is_first {
        state.roster.choose(call.request.rollout, &call.abort, now)
    } else {
        state.roster.obstacle().unwrap_or(Choice::Wait(None))
    };
    match choice {
        Choice::Send(chosen) => {
            let epoch = shared.epoch();
            drop(state);
            let slot = Slot { shared: Arc::clone(shared), server: chosen.member.id, stream: chosen.stream };
            Step::Go(Admitted { chosen, slot, epoch })
        }
        Choice::Wait(until) => {
            let later = after(now, limit);
            Step::Wait(until.map_or(later, |until| until.min(later)))
        }
        Choice::NoServer(since) => {
            let deadline = after(since.map_or(start, |since| since.max(start)), limit);
            if deadline > now { Step::Wait(deadline) } else { Step::Fail(no_server(shared, &state.roster)) }
        }
    }
}

fn no_server(shared: &Shared, roster: &super::roster::Roster) -> Fault {
    const SHOWN: usize = 8;
    let statuses = roster.statuses();
    let mut servers: Vec<String> =
        statuses.iter().take(SHOWN).map(|server| format!("{} is {}", server.name, server.state)).collect();
    match statuses.len() {
        0 => servers.push("the pool has none; add one".to_owned()),
        len if len > SHOWN => servers.push(format!("and {} more", len - SHOWN)),
        _ => {}
    }
    let limit = shared.settings.wait_for_server;
    Fault::transient(format!("no llm server was in service for {limit:?}: {}", servers.join(", ")))
}
