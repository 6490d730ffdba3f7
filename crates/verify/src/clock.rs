//! Running one case of an asynchronous check to its end.

use std::{future::Future, time::Duration};

use crate::{Violation, violation::Property};

/// By which clock a case runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// Waiting takes no time: for services that do no I/O.
    #[default]
    Paused,
    /// As it is: for services that talk to processes or servers.
    Real,
}

impl Clock {
    /// How long anything may take. Generous: it only tells a hang from an answer.
    const fn patience(self) -> Duration {
        match self {
            Self::Paused => Duration::from_secs(24 * 3600),
            Self::Real => Duration::from_secs(120),
        }
    }

    /// Runs the future on a runtime of its own; one that does not end is a violation.
    pub(crate) fn run<T>(self, future: impl Future<Output = Result<T, Violation>>) -> Result<T, Violation> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(self == Self::Paused)
            .build()
            .map_err(|error| {
                Violation::new(Property::Progress, format!("no runtime could be made: {error}"))
            })?;
        let ended = runtime.block_on(async { tokio::time::timeout(self.patience(), future).await });
        ended.unwrap_or_else(|_| {
            let what = format!("it has not ended within {:?}", self.patience());
            Err(Violation::new(Property::Progress, what))
        })
    }
}
