//! Trains the tokenizer of the built-in dialect on `embedded/corpus.txt` and writes
//! `embedded/tokenizer.json`. The result is the same on every machine.
//!
//! `cargo run -p respool-dialect --example make_embedded`

use std::error::Error;
use std::path::Path;

use tokenizers::models::TrainerWrapper;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{AddedToken, PreTokenizerWrapper, SplitDelimiterBehavior, Tokenizer};

/// Ids follow this order, after the learned tokens; those of the second list are not special, as
/// in the families that have them.
const SPECIAL: [&str; 3] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
const MARKERS: [&str; 6] =
    ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"];
const LEARNED: usize = 1015;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("embedded");
    let corpus = std::fs::read_to_string(folder.join("corpus.txt"))?;
    let mut tokenizer = Tokenizer::new(BPE::default());
    let one_digit = SplitPattern::Regex(r"\p{N}".to_owned());
    let digits = Split::new(one_digit, SplitDelimiterBehavior::Isolated, false)?;
    let bytes = ByteLevel::new(false, false, true);
    let steps: Vec<PreTokenizerWrapper> = vec![digits.into(), bytes.into()];
    tokenizer.with_pre_tokenizer(Some(Sequence::new(steps)));
    tokenizer.with_decoder(Some(bytes));

    // The markers are tokens of their own; the corpus shall not teach their pieces.
    let text = MARKERS.iter().fold(corpus, |text, marker| text.replace(marker, ""));
    let trainer = BpeTrainer::builder()
        .vocab_size(LEARNED)
        .min_frequency(2)
        .show_progress(false)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .build();
    tokenizer.train(&mut TrainerWrapper::from(trainer), text.lines())?;
    tokenizer.add_special_tokens(SPECIAL.map(|token| AddedToken::from(token, true)))?;
    tokenizer.add_tokens(MARKERS.map(|token| AddedToken::from(token, false).normalized(false)))?;
    tokenizer.save(folder.join("tokenizer.json"), true)?;
    Ok(())
}
