//! A turn in the format `qwen3_coder`: how it is cut does not matter, and a slow reader agrees.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| respool_fuzz::turn("qwen3_coder", input));
