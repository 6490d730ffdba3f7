//! The text that a template writes, up to a length that no conversation needs.

use std::io;

/// More than the longest context of any model, in bytes.
const MOST: usize = 256 << 20;

pub(crate) const TOO_LONG: &str = "it writes more text than any conversation needs";

/// Collects a text; refuses more than [`MOST`].
#[derive(Debug, Default)]
pub(crate) struct Bounded(Vec<u8>);

impl Bounded {
    pub(crate) fn finish(self) -> Result<String, String> {
        String::from_utf8(self.0).map_err(|error| error.to_string())
    }
}

impl io::Write for Bounded {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if self.0.len() + text.len() > MOST {
            return Err(io::Error::other(TOO_LONG));
        }
        self.0.extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
