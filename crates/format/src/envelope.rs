//! What is around every payload: magic, kind, version, codec, length, checksum.
//!
//! ```text
//! 0  magic "RSPL"      6  major    8   payload length, u64
//! 4  kind              7  minor    16  crc32 of bytes 0..16 and the payload, u32
//! 5  codec                         20  payload
//! ```
//! All numbers are little-endian. A zstd payload begins with its unpacked length, u64.

use std::io::Read;

use crate::DecodeError;

const MAGIC: [u8; 4] = *b"RSPL";
const HEADER: usize = 20;
const CHECKED_HEADER: usize = 16;

/// Smaller payloads are stored as they are.
const COMPRESS_FROM: usize = 4 << 10;
/// The most that a packed payload may unpack to; larger payloads are stored as they are.
const MAX_UNPACKED: u64 = 1 << 30;
/// The most that it may grow by unpacking, so that a small file cannot ask for a large memory.
/// Payloads that would pack better are stored as they are.
const MAX_RATIO: u64 = 100;
/// Windows of the levels that we write are 2 MB; a frame that wants more than 8 MB is not ours.
const MAX_WINDOW_LOG: u32 = 23;
const LEVEL: i32 = 1;

const RAW: u8 = 0;
const ZSTD: u8 = 1;

/// What an envelope holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Snapshot = 1,
    JournalEntry = 2,
}

impl Kind {
    /// The schema's major and minor version that this build writes.
    pub(crate) const fn version(self) -> (u8, u8) {
        match self {
            Self::Snapshot | Self::JournalEntry => (1, 0),
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::JournalEntry => "journal entry",
        }
    }

    pub(crate) fn writes(self) -> String {
        let (major, minor) = self.version();
        format!("{major}.{minor}")
    }

    fn check(self, found: u8) -> Result<(), DecodeError> {
        if found == self as u8 {
            return Ok(());
        }
        let other = [Self::Snapshot, Self::JournalEntry].into_iter().find(|kind| *kind as u8 == found);
        let found =
            other.map_or_else(|| format!("an unknown kind {found}"), |kind| format!("a {}", kind.name()));
        Err(DecodeError::WrongKind { found, expected: self.name() })
    }

    fn check_version(self, major: u8, minor: u8) -> Result<(), DecodeError> {
        if major == self.version().0 {
            return Ok(());
        }
        let reads = format!("{}.x", self.version().0);
        Err(DecodeError::UnsupportedVersion { kind: self.name(), major, minor, reads })
    }
}

/// An opened envelope: checked, unpacked, not yet decoded.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) minor: u8,
    pub(crate) payload: Vec<u8>,
    /// Bytes of the whole envelope.
    pub(crate) len: usize,
}

/// Puts a payload in an envelope.
pub(crate) fn seal(kind: Kind, payload: &[u8]) -> Vec<u8> {
    let packed = pack(payload);
    let (codec, body) = packed.as_deref().map_or((RAW, payload), |packed| (ZSTD, packed));
    let (major, minor) = kind.version();
    let mut out = Vec::with_capacity(HEADER + body.len());
    out.extend(MAGIC);
    out.extend([kind as u8, codec, major, minor]);
    out.extend((body.len() as u64).to_le_bytes());
    let checksum = checksum(&out, body);
    out.extend(checksum.to_le_bytes());
    out.extend(body);
    out
}

/// Opens the envelope at the start of `bytes`; what follows it is left alone.
pub(crate) fn open(kind: Kind, bytes: &[u8]) -> Result<Opened, DecodeError> {
    let magic: [u8; 4] = read_at(bytes, 0)?;
    if magic != MAGIC {
        return Err(DecodeError::WrongMagic { found: magic });
    }
    let [found_kind, codec, major, minor] = read_at(bytes, 4)?;
    kind.check(found_kind)?;
    kind.check_version(major, minor)?;
    let length = u64::from_le_bytes(read_at(bytes, 8)?);
    let expected = u32::from_le_bytes(read_at(bytes, CHECKED_HEADER)?);
    let end = length.saturating_add(HEADER as u64);
    let body = usize::try_from(end).ok().and_then(|end| bytes.get(HEADER..end));
    let body = body.ok_or(DecodeError::Truncated { found: bytes.len() as u64, expected: end })?;
    let found = checksum(&bytes[..CHECKED_HEADER], body);
    if found != expected {
        return Err(DecodeError::Checksum { found, expected });
    }
    let payload = match codec {
        RAW => body.to_vec(),
        ZSTD => unpack(body)?,
        other => {
            return Err(unpack_error(format!("codec {other} is not known, expected 0 (raw) or 1 (zstd)")));
        }
    };
    Ok(Opened { minor, payload, len: HEADER + body.len() })
}

fn checksum(header: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(body);
    hasher.finalize()
}

fn read_at<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], DecodeError> {
    let found = bytes.get(at..at + N).and_then(|slice| slice.try_into().ok());
    found.ok_or(DecodeError::Truncated { found: bytes.len() as u64, expected: HEADER as u64 })
}

/// The packed form with its unpacked length before it, or `None` where it is stored as it is.
fn pack(payload: &[u8]) -> Option<Vec<u8>> {
    let unpacked = payload.len() as u64;
    if payload.len() < COMPRESS_FROM || unpacked > MAX_UNPACKED {
        return None;
    }
    let frame = zstd::bulk::compress(payload, LEVEL).ok()?;
    let mut out = Vec::with_capacity(8 + frame.len());
    out.extend(unpacked.to_le_bytes());
    out.extend(frame);
    let packed = out.len() as u64;
    (packed < unpacked && unpacked <= packed.saturating_mul(MAX_RATIO)).then_some(out)
}

fn unpack(body: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let Some((length, frame)) = body.split_first_chunk() else {
        return Err(unpack_error("the unpacked length is missing"));
    };
    let length = u64::from_le_bytes(*length);
    let limit = MAX_UNPACKED.min((body.len() as u64).saturating_mul(MAX_RATIO));
    if length > limit {
        return Err(unpack_error(format!(
            "it says that it unpacks to {length} bytes, expected at most {limit}"
        )));
    }
    let mut payload = Vec::new();
    let mut decoder = zstd::Decoder::with_buffer(frame).map_err(unpack_error)?;
    decoder.window_log_max(MAX_WINDOW_LOG).map_err(unpack_error)?;
    // One byte more than there should be shows that there is more; nothing grows beyond that.
    decoder.take(length + 1).read_to_end(&mut payload).map_err(unpack_error)?;
    if payload.len() as u64 != length {
        let found = payload.len();
        return Err(unpack_error(format!("it unpacks to {found} bytes or more, expected {length}")));
    }
    Ok(payload)
}

fn unpack_error(reason: impl ToString) -> DecodeError {
    DecodeError::Unpack { reason: reason.to_string() }
}

#[cfg(test)]
mod tests;
