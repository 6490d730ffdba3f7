//! Why bytes are not a snapshot or a journal entry that this build can read.

use crate::envelope::Kind;

/// Why bytes could not be decoded. The texts are for the person who holds the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Not written by Respool.
    #[error("not a respool file: it begins with bytes {found:02x?}, expected \"RSPL\"")]
    WrongMagic {
        /// The first bytes.
        found: [u8; 4],
    },
    /// Written by Respool, but something else.
    #[error("this is {found}, expected {expected}")]
    WrongKind {
        /// What the envelope says.
        found: String,
        /// What was asked for.
        expected: &'static str,
    },
    /// Written by an incompatible version.
    #[error(
        "{kind} format {major}.{minor} is not known: this build reads {reads}; use the build that wrote it"
    )]
    UnsupportedVersion {
        /// `snapshot` or `journal entry`.
        kind: &'static str,
        /// What the envelope says.
        major: u8,
        /// What the envelope says.
        minor: u8,
        /// The versions that this build reads.
        reads: String,
    },
    /// The end is missing: a torn write, or a cut copy.
    #[error("cut off: found {found} bytes, expected {expected}")]
    Truncated {
        /// How many bytes there are.
        found: u64,
        /// How many there should be, as far as one can tell.
        expected: u64,
    },
    /// There is more than the envelope says.
    #[error("{extra} bytes after the end at byte {expected}; was something appended?")]
    TrailingBytes {
        /// How many bytes there should be.
        expected: u64,
        /// How many there are beyond that.
        extra: u64,
    },
    /// Some bytes changed since they were written.
    #[error("damaged: the checksum is {found:08x}, expected {expected:08x}")]
    Checksum {
        /// Of the bytes that are there.
        found: u32,
        /// As it was written.
        expected: u32,
    },
    /// The payload does not unpack to what the envelope says.
    #[error("cannot unpack the payload: {reason}")]
    Unpack {
        /// What was found, what was expected.
        reason: String,
    },
    /// The payload is not in the layout of its version.
    #[error("the payload is not {kind} format {major}.{minor}: {reason} (this build writes {writes})")]
    Malformed {
        /// `a snapshot` or `a journal entry`.
        kind: &'static str,
        /// What the envelope says.
        major: u8,
        /// What the envelope says; a newer minor may hold kinds of values that this build lacks.
        minor: u8,
        /// The version that this build writes.
        writes: String,
        /// What the decoder says.
        reason: String,
    },
    /// The layout is right and the values contradict each other.
    #[error("invalid content: {field}: {reason}")]
    Invalid {
        /// Path of the field, as in `data.spec.template_args`.
        field: String,
        /// The invariant that does not hold.
        reason: String,
    },
}

impl DecodeError {
    /// Whether the bytes just end too early, as after a torn write.
    #[must_use]
    pub const fn is_torn(&self) -> bool {
        matches!(self, Self::Truncated { .. })
    }

    pub(crate) fn malformed(kind: Kind, minor: u8, reason: &postcard::Error) -> Self {
        let (major, writes) = (kind.version().0, kind.writes());
        Self::Malformed { kind: kind.name(), major, minor, writes, reason: reason.to_string() }
    }
}

/// A value that breaks an invariant, with the path to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invalid {
    pub(crate) field: String,
    pub(crate) reason: String,
}

impl Invalid {
    pub(crate) fn new(field: &str, reason: impl ToString) -> Self {
        Self { field: field.to_owned(), reason: reason.to_string() }
    }

    /// The same, seen from the value that holds `field`.
    pub(crate) fn within(mut self, field: &str) -> Self {
        let separator = if self.field.is_empty() || self.field.starts_with('[') { "" } else { "." };
        self.field = format!("{field}{separator}{}", self.field);
        self
    }
}

impl From<Invalid> for DecodeError {
    fn from(Invalid { field, reason }: Invalid) -> Self {
        Self::Invalid { field, reason }
    }
}
