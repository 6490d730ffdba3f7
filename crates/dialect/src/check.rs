//! What a model folder's dialect does, found by trying it: for a person, before training begins.

mod continuation;
mod example;
mod hazards;
mod template;
mod thinking;
mod tokens;

use serde::Serialize;

pub use continuation::{ContinuationCheck, NewMessages, Reference};
pub use example::ExamplePiece;
pub use hazards::Hazard;
pub use template::{SystemMessage, TemplateCheck};
pub use thinking::ThinkingCheck;
pub use tokens::{MarkerCheck, SpecialToken, TokenCheck};

use crate::auto::FormatEvidence;
use crate::dialect::HfDialect;

/// What a dialect does.
#[derive(Clone, Debug, Serialize)]
pub struct DialectCheck {
    /// The model folder's name.
    pub model: String,
    /// The tool-call format.
    pub tool_format: FormatCheck,
    /// The tokenizer.
    pub tokens: TokenCheck,
    /// The chat template.
    pub template: TemplateCheck,
    /// Reasoning.
    pub thinking: ThinkingCheck,
    /// What is appended after a sampled turn.
    pub continuation: ContinuationCheck,
    /// A rollout of two turns; empty if the template cannot continue one.
    pub example: Vec<ExamplePiece>,
    /// What a person should know before training, the worst first.
    pub hazards: Vec<Hazard>,
}

/// The tool-call format of a dialect.
#[derive(Clone, Debug, Serialize)]
pub struct FormatCheck {
    /// Its name.
    pub name: &'static str,
    /// Why it is this one.
    pub evidence: FormatEvidence,
    /// The texts that mean something to it outside calls.
    pub markers: Vec<MarkerCheck>,
}

impl HfDialect {
    /// Tries the dialect on a small chat and tells what it does.
    #[must_use]
    pub fn check(&self) -> DialectCheck {
        let mut check = DialectCheck {
            model: self.name.clone(),
            tool_format: FormatCheck {
                name: self.tool_format().name(),
                evidence: self.format_evidence().clone(),
                markers: tokens::markers(self),
            },
            tokens: TokenCheck::of(self),
            template: TemplateCheck::of(self),
            thinking: ThinkingCheck::of(self),
            continuation: ContinuationCheck::of(self),
            example: example::two_turns(self).unwrap_or_default(),
            hazards: Vec::new(),
        };
        check.hazards = hazards::of(&check);
        check
    }
}

#[cfg(test)]
mod tests;
