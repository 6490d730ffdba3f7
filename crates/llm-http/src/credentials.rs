//! Keys, read once and never shown.

use std::path::Path;

use http::HeaderValue;

use crate::{ClientError, ErrorKind, HttpSettings};

/// The values of the `Authorization` header. Their debug text is `Sensitive`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credentials {
    pub(crate) api: Option<HeaderValue>,
    pub(crate) admin: Option<HeaderValue>,
}

impl Credentials {
    pub(crate) fn read(settings: &HttpSettings, server: &str) -> Result<Self, ClientError> {
        let HttpSettings { api_key_env, api_key_file, admin_key_env, admin_key_file, .. } = settings;
        let read = |name, variable: &Option<String>, file: &Option<_>| {
            bearer(name, variable.as_deref(), file.as_deref())
                .map_err(|message| ClientError::new(ErrorKind::Settings, server, message))
        };
        let api = read("api_key", api_key_env, api_key_file)?;
        let admin = read("admin_key", admin_key_env, admin_key_file)?.or_else(|| api.clone());
        Ok(Self { api, admin })
    }
}

fn bearer(name: &str, variable: Option<&str>, file: Option<&Path>) -> Result<Option<HeaderValue>, String> {
    let (source, key) = match (variable, file) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err(format!("both {name}_env and {name}_file are set, expected one")),
        (Some(variable), None) => {
            let key = std::env::var(variable)
                .map_err(|_| format!("{name}_env names {variable}, which is not set in the environment"))?;
            (format!("environment variable {variable}"), key)
        }
        (None, Some(file)) => {
            let key = std::fs::read_to_string(file)
                .map_err(|error| format!("{name}_file {}: {error}", file.display()))?;
            (format!("file {}", file.display()), key)
        }
    };
    let key = key.trim();
    if key.is_empty() {
        return Err(format!("{source} holds no key"));
    }
    // The error would quote nothing of it, but neither does it help.
    let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
        .map_err(|_| format!("{source} holds a key that cannot be sent in a header"))?;
    value.set_sensitive(true);
    Ok(Some(value))
}
