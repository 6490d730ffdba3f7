//! Tool results as the Harmony format has them, where its template differs: that one gives all results
//! of a turn the name of the first call, and writes a result's text as a JSON string.

use minijinja::value::Value;

use crate::python::Dict;

/// The new messages and the generation prompt; `None` where one is neither a tool's nor a user's text,
/// or no tool's is among them.
pub(crate) fn suffix(new: &[Value]) -> Option<String> {
    let mut text = String::new();
    let mut has_result = false;
    for message in new {
        let message: &Dict = message.downcast_object_ref()?;
        let content = message.text("content")?;
        match message.text("role")? {
            "tool" => {
                has_result = true;
                let name = message.text("name").unwrap_or("unknown");
                let head = format!("<|start|>functions.{name} to=assistant<|channel|>commentary");
                text += &format!("{head}<|message|>{content}<|end|>");
            }
            "user" => text += &format!("<|start|>user<|message|>{content}<|end|>"),
            _ => return None,
        }
    }
    text += "<|start|>assistant";
    has_result.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: &str, name: Option<&str>, content: &str) -> Value {
        let mut message = Dict::of([("role", role.into()), ("content", content.into())]);
        if let Some(name) = name {
            message.set("name", name);
        }
        message.into_value()
    }

    #[test]
    fn each_result_has_its_own_name_and_its_text_as_it_is() {
        let new = [
            message("tool", Some("add"), "\"5\"\n"),
            message("tool", None, "6"),
            message("user", None, "And?"),
        ];
        let head = "to=assistant<|channel|>commentary<|message|>";
        let expected = format!(
            "<|start|>functions.add {head}\"5\"\n<|end|><|start|>functions.unknown {head}6<|end|>\
             <|start|>user<|message|>And?<|end|><|start|>assistant"
        );
        assert_eq!(suffix(&new), Some(expected));
        assert_eq!(suffix(&new[2..]), None, "the template writes it as well");
        assert_eq!(suffix(&[message("system", None, "x")]), None);
    }
}
