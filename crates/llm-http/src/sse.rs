//! Server-sent events, without I/O.

use std::mem;

/// One event of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SseEvent<'a> {
    /// The event's data; its lines are joined with `\n`.
    Data(&'a [u8]),
    /// `[DONE]`: nothing comes after it.
    Done,
}

/// An event, or a line, is longer than the limit. The stream is of no use after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than {limit} bytes")]
pub struct SseTooLarge {
    /// The limit in bytes.
    pub limit: usize,
}

/// Finds the events in the bytes of a stream, however they are cut.
///
/// Takes what the WHATWG standard takes: lines ended by LF, CR or CRLF, comments, other fields,
/// data of many lines, a byte order mark. Each byte is looked at once, and an event of one line
/// that lies whole in a chunk is not copied.
#[derive(Debug)]
pub struct SseDecoder {
    limit: usize,
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// The data of an event whose end has not come.
    data: Vec<u8>,
    has_data: bool,
    /// A carriage return ended the last line: a line feed right after it belongs to it.
    after_cr: bool,
    /// No line has ended yet: the first one may begin with a byte order mark.
    is_first_line: bool,
}

impl SseDecoder {
    /// A decoder that refuses events of more than `limit` bytes.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_cr: false,
            is_first_line: true,
        }
    }

    /// Takes the next bytes and emits the events that end in them.
    ///
    /// # Errors
    /// If an event or a line is too long. Events before it were emitted.
    pub fn push(&mut self, chunk: &[u8], mut emit: impl FnMut(SseEvent<'_>)) -> Result<(), SseTooLarge> {
        let mut rest = chunk;
        // The data of an event of one line, as long as it need not be copied.
        let mut whole: Option<&[u8]> = None;
        while !rest.is_empty() {
            if mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.check(whole, rest.len())?;
                self.line.extend_from_slice(rest);
                break;
            };
            let line = &rest[..end];
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            self.check(whole, line.len())?;
            if self.line.is_empty() {
                self.take_line(line, &mut whole, &mut emit);
            } else {
                let mut joined = mem::take(&mut self.line);
                joined.extend_from_slice(line);
                self.take_copied(&joined, &mut emit);
                joined.clear();
                self.line = joined;
            }
        }
        if let Some(data) = whole {
            self.data.extend_from_slice(data);
        }
        Ok(())
    }

    /// The stream has ended: emits a last event whose blank line, or whose last line's end, did not
    /// come. Whether its data is whole, its reader finds out.
    pub fn finish(mut self, mut emit: impl FnMut(SseEvent<'_>)) {
        let line = mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_copied(&line, &mut emit);
        }
        self.dispatch(None, &mut emit);
    }

    /// Whether the event that is being read stays within the limit with so many bytes more.
    fn check(&self, whole: Option<&[u8]>, more: usize) -> Result<(), SseTooLarge> {
        let held = self.line.len() + self.data.len() + whole.map_or(0, <[u8]>::len);
        if held.saturating_add(more) > self.limit { Err(SseTooLarge { limit: self.limit }) } else { Ok(()) }
    }

    /// Takes a line that lives for less long than its event.
    fn take_copied(&mut self, line: &[u8], emit: &mut impl FnMut(SseEvent<'_>)) {
        let mut whole = None;
        self.take_line(line, &mut whole, emit);
        self.data.extend_from_slice(whole.unwrap_or_default());
    }

    /// Takes a line without its end. Data that was not copied is left in `whole`, if that is of the
    /// line's lifetime.
    fn take_line<'l>(
        &mut self,
        mut line: &'l [u8],
        whole: &mut Option<&'l [u8]>,
        emit: &mut impl FnMut(SseEvent<'_>),
    ) {
        if mem::take(&mut self.is_first_line) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(whole.take(), emit);
            return;
        }
        let value = match line.strip_prefix(b"data") {
            Some([]) => &[],
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            _ => return,
        };
        if !self.has_data {
            self.has_data = true;
            *whole = Some(value);
            return;
        }
        self.data.extend_from_slice(whole.take().unwrap_or_default());
        self.data.push(b'\n');
        self.data.extend_from_slice(value);
    }

    fn dispatch(&mut self, whole: Option<&[u8]>, emit: &mut impl FnMut(SseEvent<'_>)) {
        if mem::take(&mut self.has_data) {
            let data = whole.unwrap_or(&self.data);
            let is_done = data.trim_ascii() == b"[DONE]";
            emit(if is_done { SseEvent::Done } else { SseEvent::Data(data) });
        }
        self.data.clear();
    }
}

#[cfg(test)]
mod tests;
