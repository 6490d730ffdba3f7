//! What somebody who serves the model, or stands in for it, wants to know of a dialect.

use std::path::Path;

use respool_core::{DialectError, JsonText, Token};
use serde_json::Value;

use crate::dialect::HfDialect;
use crate::template::{RenderInput, StringArguments};

impl HfDialect {
    /// One more than the greatest token id.
    #[must_use]
    pub fn vocab_size(&self) -> u32 {
        u32::try_from(self.vocabulary.len()).unwrap_or(u32::MAX)
    }

    /// The ids of the generation prompt: what the template writes where an assistant turn begins.
    /// Empty if it writes nothing there, or changes earlier text too.
    ///
    /// # Errors
    /// If the template cannot render a chat of one user message.
    pub fn generation_prompt(&self) -> Result<Vec<Token>, DialectError> {
        let (with, without) = (self.one_message(true)?, self.one_message(false)?);
        self.encode_text(with.strip_prefix(without.as_str()).unwrap_or_default())
    }

    fn one_message(&self, add_generation_prompt: bool) -> Result<String, DialectError> {
        let messages = JsonText::new(r#"[{"role":"user","content":"x"}]"#);
        let messages = messages.map_err(|error| DialectError::new(error.to_string()))?;
        let input = RenderInput {
            messages: &messages,
            tools: None,
            template_args: &JsonText::empty_object(),
            special_tokens: self.special_tokens(),
            add_generation_prompt,
            string_arguments: StringArguments::default(),
        };
        self.template(false).render(&input).map_err(|error| DialectError::new(error.to_string()))
    }
}

/// How many rows the model of a folder has for its vocabulary, as its `config.json` says, where there is
/// one: often more than its tokenizer has tokens, and the model may sample any of them.
#[must_use]
pub fn model_rows(folder: &Path) -> Option<u32> {
    let text = std::fs::read(folder.join("config.json")).ok()?;
    let config: Value = serde_json::from_slice(&text).ok()?;
    let size = config.get("vocab_size").or_else(|| config.get("text_config")?.get("vocab_size"))?;
    size.as_u64().and_then(|size| u32::try_from(size).ok())
}

#[cfg(test)]
mod tests {
    use crate::{Clock, DialectOptions};

    use super::*;

    #[test]
    fn the_embedded_dialect_opens_a_turn_as_its_template_does() {
        let options = DialectOptions::new(Clock::from_unix_seconds(0));
        let dialect = HfDialect::embedded(options).expect("the embedded dialect");
        let opening = dialect.generation_prompt().expect("a generation prompt");
        assert_eq!(opening, dialect.encode_text("<|im_start|>assistant\n").expect("ids"));
        assert!(dialect.token("<|im_end|>").expect("an id") < dialect.vocab_size());
    }
}
