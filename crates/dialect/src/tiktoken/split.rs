//! How texts are split into words: tiktoken's files do not say, the code beside them does.

use serde_json::Value as Json;

use crate::load::LoadError;

/// English endings, then words, then numbers of up to three digits, signs, line ends and space. From
/// OpenAI's `cl100k_base`.
const CL100K: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The same with single digits: Qwen's.
const QWEN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Words by their capitals, as OpenAI's `o200k_base`, with Chinese apart: Kimi's.
const KIMI: &str = r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// `tokenizer_class` of the families that ship ranks.
const CLASSES: [(&str, &str); 4] = [
    ("TikTokenTokenizer", KIMI),
    ("QWenTokenizer", QWEN),
    ("ChatGLM4Tokenizer", CL100K),
    ("TiktokenTokenizer", CL100K),
];

/// The expression that was given, or that of the tokenizer's class.
pub(super) fn of<'a>(file: &str, config: &Json, given: Option<&'a str>) -> Result<&'a str, LoadError> {
    if let Some(given) = given {
        return Ok(given);
    }
    let class = config.get("tokenizer_class").and_then(Json::as_str).unwrap_or("none");
    let known = CLASSES.iter().find(|(known, _)| *known == class);
    known.map(|(_, split)| *split).ok_or_else(|| LoadError::UnknownSplit {
        file: file.to_owned(),
        class: class.to_owned(),
        known: CLASSES.map(|(class, _)| class).join(", "),
    })
}
