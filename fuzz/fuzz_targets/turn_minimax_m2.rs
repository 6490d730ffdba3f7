//! A turn in the format `minimax_m2`: how it is cut does not matter, and a slow reader agrees.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| respool_fuzz::turn("minimax_m2", input));
