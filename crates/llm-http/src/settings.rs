//! What a user can set about the way to the servers.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{ClientError, ErrorKind};

/// How servers are asked. Every field has a default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpSettings {
    /// The longest time until a connection stands.
    #[serde(with = "humantime_serde")]
    pub connect_timeout: Duration,
    /// The longest time until an answer to a generation begins. Long by default: an engine holds
    /// requests back while it is paused or busy, and that is no fault.
    #[serde(with = "humantime_serde")]
    pub header_timeout: Option<Duration>,
    /// The longest time for a control call, a probe, or the body of an error.
    #[serde(with = "humantime_serde")]
    pub control_timeout: Duration,
    /// The longest time for loading new weights.
    #[serde(with = "humantime_serde")]
    pub update_timeout: Duration,
    /// How long an aborted stream may take to end by itself, before its connection is closed. Less
    /// than 2 s, after which the driver gives up waiting and what still comes is lost.
    #[serde(with = "humantime_serde")]
    pub abort_grace: Duration,
    /// The largest event of a stream, or body of an answer, in bytes. SGLang's events repeat all
    /// tokens: about 50 bytes for each one.
    pub max_event_bytes: usize,
    /// A header that keeps a rollout on one server behind a router (`X-SMG-Routing-Key`,
    /// `X-Session-ID`); its value is the rollout's id in hex.
    pub session_header: Option<String>,
    /// A field of the request for the same.
    pub session_field: Option<SessionField>,
    /// Whether prefix-cache entries of one policy version are kept from another.
    pub cache_salt: CacheSalt,
    /// Whether the rollout's seed is sent.
    pub seed: SeedMode,
    /// Whether an answer counts whose server says that it read another prompt.
    pub accept_changed_prompt: bool,
    /// The environment variable with the bearer key.
    pub api_key_env: Option<String>,
    /// The file with the bearer key.
    pub api_key_file: Option<PathBuf>,
    /// The environment variable with the bearer key of control calls; the other one by default.
    pub admin_key_env: Option<String>,
    /// The file with it.
    pub admin_key_file: Option<PathBuf>,
}

/// A field of a request that names the rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionField {
    /// `session_id`.
    SessionId,
    /// `routing_key`; SGLang only.
    RoutingKey,
}

/// What is mixed into the keys of the prefix cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheSalt {
    /// Nothing.
    #[default]
    None,
    /// The policy version in force: entries of old weights are not found.
    Version,
}

/// Whether the rollout's seed is sent; see the table of `respool_llm_http`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeedMode {
    /// The engine draws.
    #[default]
    None,
    /// It is sent.
    Send,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            header_timeout: Some(Duration::from_secs(600)),
            control_timeout: Duration::from_secs(30),
            update_timeout: Duration::from_secs(600),
            abort_grace: Duration::from_secs(1),
            max_event_bytes: 32 << 20,
            session_header: None,
            session_field: None,
            cache_salt: CacheSalt::None,
            seed: SeedMode::None,
            accept_changed_prompt: false,
            api_key_env: None,
            api_key_file: None,
            admin_key_env: None,
            admin_key_file: None,
        }
    }
}

/// Headers that requests have anyway.
const OUR_HEADERS: [&str; 7] =
    ["accept", "authorization", "connection", "content-length", "content-type", "host", "transfer-encoding"];

impl HttpSettings {
    /// The driver waits this long for the end of a stream that it aborted.
    const DRIVER_WAITS: Duration = Duration::from_secs(2);

    pub(crate) fn check(&self, server: &str) -> Result<(), ClientError> {
        if self.abort_grace >= Self::DRIVER_WAITS {
            let message = format!("abort_grace is {:?}, expected less than 2s", self.abort_grace);
            return Err(ClientError::new(ErrorKind::Settings, server, message));
        }
        let header = self.session_header.as_deref().map(str::to_ascii_lowercase);
        if let Some(header) = header.filter(|header| OUR_HEADERS.contains(&header.as_str())) {
            let message =
                format!("session_header is {header:?}, which a request has already; expected another name");
            return Err(ClientError::new(ErrorKind::Settings, server, message));
        }
        Ok(())
    }
}
