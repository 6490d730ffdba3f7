//! The corpus of the fuzz targets, as plain tests.

use std::fs;
use std::path::Path;

use crate::{Decoded, ErrorKind, SglangDecoder, SseDecoder, SseEvent, VllmDecoder};

/// The files of one target, by name.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = fs::read_dir(folder).unwrap().map(|file| {
        let path = file.unwrap().path();
        (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap())
    });
    let files: Vec<_> = files.collect();
    assert!(!files.is_empty(), "{target} has no corpus");
    files
}

fn events(body: &[u8], chunk: usize) -> Vec<Option<Vec<u8>>> {
    let mut events = Vec::new();
    let mut emit = |event: SseEvent<'_>| {
        events.push(match event {
            SseEvent::Data(data) => Some(data.to_vec()),
            SseEvent::Done => None,
        });
    };
    let mut decoder = SseDecoder::new(1 << 16);
    body.chunks(chunk).try_for_each(|chunk| decoder.push(chunk, &mut emit)).unwrap();
    decoder.finish(emit);
    events
}

#[test]
fn any_chunking_gives_the_same_events() {
    for (name, file) in corpus("sse") {
        let (size, body) = file.split_first().unwrap();
        assert_eq!(events(body, 1), events(body, body.len()), "{name}");
        assert_eq!(events(body, usize::from(*size)), events(body, body.len()), "{name}");
    }
}

#[test]
fn events_of_both_engines_decode() {
    for (name, file) in corpus("sglang_event") {
        let mut decoder = SglangDecoder::new();
        let decoded: Result<Vec<_>, _> =
            file.split(|&byte| byte == b'\n').map(|event| decoder.decode(event)).collect();
        check(&name, decoded.map_err(|error| error.kind));
    }
    for (name, file) in corpus("vllm_event") {
        let mut decoder = VllmDecoder::new();
        let decoded: Result<Vec<_>, _> =
            file.split(|&byte| byte == b'\n').map(|event| decoder.decode(event)).collect();
        check(&name, decoded.map_err(|error| error.kind));
    }
}

fn check(name: &str, decoded: Result<Vec<Decoded>, ErrorKind>) {
    match decoded {
        Ok(all) => assert!(all.iter().all(|event| event.tokens.len() == event.logprobs.len()), "{name}"),
        Err(kind) => assert_eq!((name, kind), ("only_text", ErrorKind::MissingTokenIds)),
    }
}
