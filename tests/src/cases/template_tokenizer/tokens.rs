//! Cases about token ids: nothing is decoded and encoded again, nothing is cleaned up.

use std::collections::BTreeMap;

use respool_core::{Dialect, PolicyVersion, Token, Transcript};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::cases::expected::{Expected, Found};
use crate::cases::{Case, Checked};
use crate::item;
use crate::report::Verdict;
use crate::stub::Vocabulary;
use crate::text::{check_ids, check_text};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Decoding {
    vocab: BTreeMap<Token, String>,
    ids: Vec<Token>,
    /// What other decoders would be misled by.
    #[serde(rename = "tokenizer_config")]
    _tokenizer_config: Option<IgnoredAny>,
    #[serde(rename = "note")]
    _note: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DecodedText {
    text: String,
}

/// Sampled ids decode to exactly their pieces.
pub(super) fn check_decoding(case: &Case) -> Checked {
    let input: Decoding = item::parse(case.input.get())?;
    let expected: DecodedText = item::parse(case.expected.get())?;
    let mut vocabulary = Vocabulary::default();
    for (token, text) in &input.vocab {
        vocabulary.insert(*token, text);
    }
    let found = vocabulary.dialect_of("hermes")?.decode(&input.ids);
    check_text("text", &expected.text, &found)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct History {
    prompt_ids: Vec<Token>,
    sampled_ids: Vec<Token>,
    tool_suffix_ids: Vec<Token>,
    /// What decoding and encoding again would use.
    #[serde(rename = "vocab")]
    _vocab: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NextPrompt {
    next_request_prompt_ids: Vec<Token>,
    #[serde(default)]
    must_not: Vec<Vec<Token>>,
}

/// The next request's prompt is what the transcript holds.
pub(super) fn check_history(case: &Case) -> Checked {
    let input: History = item::parse(case.input.get())?;
    let expected: NextPrompt = item::parse(case.expected.get())?;
    let mut transcript = Transcript::new();
    transcript.push_given(&input.prompt_ids);
    transcript.push_sampled(PolicyVersion(0), &input.sampled_ids, &[]);
    transcript.push_given(&input.tool_suffix_ids);
    check_ids("ids", &expected.next_request_prompt_ids, transcript.tokens())?;
    match expected.must_not.iter().find(|ids| *ids == transcript.tokens()) {
        Some(ids) => Err(Verdict::Fail(format!("ids: they are {ids:?}"))),
        None => Ok(()),
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reading {
    added_tokens: BTreeMap<Token, AddedToken>,
    ids: Vec<IdOrText>,
    format: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AddedToken {
    content: String,
    #[serde(default)]
    special: bool,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum IdOrText {
    Id(Token),
    Text(String),
}

/// Calls are found whether or not their markers are tokens that decoders skip.
pub(super) fn check_reading(case: &Case) -> Checked {
    let input: Reading = item::parse(case.input.get())?;
    let expected: Expected = item::parse(case.expected.get())?;
    let mut vocabulary = Vocabulary::default();
    for (token, added) in &input.added_tokens {
        vocabulary.add_control(*token, &added.content, added.special);
    }
    let turn: Vec<Token> = input
        .ids
        .iter()
        .map(|id| match id {
            IdOrText::Id(token) => *token,
            IdOrText::Text(text) => vocabulary.token(text.as_bytes()),
        })
        .collect();
    // A control token at the end is the one that the engine stopped at, unless it ends a call.
    let last = turn.last().and_then(|last| input.added_tokens.get(last));
    if let Some(stop) = last.filter(|last| last.content != "</tool_call>") {
        vocabulary.add_stop(&stop.content);
    }
    let turn = vocabulary.dialect_of(&input.format)?.parse_turn(&[], &turn, &[], true);
    expected.check(&Found::from(&turn))
}
