//! Errors at the seams: who may ask again is decided by [`Class`] and nothing else.

use std::time::Duration;

/// Whether asking again can help. Every error at a seam has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The same request may succeed on another try or another server.
    Transient,
    /// As transient, but the other side has too much to do.
    Overloaded {
        /// How long it asked us to wait.
        after: Option<Duration>,
    },
    /// The same request will fail again.
    Terminal,
}

impl Class {
    /// Its stable name, for records and labels of metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Overloaded { .. } => "overloaded",
            Self::Terminal => "terminal",
        }
    }

    /// Whether the request may be sent again.
    #[must_use]
    pub const fn may_retry(self) -> bool {
        !matches!(self, Self::Terminal)
    }
}

/// What a service of the seam fails with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// Whether asking again can help.
    pub class: Class,
    /// Who failed, what was found, what was expected.
    pub message: String,
}

impl Fault {
    /// A fault that may pass by itself.
    #[must_use]
    pub fn transient(message: impl Into<String>) -> Self {
        Self { class: Class::Transient, message: message.into() }
    }

    /// A fault that stays.
    #[must_use]
    pub fn terminal(message: impl Into<String>) -> Self {
        Self { class: Class::Terminal, message: message.into() }
    }

    /// The other side has too much to do; `after` is how long it asked us to wait.
    #[must_use]
    pub fn overloaded(after: Option<Duration>, message: impl Into<String>) -> Self {
        Self { class: Class::Overloaded { after }, message: message.into() }
    }
}
