use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::vocabulary::Vocabulary;

/// Letters by themselves.
const LETTER: &str = r"(?s:.)";
/// A whole text is one word.
const WHOLE: &str = r"(?s:.+)";

fn file_of(ranks: &Ranks) -> String {
    ranks.iter().map(|(bytes, rank)| format!("{} {rank}\n", BASE64_STANDARD.encode(bytes))).collect()
}

/// All bytes, then tokens that are each made of two earlier ones.
fn ranks(pairs: &[(usize, usize)]) -> Ranks {
    let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    let letters = [b'a', b'b', b'c', 0xc3, 0xa9].map(usize::from);
    for (left, right) in pairs {
        let of = |at: &usize| if *at < 20 { letters[at % 5] } else { 256 + at % (tokens.len() - 255) };
        let part = |at: usize| tokens.get(at).unwrap_or_else(|| &tokens[usize::from(b'a')]).clone();
        let token = [part(of(left)), part(of(right))].concat();
        if token.len() < 12 && !tokens.contains(&token) {
            tokens.push(token);
        }
    }
    tokens.into_iter().zip(0..).collect()
}

/// What tiktoken does with one word: joins the neighbours of least rank, the left ones first.
/// Also whether two places with different parts ever wanted to become the same token.
fn joined(word: &[u8], ranks: &HashMap<Vec<u8>, u32>) -> (Vec<u32>, bool) {
    let mut parts: Vec<Vec<u8>> = word.iter().map(|byte| vec![*byte]).collect();
    let mut is_tie = false;
    if let Some(rank) = ranks.get(word) {
        return (vec![*rank], false);
    }
    loop {
        let rank_at = |at: usize| ranks.get(&[parts[at].as_slice(), &parts[at + 1]].concat());
        let places = 0..parts.len().saturating_sub(1);
        let Some((rank, at)) = places.clone().filter_map(|at| Some((rank_at(at)?, at))).min() else { break };
        is_tie |= places.filter(|other| rank_at(*other) == Some(rank)).any(|other| parts[other] != parts[at]);
        let right = parts.remove(at + 1);
        parts[at].extend(right);
    }
    (parts.iter().map(|part| ranks[part]).collect(), is_tie)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn words_become_the_tokens_that_tiktoken_makes(
        pairs in proptest::collection::vec((0..60_usize, 0..60_usize), 0..30), word in "[abcé]{1,24}",
    ) {
        let ranks = ranks(&pairs);
        let text = tokenizer_json("r.tiktoken", &file_of(&ranks), &json!({}), Some(WHOLE)).expect("a tokenizer");
        let vocabulary = Vocabulary::new(text.as_bytes()).expect("a vocabulary");
        let (expected, is_tie) = joined(word.as_bytes(), &ranks.into_iter().collect());
        prop_assume!(!is_tie);
        prop_assert_eq!(vocabulary.encode(&word).expect("ids"), expected);
    }
}

#[test]
fn control_tokens_and_bytes_are_kept() {
    let config = json!({"added_tokens_decoder": {"300": {"content": "<|end|>", "special": true}}});
    let text = tokenizer_json("r", &file_of(&ranks(&[(0, 1)])), &config, Some(LETTER)).expect("a tokenizer");
    let vocabulary = Vocabulary::new(text.as_bytes()).expect("a vocabulary");
    assert_eq!(vocabulary.encode("b<|end|>é").expect("ids"), [98, 300, 0xc3, 0xa9]);
    assert_eq!(vocabulary.bytes_of(0xe9), [0xe9]);
    assert_eq!(vocabulary.bytes_of(300), b"<|end|>");
    assert_eq!(vocabulary.len(), 301);
}

#[test]
fn known_expressions_split_as_their_models_do() {
    let check = |class: &str, text: &str, words: &[&str]| {
        let config = json!({"tokenizer_class": class});
        let json = tokenizer_json("r", &file_of(&ranks(&[])), &config, None).expect("a tokenizer");
        let tokenizer: tokenizers::Tokenizer = json.parse().expect("a tokenizer");
        let mut split = tokenizers::PreTokenizedString::from(text);
        let splitter = tokenizer.get_pre_tokenizer().expect("one");
        tokenizers::PreTokenizer::pre_tokenize(splitter, &mut split).expect("words");
        let offsets = tokenizers::OffsetReferential::Original;
        let pieces = split.get_splits(offsets, tokenizers::OffsetType::Byte);
        let found: Vec<_> = pieces.iter().map(|(_, (from, to), _)| &text[*from..*to]).collect();
        assert_eq!(found, words, "{class}");
    };
    let text = "It's 2024,  done\n";
    check("QWenTokenizer", text, &["It", "'s", " ", "2", "0", "2", "4", ",", " ", " done", "\n"]);
    check("ChatGLM4Tokenizer", text, &["It", "'s", " ", "202", "4", ",", " ", " done", "\n"]);
    check("TikTokenTokenizer", "HelloWorld 北京ab", &["Hello", "World", " ", "北京", "ab"]);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let check = |ranks: &str, config: Json, says: &str| {
        let error = tokenizer_json("r.tiktoken", ranks, &config, None).expect_err("an error").to_string();
        assert!(error.contains(says), "{error}");
    };
    check(
        "YQ== 0\nYg==\n",
        json!({}),
        "r.tiktoken:2: expected the bytes of a token in base64, a space and its rank",
    );
    check("YQ== 0\n\n?? 1\n", json!({}), "r.tiktoken:3: ");
    check("YQ== 0\nYg== 2", json!({}), "1 is missing");
    check("YQ== 0\nYg== 0", json!({}), "1 is missing");
    let added = json!({"tokenizer_class": "QWenTokenizer", "added_tokens_decoder": {"0": {"content": "a"}}});
    check("YQ== 0", added, "ids behind the ranks");
    check(
        "YQ== 0",
        json!({"tokenizer_class": "Mine"}),
        "tokenizer_class Mine; known are TikTokenTokenizer, ",
    );
    check(
        "YQ== 0",
        json!({"tokenizer_class": "QWenTokenizer", "added_tokens_decoder": [1]}),
        "added_tokens_decoder",
    );
}
