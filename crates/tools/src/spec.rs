//! Building tool specs, and telling tool sets apart.

use respool_core::{Fingerprint, InvalidJson, JsonText, Replay, SessionPolicy, ToolSpec};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// A spec with the schema `{"type": "function", "function": {name, description, parameters}}`,
/// the order of `parameters`' keys kept, and replay class and session policy at their defaults
/// (`keyed`, `stateless`).
///
/// # Errors
/// If `parameters` nest too deep.
pub fn function_spec(name: &str, description: &str, parameters: &Value) -> Result<ToolSpec, InvalidJson> {
    let schema = json!({
        "type": "function",
        "function": { "name": name, "description": description, "parameters": parameters },
    });
    Ok(ToolSpec {
        name: name.to_owned(),
        schema: JsonText::new(schema.to_string())?,
        replay: Replay::default(),
        session: SessionPolicy::default(),
    })
}

/// `function.name` of a schema.
pub(crate) fn schema_name(schema: &JsonText) -> Option<String> {
    let schema: Value = serde_json::from_str(schema.as_str()).ok()?;
    Some(schema.get("function")?.get("name")?.as_str()?.to_owned())
}

/// Changes with every name, schema, replay class and session policy, and with their order: the
/// prompt shows tools in order.
pub(crate) fn fingerprint<'a>(specs: impl Iterator<Item = &'a ToolSpec>) -> Fingerprint {
    let mut hash = Sha256::new();
    for spec in specs {
        for part in [&*spec.name, spec.schema.as_str(), replay_name(spec.replay), session_name(spec.session)]
        {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    Fingerprint(hash.finalize().into())
}

const fn replay_name(replay: Replay) -> &'static str {
    match replay {
        Replay::Pure => "pure",
        Replay::Keyed => "keyed",
        Replay::Once => "once",
    }
}

const fn session_name(session: SessionPolicy) -> &'static str {
    match session {
        SessionPolicy::Stateless => "stateless",
        SessionPolicy::Reattach => "reattach",
        SessionPolicy::Rebuild => "rebuild",
        SessionPolicy::Lost => "lost",
    }
}
