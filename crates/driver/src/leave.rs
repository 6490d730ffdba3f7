//! An interrupt: leave now, but with what is there already (DESIGN section 6, R15).

use std::{future::pending, time::Duration};

use respool_core::{AgentState, Event, Failure, PartialOff, ToolInterrupt};
use tokio::time::{Instant, sleep_until};

use crate::{Control, Exit, drive::Drive};

/// How long what is running may go on.
enum Wait {
    /// Until it ends by itself.
    Turn,
    /// So long, after it was asked to stop where that can be asked.
    AtMost(Duration),
}

/// Leaves the rollout. It ends as over where the interrupt lost the race against the end.
pub(crate) async fn interrupt(drive: &mut Drive<'_>, control: &Control) -> Result<Exit, Failure> {
    // An attempt whose end was just heard has nothing more to say.
    drive.drop_unwanted();
    let wait = wait(drive);
    if let Wait::AtMost(_) = wait {
        drive.running.abort_gracefully();
    }
    let deadline = match wait {
        Wait::Turn => None,
        Wait::AtMost(time) => Some(Instant::now() + time),
    };
    while let Some(event) = next(drive, control, deadline).await {
        drive.step(event).await?;
        settle(drive).await?;
    }
    if control.is_cancelled() {
        return drive.cancel().await;
    }
    drive.hear_labels(control).await?;
    drive.running.drop_all();
    if !is_over(drive) {
        drive.step(Event::Interrupt).await?;
    }
    Ok(if is_over(drive) { Exit::Over } else { Exit::Interrupted })
}

fn is_over(drive: &Drive<'_>) -> bool {
    matches!(drive.engine.state(), AgentState::Terminated(_))
}

fn wait(drive: &Drive<'_>) -> Wait {
    let options = &drive.engine.data().spec.options;
    match (drive.engine.state(), options.tool_interrupt) {
        (AgentState::Generating { .. }, _)
            if !options.partial_rollout && options.partial_off == PartialOff::Finish =>
        {
            Wait::Turn
        }
        (AgentState::Generating { .. }, _) => Wait::AtMost(drive.settings.abort_grace),
        (AgentState::ProcessingTools { .. } | AgentState::Interacting { .. }, ToolInterrupt::Finish) => {
            Wait::AtMost(drive.settings.tool_interrupt_deadline)
        }
        (AgentState::ProcessingTools { .. } | AgentState::Interacting { .. }, ToolInterrupt::Detach) => {
            Wait::AtMost(Duration::ZERO)
        }
        (AgentState::Pending | AgentState::Terminated(_), _) => Wait::AtMost(Duration::ZERO),
    }
}

/// The next event of what still runs; `None` when nothing does, the time is over, or a cancel came.
async fn next(drive: &mut Drive<'_>, control: &Control, deadline: Option<Instant>) -> Option<Event> {
    if drive.running.is_empty() {
        return None;
    }
    let late = async {
        match deadline {
            Some(deadline) => sleep_until(deadline).await,
            None => pending().await,
        }
    };
    tokio::select! {
        biased;
        () = control.cancelled() => None,
        event = drive.running.next() => Some(event),
        () = late => None,
    }
}

/// What follows at once from a result is done: encoding needs nobody. Nothing new is launched.
async fn settle(drive: &mut Drive<'_>) -> Result<(), Failure> {
    let is_after_turn =
        matches!(drive.engine.state(), AgentState::ProcessingTools { .. } | AgentState::Interacting { .. });
    drive.drop_unwanted();
    if is_after_turn
        && drive.running.is_empty()
        && drive.engine.encode_bytes() <= drive.settings.encode_inline_bytes
        && let Some(event) = drive.engine.encode()
    {
        drive.step(event).await?;
    }
    Ok(())
}
