//! The dialect that is built in: small enough for tests and examples, with everything a real one has.

use crate::dialect::HfDialect;
use crate::load::{LoadError, Parts};
use crate::options::DialectOptions;

impl HfDialect {
    /// The built-in dialect: byte-level BPE trained on a small text of ours, ChatML with tools. Its
    /// files are made by `examples/make_embedded.rs`.
    ///
    /// # Errors
    /// If an option does not fit it.
    pub fn embedded(options: DialectOptions) -> Result<Self, LoadError> {
        let parts = Parts {
            name: "embedded",
            tokenizer: include_str!("../embedded/tokenizer.json"),
            tokenizer_config: include_str!("../embedded/tokenizer_config.json"),
            chat_template: Some(include_str!("../embedded/chat_template.jinja")),
            additional_templates: &[],
            generation_config: None,
            model_config: None,
        };
        Self::from_parts(&parts, options)
    }
}
