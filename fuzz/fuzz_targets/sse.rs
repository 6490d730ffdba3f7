//! The first byte says how the rest is cut: any chunking must give the same events.
#![no_main]

use libfuzzer_sys::fuzz_target;
use respool_llm_http::{SseDecoder, SseEvent, SseTooLarge};

fn events(body: &[u8], chunk: usize) -> Result<Vec<Option<Vec<u8>>>, SseTooLarge> {
    let mut events = Vec::new();
    let mut emit = |event: SseEvent<'_>| {
        events.push(match event {
            SseEvent::Data(data) => Some(data.to_vec()),
            SseEvent::Done => None,
        });
    };
    let mut decoder = SseDecoder::new(1 << 16);
    body.chunks(chunk).try_for_each(|chunk| decoder.push(chunk, &mut emit))?;
    decoder.finish(&mut emit);
    Ok(events)
}

fuzz_target!(|input: &[u8]| {
    let Some((&size, body)) = input.split_first() else { return };
    let whole = events(body, body.len().max(1));
    assert_eq!(whole, events(body, 1));
    assert_eq!(whole, events(body, usize::from(size).max(1)));
});
