use std::convert::Infallible;

use eventsource_stream::Eventsource;
use futures_util::{FutureExt, StreamExt};
use proptest::prelude::*;

use super::*;

/// The events of these chunks; the last entry of `None` is `[DONE]`.
fn events<'c>(chunks: impl IntoIterator<Item = &'c [u8]>, finish: bool) -> Vec<Option<Vec<u8>>> {
    let mut events = Vec::new();
    let mut decoder = SseDecoder::new(1 << 20);
    let mut emit = |event: SseEvent<'_>| match event {
        SseEvent::Data(data) => events.push(Some(data.to_vec())),
        SseEvent::Done => events.push(None),
    };
    for chunk in chunks {
        decoder.push(chunk, &mut emit).unwrap();
    }
    if finish {
        decoder.finish(emit);
    }
    events
}

#[track_caller]
fn check(body: &str, expected: &[&str]) {
    let expected: Vec<_> =
        expected.iter().map(|&data| (data != "[DONE]").then(|| data.as_bytes().to_vec())).collect();
    assert_eq!(events([body.as_bytes()], true), expected, "in one chunk");
    assert_eq!(events(body.as_bytes().chunks(1), true), expected, "byte by byte");
}

#[test]
fn reads_every_way_of_writing_events() {
    check("data: a\n\ndata:b\n\n", &["a", "b"]);
    check("data: a\r\n\r\ndata: b\r\rdata: c\r\n\n", &["a", "b", "c"]);
    check(": keep-alive\n\nevent: x\nid: 7\nretry: 10\ndata: a\n\n:\n\n", &["a"]);
    check("data: a\ndata:  b\ndata\ndata: c\n\n", &["a\n b\n\nc"]);
    check("data\n\ndata:\n\n", &["", ""]);
    check("\u{feff}data: a\n\n", &["a"]);
    check("database: a\ndata : b\n\n", &[]);
    check("data: [DONE]\n\n", &["[DONE]"]);
    check("data:[DONE]\r\n\r\n", &["[DONE]"]);
}

#[test]
fn gives_a_last_event_without_its_blank_line() {
    check("data: a\n\ndata: b\n", &["a", "b"]);
    check("data: a\n\ndata: b", &["a", "b"]);
    check("data: a\ndata: b", &["a\nb"]);
    check("data: a\n\n: comment", &["a"]);
}

#[test]
fn refuses_an_event_that_is_too_long_however_it_comes() {
    let push = |chunks: &[&[u8]]| {
        let mut decoder = SseDecoder::new(16);
        chunks.iter().try_for_each(|chunk| decoder.push(chunk, |_| {}))
    };
    let refused = Err(SseTooLarge { limit: 16 });
    assert_eq!(push(&[b"data: 0123456789\n\ndata: 0123456789\n\n"]), Ok(()));
    assert_eq!(push(&[b"data: 0123456789a\n\n"]), refused);
    assert_eq!(push(&[b"data: 0123", b"456789a"]), refused);
    assert_eq!(push(&[b"data: 012345\ndata: 6789a\n"]), refused);
    assert_eq!(push(&[b"data: 012345\n", b"data: 6789a\n"]), refused);
    assert_eq!(push(&[b": a comment that never ends"]), refused);
}

/// Bodies made of what matters to a decoder, with a blank line at the end.
fn bodies() -> impl Strategy<Value = String> {
    const PIECES: [&str; 12] =
        ["data:", "data", " ", ":", "\n", "\r", "\r\n", "x", "é", "\n\n", "[DONE]", "event: y\n"];
    prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40)
        .prop_map(|pieces| format!("{}\n\n", pieces.concat()))
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_events(body in bodies(), cuts in prop::collection::vec(0_usize..80, 0..6)) {
        let body = body.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(body.len())).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|pair| &body[pair[0]..pair[1]]);
        prop_assert_eq!(events(chunks, true), events([body], true));
        prop_assert_eq!(events(body.chunks(1), true), events([body], true));
    }

    /// An independent decoder drops events with empty data; ours gives them.
    #[test]
    fn agrees_with_another_decoder(body in bodies()) {
        let whole = futures_util::stream::iter([Ok::<_, Infallible>(body.clone())]);
        let theirs: Vec<_> = whole.eventsource().map(|event| event.unwrap().data).collect::<Vec<_>>()
            .now_or_never().unwrap();
        let ours: Vec<_> = events([body.as_bytes()], false).into_iter()
            .map(|data| data.map_or_else(|| "[DONE]".to_owned(), |data| String::from_utf8(data).unwrap()))
            .filter(|data| !data.is_empty()).collect();
        let theirs: Vec<_> = theirs.into_iter()
            .map(|data| if data.trim() == "[DONE]" { "[DONE]".to_owned() } else { data })
            .filter(|data| !data.is_empty()).collect();
        prop_assert_eq!(ours, theirs);
    }
}
