//! Cases about one rendering: the text, or the template's refusal.

use std::collections::BTreeMap;

use respool_dialect::{StringArguments, Template};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::cases::{Case, Checked};
use crate::messages::JsonChat;
use crate::report::Verdict;
use crate::text::check_text;
use crate::{clock, item};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    template: String,
    messages: Box<RawValue>,
    tools: Option<Box<RawValue>>,
    template_kwargs: Option<Box<RawValue>>,
    #[serde(default)]
    special_tokens: BTreeMap<String, String>,
    #[serde(default)]
    add_generation_prompt: bool,
    /// One rendering knows no others.
    #[serde(rename = "batch_position")]
    _batch_position: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    text: Option<String>,
    error: Option<String>,
    error_contains: Option<String>,
    #[serde(rename = "other_samples_unaffected")]
    _other_samples_unaffected: Option<IgnoredAny>,
}

/// Checks one case.
pub(super) fn check(case: &Case) -> Checked {
    let input: Input = item::parse(case.input.get())?;
    let expected: Expected = item::parse(case.expected.get())?;
    let rendered = render(&input)?;
    match (expected, rendered) {
        (Expected { text: Some(text), error: None, error_contains: None, .. }, Ok(rendered)) => {
            check_text("text", &text, &rendered)
        }
        (Expected { text: Some(_), .. }, Err(error)) => Err(Verdict::Fail(error)),
        (Expected { text: None, error: Some(_), error_contains, .. }, Err(error)) => match error_contains {
            Some(part) if !error.contains(&part) => {
                Err(Verdict::Fail(format!("error: expected {part:?} in it, found {error:?}")))
            }
            _ => Ok(()),
        },
        (Expected { text: None, error: Some(_), .. }, Ok(rendered)) => {
            Err(Verdict::Fail(format!("expected an error, found the text {rendered:?}")))
        }
        _ => Err(Verdict::NotUnderstood("expected: expected either text or error".to_owned())),
    }
}

/// What the template makes of the messages, or how it refuses them.
fn render(input: &Input) -> Result<Result<String, String>, Verdict> {
    let (tools, template_args) = (input.tools.as_deref(), input.template_kwargs.as_deref());
    let chat = JsonChat::new(&input.messages, tools, template_args, input.add_generation_prompt)?;
    let special_tokens: Vec<_> = input.special_tokens.clone().into_iter().collect();
    let rendered = Template::new("of the case", &input.template, clock::unset())
        .and_then(|template| template.render(&chat.input(&special_tokens, StringArguments::Object)));
    Ok(rendered.map_err(|error| error.to_string()))
}
