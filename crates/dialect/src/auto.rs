//! Telling the tool-call format from a model folder.

use serde::Serialize;

use crate::format::{ToolFormat, tool_format};

/// Why a dialect has its tool-call format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FormatEvidence {
    /// An option names it or gives it.
    Option,
    /// These texts are in the chat template.
    Template(Vec<&'static str>),
    /// The name of the model's architecture.
    Architecture(String),
    /// Nothing: the template knows no calls, and the most common format is taken.
    Nothing,
}

/// Texts that only one format's templates have, and the formats they tell, in the order of asking.
const SIGNS: [(&[&str], &str); 16] = [
    (&["<|channel|>", "<|message|>"], "gpt_oss"),
    (&["<minimax:tool_call>"], "minimax_m2"),
    (&["<|tool_call_argument_begin|>"], "kimi_k2"),
    (&["<arg_key>", "<arg_value>"], "glm"),
    (&["<function=", "<parameter="], "qwen3_coder"),
    (&["<｜tool▁sep｜>", "```json"], "deepseek_v3"),
    (&["<｜tool▁sep｜>"], "deepseek_v3_1"),
    (&["[TOOL_CALLS]"], "mistral"),
    (&["<|python_start|>"], "pythonic"),
    (&["[func_name1(params_name1=params_value1"], "pythonic"),
    (&["<|/tool_call|>"], "phi4"),
    (&["functools["], "phi4"),
    (&["<|tool_call|>"], "granite"),
    (&["<tool_call>"], "hermes"),
    (&["<|python_tag|>"], "llama3_json"),
    (&["\"parameters\": dictionary of argument name"], "llama3_json"),
];

/// Name parts of architectures, for templates that write no calls themselves.
const ARCHITECTURES: [(&str, &str); 9] = [
    ("GptOss", "gpt_oss"),
    ("MiniMaxM2", "minimax_m2"),
    ("Glm4Moe", "glm4_5"),
    ("Llama4", "pythonic"),
    ("Llama", "llama3_json"),
    ("Mistral", "mistral"),
    ("Granite", "granite"),
    ("Phi4", "phi4"),
    ("Qwen", "hermes"),
];

/// The format that a template writes; then the one of the architecture; a template that knows no
/// calls at all gets Hermes. `None` if it knows calls, but in no format that is known.
pub(crate) fn tell(
    template: &str,
    architecture: Option<&str>,
) -> Option<(&'static dyn ToolFormat, FormatEvidence)> {
    let sign = SIGNS.iter().find(|(texts, _)| texts.iter().all(|text| template.contains(text)));
    if let Some((texts, name)) = sign {
        let name = if *name == "glm" { glm(template) } else { name };
        return tool_format(name).map(|format| (format, FormatEvidence::Template(texts.to_vec())));
    }
    if let Some(architecture) = architecture
        && let Some((_, name)) = ARCHITECTURES.iter().find(|(part, _)| architecture.contains(part))
    {
        return tool_format(name)
            .map(|format| (format, FormatEvidence::Architecture(architecture.to_owned())));
    }
    let hermes = tool_format("hermes").filter(|_| !template.contains("tool_calls"));
    hermes.map(|format| (format, FormatEvidence::Nothing))
}

/// The older version writes a line end after the name of the tool.
fn glm(template: &str) -> &'static str {
    let newer = template.contains("<tool_call>{function-name}<arg_key>")
        || template.contains("'<tool_call>' + tc.name }}<arg");
    if newer { "glm4_7" } else { "glm4_5" }
}
