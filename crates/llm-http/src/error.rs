//! What can go wrong between us and a server.

use std::fmt;

use respool_core::{Class, Fault};

/// What went wrong, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The answer is not what the engine's wire format says.
    InvalidResponse,
    /// The answer has text but no token ids.
    MissingTokenIds,
    /// The server answered with an HTTP error.
    HttpStatus,
    /// The server reported an error inside its answer.
    ServerError,
    /// No connection.
    Connect,
    /// The connection broke, or the answer ended without a finish.
    Broken,
    /// No answer in time.
    Timeout,
    /// An event or a body is over its size limit.
    TooLarge,
    /// The server says that it read another prompt than the one that was sent.
    PromptChanged,
    /// A token id outside the model's vocabulary, before it was sent.
    TokenOutOfVocabulary,
    /// We do not send such a request.
    Refused,
    /// The server has no such route, or does not take the call.
    Unsupported,
    /// The server is not fit for use.
    Unfit,
    /// The settings are wrong.
    Settings,
}

impl ErrorKind {
    /// A stable name for records and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidResponse => "invalid_response",
            Self::MissingTokenIds => "missing_token_ids",
            Self::HttpStatus => "http_status",
            Self::ServerError => "server_error",
            Self::Connect => "connect",
            Self::Broken => "broken",
            Self::Timeout => "timeout",
            Self::TooLarge => "too_large",
            Self::PromptChanged => "prompt_changed",
            Self::TokenOutOfVocabulary => "token_out_of_vocabulary",
            Self::Refused => "refused",
            Self::Unsupported => "unsupported",
            Self::Unfit => "unfit",
            Self::Settings => "settings",
        }
    }

    /// Whether asking again can help, where nothing more is known: another server may do better
    /// than one that answers wrongly, but not with a request or settings that are wrong.
    pub(crate) const fn class(self) -> Class {
        match self {
            Self::InvalidResponse
            | Self::MissingTokenIds
            | Self::HttpStatus
            | Self::ServerError
            | Self::Connect
            | Self::Broken
            | Self::Timeout
            | Self::TooLarge
            | Self::PromptChanged => Class::Transient,
            Self::TokenOutOfVocabulary | Self::Refused | Self::Unsupported | Self::Unfit | Self::Settings => {
                Class::Terminal
            }
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a server's answer, or the way to it, is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {server}: {message}")]
pub struct ClientError {
    kind: ErrorKind,
    class: Class,
    server: String,
    message: String,
}

impl ClientError {
    pub(crate) fn new(kind: ErrorKind, server: &str, message: impl Into<String>) -> Self {
        Self::with_class(kind, kind.class(), server, message)
    }

    pub(crate) fn with_class(
        kind: ErrorKind,
        class: Class,
        server: &str,
        message: impl Into<String>,
    ) -> Self {
        Self { kind, class, server: server.to_owned(), message: message.into() }
    }

    /// What went wrong; [`ErrorKind::as_str`] is its stable name.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether asking again can help.
    #[must_use]
    pub const fn class(&self) -> Class {
        self.class
    }

    /// The server's base URL.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// What was found, what was expected, what to do.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl From<ClientError> for Fault {
    fn from(error: ClientError) -> Self {
        Self { class: error.class, message: error.to_string() }
    }
}

/// The most characters of a server's text that are quoted.
const QUOTED: usize = 200;

/// The beginning of a server's text, on one line.
pub(crate) fn quote(text: &str) -> String {
    let mut chars = text.trim().chars().map(|char| if char.is_control() { ' ' } else { char });
    let mut quoted: String = chars.by_ref().take(QUOTED).collect();
    if chars.next().is_some() {
        quoted.push_str("...");
    }
    quoted
}
