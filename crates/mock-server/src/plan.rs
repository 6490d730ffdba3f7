//! What a fault means for the parts of a server.

use std::time::Duration;

use respool_llm_mock::ServerFault;

use crate::{BadLogprob, HttpFault};

/// A fault, taken apart: each part of the server reads what concerns it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plan {
    /// The fault itself, for the log.
    pub(crate) fault: Option<HttpFault>,
    /// Refuses the request.
    pub(crate) refusal: Option<(u16, Option<Duration>)>,
    /// Delays the status line.
    pub(crate) header_delay: Duration,
    /// Happens to the generation.
    pub(crate) generation: Option<ServerFault>,
    /// What a generation that breaks off looks like.
    pub(crate) breach: Breach,
    /// Makes the data wrong.
    pub(crate) data: Option<DataFault>,
}

/// How an answer breaks off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Breach {
    #[default]
    Close,
    Reset,
    Truncate,
    Garbage,
    ErrorEvent,
    Die {
        back_after: Option<Duration>,
    },
}

/// How data is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataFault {
    WrongId { at: u32 },
    Bad { at: u32, value: BadLogprob },
    Extra { at: u32 },
    RepeatLast,
}

impl Plan {
    pub(crate) fn new(fault: Option<HttpFault>) -> Self {
        Self { fault, ..fault.map(Self::of).unwrap_or_default() }
    }

    fn of(fault: HttpFault) -> Self {
        let none = Self::default();
        let broken = |after, breach| Self {
            generation: Some(ServerFault::Disconnect { after }),
            breach,
            ..Self::default()
        };
        let wrong = |data| Self { data: Some(data), ..Self::default() };
        match fault {
            HttpFault::Status { status, retry_after } => {
                Self { refusal: Some((status, retry_after)), ..none }
            }
            HttpFault::SlowHeaders { delay } => Self { header_delay: delay, ..none },
            HttpFault::SlowFirstToken { delay } => {
                Self { generation: Some(ServerFault::Latency(delay)), ..none }
            }
            HttpFault::Stall { after } => Self { generation: Some(ServerFault::Stall { after }), ..none },
            HttpFault::Abort { after } => Self { generation: Some(ServerFault::Abort { after }), ..none },
            HttpFault::Reset { after } => broken(after, Breach::Reset),
            HttpFault::Close { after } => broken(after, Breach::Close),
            HttpFault::Truncate { after } => broken(after, Breach::Truncate),
            HttpFault::Garbage { after } => broken(after, Breach::Garbage),
            HttpFault::ErrorEvent { after } => broken(after, Breach::ErrorEvent),
            HttpFault::Die { after, back_after } => broken(after, Breach::Die { back_after }),
            HttpFault::WrongIds { after } => wrong(DataFault::WrongId { at: after }),
            HttpFault::BadLogprob { after, value } => wrong(DataFault::Bad { at: after, value }),
            HttpFault::ExtraLogprob { after } => wrong(DataFault::Extra { at: after }),
            HttpFault::RepeatLast => wrong(DataFault::RepeatLast),
        }
    }
}
