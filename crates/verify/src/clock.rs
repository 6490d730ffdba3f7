//! Running one case of an asynchronous check to its end.

use std::{future::Future, time::Duration};

use tokio::runtime::{Builder, Handle, Runtime};

use crate::{Violation, violation::Property};

/// By which clock a case runs.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// Waiting takes no time: for services that do no I/O.
    #[default]
    Paused,
    /// As it is, on a runtime made for the case: for services that talk to processes.
    Real,
    /// As it is, on this runtime of several threads: for services that keep connections and tasks
    /// from one case to the next.
    On(Handle),
}

impl Clock {
    /// How long anything may take. Generous: it only tells a hang from an answer.
    const fn patience(&self) -> Duration {
        match self {
            Self::Paused => Duration::from_secs(24 * 3600),
            Self::Real | Self::On(_) => Duration::from_secs(120),
        }
    }

    /// Runs the future to its end; one that does not end is a violation.
    pub(crate) fn run<T>(&self, future: impl Future<Output = Result<T, Violation>>) -> Result<T, Violation> {
        let patient = async { tokio::time::timeout(self.patience(), future).await };
        let ended = match self {
            Self::Paused | Self::Real => own_runtime(matches!(self, Self::Paused))?.block_on(patient),
            Self::On(runtime) => runtime.block_on(patient),
        };
        ended.unwrap_or_else(|_| {
            let what = format!("it has not ended within {:?}", self.patience());
            Err(Violation::new(Property::Progress, what))
        })
    }
}

fn own_runtime(is_paused: bool) -> Result<Runtime, Violation> {
    let runtime = Builder::new_current_thread().enable_all().start_paused(is_paused).build();
    runtime.map_err(|error| Violation::new(Property::Progress, format!("no runtime could be made: {error}")))
}
