//! Telling the tool-call format from a model folder.

use crate::format::{ToolFormat, tool_format};

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
pub(crate) fn tell(template: &str, architecture: Option<&str>) -> Option<&'static dyn ToolFormat> {
    let sign = SIGNS.iter().find(|(texts, _)| texts.iter().all(|text| template.contains(text)));
    if let Some((_, name)) = sign {
        let name = if *name == "glm" { glm(template) } else { name };
        return tool_format(name);
    }
    let known = ARCHITECTURES.iter().find(|(part, _)| architecture.is_some_and(|name| name.contains(part)));
    if let Some((_, name)) = known {
        return tool_format(name);
    }
    tool_format("hermes").filter(|_| !template.contains("tool_calls"))
}

/// The older version writes a line end after the name of the tool.
fn glm(template: &str) -> &'static str {
    let newer = template.contains("<tool_call>{function-name}<arg_key>")
        || template.contains("'<tool_call>' + tc.name }}<arg");
    if newer { "glm4_7" } else { "glm4_5" }
}
