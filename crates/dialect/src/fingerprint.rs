//! What makes two dialects the same.

use respool_core::{ContinuationMode, ControlTokens, Fingerprint};
use sha2::{Digest, Sha256};

use crate::load::{Config, Parts};
use crate::named::Chosen;
use crate::options::{DialectOptions, ToolResults};

/// Rises whenever the same files and options would give other tokens or other calls.
const VERSION: u8 = 3;

/// SHA-256 over everything that tokens and calls depend on, each part with its length. The clock
/// counts only where a template asks for it.
pub(crate) fn of(
    parts: &Parts<'_>,
    config: &Config,
    chosen: &Chosen,
    options: &DialectOptions,
    format: &str,
) -> Fingerprint {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(&[VERSION]);
    add(parts.tokenizer.as_bytes());
    let templates = [chosen.template.as_str(), chosen.tool_template.as_deref().unwrap_or("")];
    templates.iter().for_each(|template| add(template.as_bytes()));
    for (name, text) in &config.special_tokens {
        add(name.as_bytes());
        add(text.as_bytes());
    }
    config.eos_ids.iter().for_each(|id| add(&id.to_le_bytes()));
    add(format.as_bytes());
    add(&[u8::from(options.calls_in_reasoning), u8::from(options.lenient_literals)]);
    add(match options.continuation {
        ContinuationMode::Template => b"template",
        ContinuationMode::Reference => b"reference",
    });
    add(match options.control_tokens {
        ControlTokens::Plain => b"plain",
        ControlTokens::Parse => b"parse",
    });
    if options.tool_results == ToolResults::Harmony {
        add(b"harmony");
    }
    if templates.iter().any(|template| template.contains("strftime_now")) {
        add(options.clock.strftime("%Y-%m-%dT%H:%M:%S").as_bytes());
    }
    Fingerprint(hash.finalize().into())
}
