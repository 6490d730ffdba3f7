//! Payloads to and from postcard.

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    DecodeError,
    envelope::{Kind, Opened},
};

#[expect(clippy::expect_used, reason = "fails only for sequences of unknown length; mirrors hold none")]
pub(crate) fn to_postcard<T: Serialize>(payload: &T) -> Vec<u8> {
    postcard::to_allocvec(payload).expect("mirrors hold only sized sequences")
}

/// Reads a payload. Bytes after it are fields of a newer minor version, and an error in any other.
pub(crate) fn from_postcard<T: DeserializeOwned>(kind: Kind, opened: &Opened) -> Result<T, DecodeError> {
    let Opened { minor, payload, len: _ } = opened;
    let malformed = |reason: postcard::Error| DecodeError::malformed(kind, *minor, &reason);
    let (value, rest) = postcard::take_from_bytes(payload).map_err(malformed)?;
    if !rest.is_empty() && *minor <= kind.version().1 {
        return Err(malformed(postcard::Error::DeserializeBadEncoding));
    }
    Ok(value)
}
