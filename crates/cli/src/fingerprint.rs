//! What a run must be resumed with: everything that could make a rollout come out differently.

use respool_core::{Dialect, Fingerprint};
use respool_dialect::HfDialect;
use respool_format::Fingerprints;
use respool_tools::Toolbox;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::config::{Config, ServersSection};

/// The fingerprints in `run.json`, in hex.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FingerprintTexts {
    dialect: String,
    tools: String,
    agent_loop: String,
}

impl From<&Fingerprints> for FingerprintTexts {
    fn from(fingerprints: &Fingerprints) -> Self {
        let Fingerprints { dialect, tools, agent_loop } = fingerprints;
        let [dialect, tools, agent_loop] = [dialect, tools, agent_loop].map(hex);
        Self { dialect, tools, agent_loop }
    }
}

impl FingerprintTexts {
    /// Names of those that differ.
    pub(crate) fn differing(&self, other: &Self) -> Vec<&'static str> {
        [
            ("dialect", self.dialect == other.dialect),
            ("tools", self.tools == other.tools),
            ("agent loop", self.agent_loop == other.agent_loop),
        ]
        .into_iter()
        .filter_map(|(name, is_same)| (!is_same).then_some(name))
        .collect()
    }
}

fn hex(fingerprint: &Fingerprint) -> String {
    fingerprint.0.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The fingerprints of a configuration, with the dialect and the tools that were built from it.
pub(crate) fn of(config: &Config, dialect: &HfDialect, tools: &Toolbox) -> anyhow::Result<Fingerprints> {
    Ok(Fingerprints {
        dialect: dialect.fingerprint(),
        tools: tools.fingerprint(),
        agent_loop: agent_loop(config)?,
    })
}

/// Of this version of Respool with everything in the configuration but pace.
fn agent_loop(config: &Config) -> anyhow::Result<Fingerprint> {
    let mut config = config.clone();
    config.model.path = None; // the dialect's fingerprint is of its content
    config.run.concurrency = None;
    config.run.weight_sync_every = None;
    config.run.weight_sync_mode = None;
    config.run.tool_interrupt_deadline = None;
    config.run.stream_timeout = None;
    config.servers = ServersSection::default(); // which servers, and where, may change
    config.policy.token_latency = None;
    config.policy.delta_size = None;
    let mut hash = Sha256::new();
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update(serde_json::to_vec(&config)?);
    Ok(Fingerprint(hash.finalize().into()))
}
