//! The gate in front of a worker's rollouts: open, or closed by an interrupt.

use respool_driver::Control;
use tokio::sync::watch;

/// One state for all: whether rollouts may run, and the control of those that do.
#[derive(Debug)]
pub(crate) struct Gate {
    state: watch::Sender<State>,
    running: watch::Sender<usize>,
}

#[derive(Clone, Debug, Default)]
struct State {
    is_closed: bool,
    control: Control,
}

/// Somebody is inside; dropping it is leaving.
#[derive(Debug)]
pub(crate) struct Inside<'a> {
    gate: &'a Gate,
    pub(crate) control: Control,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self { state: watch::Sender::new(State::default()), running: watch::Sender::new(0) }
    }

    /// Closes the gate and interrupts everybody inside. Closing a closed gate changes nothing.
    pub(crate) fn close(&self) {
        self.state.send_modify(|state| {
            state.is_closed = true;
            state.control.interrupt();
        });
    }

    /// Opens the gate. Opening an open gate changes nothing.
    pub(crate) fn open(&self) {
        self.state.send_if_modified(|state| {
            let was_closed = std::mem::replace(&mut state.is_closed, false);
            if was_closed {
                // Whoever waits since before, or still leaves, is to hear a later cancel.
                state.control = state.control.resumed();
            }
            was_closed
        });
    }

    /// Cancels everybody inside and everybody who waits; later ones are not concerned.
    pub(crate) fn cancel(&self) {
        self.state.send_modify(|state| {
            let control = std::mem::take(&mut state.control);
            if state.is_closed {
                state.control.interrupt();
            }
            control.cancel();
        });
    }

    /// The control of whoever is submitted now: a cancel at any later time is its cancel too.
    pub(crate) fn ticket(&self) -> Control {
        self.state.borrow().control.clone()
    }

    /// Waits until the gate is open or the ticket is cancelled, and goes in.
    pub(crate) async fn enter(&self, ticket: &Control) -> Inside<'_> {
        let mut states = self.state.subscribe();
        loop {
            // Counted while the state cannot change: whoever closes the gate after this sees us.
            let inside = {
                let state = states.borrow_and_update();
                (!state.is_closed || ticket.is_cancelled()).then(|| {
                    self.running.send_modify(|count| *count += 1);
                    // Cancelled, but not interrupted: a loop that looks at the interrupt first would
                    // come back at once, again and again.
                    if ticket.is_cancelled() { ticket.resumed() } else { state.control.clone() }
                })
            };
            if let Some(control) = inside {
                return Inside { gate: self, control };
            }
            if states.changed().await.is_err() {
                // Cannot be: we borrow the sender.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until nobody is inside.
    pub(crate) async fn idle(&self) {
        let mut running = self.running.subscribe();
        let _closed = running.wait_for(|count| *count == 0).await;
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.gate.running.send_modify(|count| *count -= 1);
    }
}
