//! Models that ship tiktoken ranks in place of a `tokenizer.json`: lines of a token's bytes in
//! base64 and its rank, which is its id. They become the tokenizer that a `tokenizer.json` of
//! byte-level BPE with the same tokens describes.
//!
//! A pair of neighbours that may join is a merge here, by the rank of the token that it becomes.
//! Where one word has two places that would become the same token from different parts, tiktoken
//! takes the left one, and this the one with the lower parts. That is the conversion that
//! `transformers` makes too.

use std::collections::{BTreeMap, HashMap};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value as Json, json};

use crate::byte_table::letters_of;
use crate::load::{LoadError, TOKENIZER_CONFIG, wrong};

mod split;

/// The names of the files, in the order of looking. `tokenizer.model` may be another thing.
pub(crate) const FILES: [&str; 3] = ["tiktoken.model", "qwen.tiktoken", "tokenizer.model"];

/// No family has more control tokens.
const MOST_ADDED: u32 = 1 << 16;

/// Bytes of each token, by rank.
type Ranks = Vec<(Vec<u8>, u32)>;

/// A `tokenizer.json` that says what the ranks say. `split` is a regular expression for words;
/// without it the tokenizer's class tells.
pub(crate) fn tokenizer_json(
    file: &str,
    ranks: &str,
    config: &Json,
    split: Option<&str>,
) -> Result<String, LoadError> {
    let ranks = read(file, ranks)?;
    let split = split::of(file, config, split)?;
    let by_bytes: HashMap<&[u8], u32> = ranks.iter().map(|(bytes, rank)| (bytes.as_slice(), *rank)).collect();
    let vocabulary: serde_json::Map<String, Json> =
        ranks.iter().map(|(bytes, rank)| (letters_of(bytes), Json::from(*rank))).collect();
    let merges: Vec<_> = ranks.iter().flat_map(|(bytes, _)| merges(bytes, &by_bytes)).collect();
    let next_id = u32::try_from(ranks.len()).unwrap_or(u32::MAX);
    let byte_level =
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false});
    let tokenizer = json!({
        "version": "1.0",
        "added_tokens": added_tokens(config, next_id)?,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": split}, "behavior": "Isolated", "invert": false},
            byte_level,
        ]},
        "decoder": byte_level,
        "model": {"type": "BPE", "ignore_merges": true, "vocab": vocabulary, "merges": merges},
    });
    Ok(tokenizer.to_string())
}

/// By rank, without a gap.
fn read(file: &str, text: &str) -> Result<Ranks, LoadError> {
    let mut ranks = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let rank = line
            .split_once(' ')
            .and_then(|(bytes, rank)| Some((BASE64_STANDARD.decode(bytes).ok()?, rank.trim().parse().ok()?)));
        ranks.push(rank.ok_or_else(|| LoadError::Rank {
            file: file.to_owned(),
            line: number,
            found: line.chars().take(80).collect(),
        })?);
    }
    ranks.sort_by_key(|(_, rank)| *rank);
    match (0..).zip(&ranks).find(|(expected, (_, rank))| expected != rank) {
        Some((expected, _)) => Err(LoadError::RankGap { file: file.to_owned(), missing: expected }),
        None => Ok(ranks),
    }
}

/// The pairs of tokens that this token is made of, those of lower rank first.
fn merges(bytes: &[u8], ranks: &HashMap<&[u8], u32>) -> Vec<[String; 2]> {
    let mut pairs: Vec<_> = (1..bytes.len())
        .filter_map(|at| {
            let (left, right) = bytes.split_at(at);
            Some(((*ranks.get(left)?, *ranks.get(right)?), [letters_of(left), letters_of(right)]))
        })
        .collect();
    pairs.sort();
    pairs.into_iter().map(|(_, pair)| pair).collect()
}

/// `added_tokens_decoder` of the tokenizer's configuration, where such models have their control tokens.
/// They come after the ranks; ids between them that nobody uses get a name, since a tokenizer counts on.
fn added_tokens(config: &Json, ranks: u32) -> Result<Vec<Json>, LoadError> {
    let expected = "an object of id: {content, special}, with ids behind the ranks";
    let wrong = |found: &Json| wrong(TOKENIZER_CONFIG, "added_tokens_decoder", expected, found);
    let no_tokens = Json::Object(serde_json::Map::new());
    let tokens = config.get("added_tokens_decoder").unwrap_or(&no_tokens);
    let mut by_id = BTreeMap::new();
    for (name, token) in tokens.as_object().ok_or_else(|| wrong(tokens))? {
        let id: Option<u32> =
            name.parse().ok().filter(|id| (ranks..ranks.saturating_add(MOST_ADDED)).contains(id));
        let content = token.get("content").and_then(Json::as_str);
        let (id, content) = id.zip(content).ok_or_else(|| wrong(&json!({name: token})))?;
        by_id.insert(id, (content, token));
    }
    let end = by_id.last_key_value().map_or(ranks, |(last, _)| last + 1);
    let added = (ranks..end).map(|id| match by_id.get(&id) {
        Some((content, token)) => {
            added(id, content, |key| token.get(key).and_then(Json::as_bool) == Some(true))
        }
        None => added(id, &format!("<|reserved_token_{id}|>"), |key| key == "special"),
    });
    Ok(added.collect())
}

fn added(id: u32, content: &str, is: impl Fn(&str) -> bool) -> Json {
    json!({
        "id": id, "content": content, "special": is("special"), "normalized": false,
        "single_word": is("single_word"), "lstrip": is("lstrip"), "rstrip": is("rstrip"),
    })
}

#[cfg(test)]
mod tests;
