//! Where a call ends, found in a text that is all there.

use respool_dialect::{Ending, Framing, ValueFraming};

/// A call's text, and where reading goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Framed {
    pub(super) body: usize,
    pub(super) next: usize,
    pub(super) ending: Ending,
}

/// The first place where one of the markers stands; of two at one place the one listed first.
pub(super) fn first(text: &str, markers: &[&str]) -> Option<(usize, usize)> {
    text.char_indices().find_map(|(at, _)| {
        let index = markers.iter().position(|marker| text[at..].starts_with(marker));
        index.map(|index| (at, index))
    })
}

/// As [`first`], from a byte of the text on.
fn first_from(text: &str, from: usize, markers: &[&str]) -> Option<(usize, usize)> {
    first(&text[from..], markers).map(|(at, index)| (from + at, index))
}

pub(super) fn frame(framing: &Framing, text: &str, at_end: Ending) -> Framed {
    match framing {
        Framing::Value(framing) => value(framing, text, at_end),
        Framing::Tagged { value, close, restart } => tagged(*value, close, restart, text, at_end),
        Framing::Message { close, restart } => message(close, restart, text, 0, at_end),
    }
}

fn to_the_end(text: &str, at_end: Ending) -> Framed {
    Framed { body: text.len(), next: text.len(), ending: at_end }
}

/// Up to the first end marker, or the begin of another call.
fn message(close: &[&str], restart: &[&str], text: &str, from: usize, at_end: Ending) -> Framed {
    let markers = [close, restart].concat();
    match first_from(text, from, &markers) {
        Some((at, index)) if index < close.len() => {
            Framed { body: at, next: at + markers[index].len(), ending: Ending::Closed }
        }
        Some((at, _)) => Framed { body: at, next: at, ending: Ending::NextCall },
        None => to_the_end(text, at_end),
    }
}

fn value(framing: &ValueFraming, text: &str, at_end: Ending) -> Framed {
    let without_value = |from| message(framing.close, framing.restart, text, from, at_end);
    let begin = match value_begin(framing, text) {
        Begin::At(begin) => begin,
        Begin::Marker(at) => return without_value(at),
        Begin::Nowhere => return to_the_end(text, at_end),
    };
    let begin = begin + text[begin..].bytes().take_while(u8::is_ascii_whitespace).count();
    if text[begin..].bytes().next().is_some_and(|byte| !b"{[\"".contains(&byte)) {
        return without_value(begin);
    }
    let Some(end) = value_end(&text.as_bytes()[begin..], framing.python).map(|len| begin + len) else {
        return without_value(0);
    };
    after_value(framing, text, end, at_end).unwrap_or_else(|| without_value(0))
}

enum Begin {
    At(usize),
    /// A marker comes before any value.
    Marker(usize),
    Nowhere,
}

fn value_begin(framing: &ValueFraming, text: &str) -> Begin {
    for (at, letter) in text.char_indices() {
        let stands = |marker: &&&str| text[at..].starts_with(**marker);
        if let Some(separator) = framing.separators.iter().find(stands) {
            return Begin::At(at + separator.len());
        }
        if framing.close.iter().chain(framing.restart).any(|marker| stands(&marker)) {
            return Begin::Marker(at);
        }
        if framing.bare && (letter == '{' || (letter == '[' && text[..at].trim().is_empty())) {
            return Begin::At(at);
        }
    }
    Begin::Nowhere
}

/// Bytes of the value at the begin; `None` if it has no end, or letters that no value has.
fn value_end(bytes: &[u8], python: bool) -> Option<usize> {
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        let is_quote = byte == b'"' || (python && byte == b'\'');
        match byte {
            _ if is_quote => at += quoted_end(&bytes[at..], byte, python)?,
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'(' if python => open.push(b')'),
            b'}' | b']' => close(&mut open, byte, python)?,
            b')' if python => close(&mut open, byte, python)?,
            b'<' if !python => return None,
            _ if open.is_empty() => return None,
            _ if python || byte.is_ascii_graphic() || byte.is_ascii_whitespace() => {}
            _ => return None,
        }
        if open.is_empty() {
            return Some(at);
        }
        if open.len() > 128 {
            return None;
        }
    }
    None
}

/// Round and square brackets of Python count as one kind.
fn close(open: &mut Vec<u8>, byte: u8, python: bool) -> Option<()> {
    let expected = open.pop()?;
    let is_list = |byte: u8| byte == b']' || byte == b')';
    (expected == byte || (python && is_list(expected) && is_list(byte))).then_some(())
}

/// Bytes up to and with the quote that ends a text.
fn quoted_end(bytes: &[u8], quote: u8, python: bool) -> Option<usize> {
    let mut at = 0;
    loop {
        match *bytes.get(at)? {
            b'\\' => at += 1,
            byte if byte == quote => return Some(at + 1),
            byte if byte < 0x20 && !python => return None,
            _ => {}
        }
        at += 1;
    }
}

/// What follows the value; `None` if it spoils the call.
fn after_value(framing: &ValueFraming, text: &str, end: usize, at_end: Ending) -> Option<Framed> {
    let mut at = end;
    loop {
        at = text.len() - text[at..].trim_start().len();
        let rest = &text[at..];
        let stands = |marker: &&&str| rest.starts_with(**marker);
        if rest.is_empty() {
            return Some(Framed { body: end, next: text.len(), ending: at_end });
        }
        if let Some(tail) = framing.tails.iter().find(stands) {
            at += tail.len();
        } else if let Some(close) = framing.close.iter().find(stands) {
            return Some(Framed { body: at, next: at + close.len(), ending: Ending::Closed });
        } else if framing.restart.iter().any(|marker| stands(&marker)) {
            return Some(Framed { body: at, next: at, ending: Ending::NextCall });
        } else if framing.strict_end {
            return None;
        } else {
            return Some(Framed { body: end, next: end, ending: Ending::Closed });
        }
    }
}

/// What is in a value is data, end markers too, as long as the value's own end comes.
fn tagged(value: [&str; 2], close: &[&str], restart: &[&str], text: &str, at_end: Ending) -> Framed {
    let outside = [close, restart, &value[..1]].concat();
    let mut at = 0;
    loop {
        match first_from(text, at, &outside) {
            Some((found, index)) if index == outside.len() - 1 => {
                match value_tag(value[1], close, restart, text, found + value[0].len()) {
                    Ok(Some(end)) => at = end,
                    Ok(None) => return to_the_end(text, at_end),
                    Err(framed) => return framed,
                }
            }
            Some((found, _)) => return message(close, restart, text, found, at_end),
            None => return to_the_end(text, at_end),
        }
    }
}

/// Where a value ends that began before `from`. If it does not, the call ended at the first end
/// marker in it, which is the error.
fn value_tag(
    value_end: &str,
    close: &[&str],
    restart: &[&str],
    text: &str,
    from: usize,
) -> Result<Option<usize>, Framed> {
    let markers = [&[value_end], close, restart].concat();
    let (mut at, mut first_close) = (from, None);
    while let Some((found, index)) = first_from(text, at, &markers) {
        at = found + markers[index].len();
        match (index, first_close) {
            (0, _) => return Ok(Some(at)),
            (index, None) if index <= close.len() => {
                first_close = Some(Framed { body: found, next: at, ending: Ending::Closed });
            }
            (index, Some(framed)) if index > close.len() => return Err(framed),
            _ => {}
        }
    }
    first_close.map_or(Ok(None), Err)
}
