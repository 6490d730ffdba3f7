//! One answer of a server, as bytes.

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As HTTP ends one.
    Whole,
    /// The connection is closed in the middle of the body.
    Closed,
    /// The connection is reset in the middle of the body.
    Reset,
}

/// An answer: status line, headers, and a body in pieces. Each piece is a chunk of its own, so that
/// a client sees it cut there.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// As `HTTP/1.1 200 OK`; empty if the connection is closed without an answer.
    pub(crate) status_line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) pieces: Vec<Vec<u8>>,
    pub(crate) ending: Ending,
    /// Whether the end of the body waits for the next request (an abort, say).
    pub(crate) hold: bool,
}

impl Answer {
    /// An answer of that status with a JSON body.
    pub(crate) fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::new(status, "application/json", vec![body.into()])
    }

    /// A stream of events.
    pub(crate) fn events(pieces: Vec<Vec<u8>>) -> Self {
        Self::new(200, "text/event-stream", pieces)
    }

    /// The connection is closed without a word.
    pub(crate) fn nothing() -> Self {
        Self {
            status_line: String::new(),
            headers: Vec::new(),
            pieces: Vec::new(),
            ending: Ending::Closed,
            hold: false,
        }
    }

    fn new(status: u16, content_type: &str, pieces: Vec<Vec<u8>>) -> Self {
        Self {
            status_line: format!("HTTP/1.1 {status} Said"),
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            pieces,
            ending: Ending::Whole,
            hold: false,
        }
    }

    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn ending(self, ending: Ending) -> Self {
        Self { ending, ..self }
    }

    /// Status line and headers. What frames the body is ours.
    pub(super) fn head(&self) -> Vec<u8> {
        let mut head = format!("{}\r\n", self.status_line);
        for (name, value) in &self.headers {
            let frames = ["content-length", "transfer-encoding", "connection"];
            if !frames.iter().any(|framing| name.eq_ignore_ascii_case(framing)) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        head.push_str("transfer-encoding: chunked\r\nconnection: close\r\n\r\n");
        head.into_bytes()
    }

    /// The pieces as chunks of HTTP. Empty ones would end the body.
    pub(super) fn chunks(&self) -> impl Iterator<Item = Vec<u8>> {
        self.pieces.iter().filter(|piece| !piece.is_empty()).map(|piece| {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            chunk
        })
    }
}
