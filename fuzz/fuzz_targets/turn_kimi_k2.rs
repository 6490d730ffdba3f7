//! A turn in the format `kimi_k2`: how it is cut does not matter, and a slow reader agrees.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| respool_fuzz::turn("kimi_k2", input));
