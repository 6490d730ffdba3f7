//! Each line is an event of one answer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use respool_llm_http::SglangDecoder;

fuzz_target!(|input: &[u8]| {
    let mut decoder = SglangDecoder::new();
    for event in input.split(|&byte| byte == b'\n') {
        let Ok(decoded) = decoder.decode(event) else { return };
        assert_eq!(decoded.tokens.len(), decoded.logprobs.len());
        assert!(decoded.spans.iter().all(|span| span.len > 0));
    }
});
