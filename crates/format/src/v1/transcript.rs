//! The transcript: tokens as varints, log-probabilities as four bytes each.

use respool_core as core;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::{Mirror, seam::PolicyVersion};
use crate::error::Invalid;

#[derive(Serialize, Deserialize)]
pub(crate) struct Transcript {
    tokens: Vec<u32>,
    logprobs: Logprobs,
    prompt_len: u32,
    runs: Vec<Run>,
    prompt_ended: bool,
}

mirror!(
    struct Run {
        kind: RunKind,
        len: u32,
    }
);

mirror!(
    enum RunKind {
        Given,
        Sampled { version: PolicyVersion },
    }
);

impl Mirror<core::Transcript> for Transcript {
    /// The fields are core's own; that all of them are here is what `from_parts` below checks.
    fn store(core: &core::Transcript) -> Self {
        Self {
            tokens: core.tokens().to_vec(),
            logprobs: Logprobs::pack(core.logprobs()),
            prompt_len: core.prompt_len(),
            runs: core.runs().iter().map(Mirror::store).collect(),
            prompt_ended: core.prompt_ended(),
        }
    }

    fn load(self) -> Result<core::Transcript, Invalid> {
        let Self { tokens, logprobs, prompt_len, runs, prompt_ended } = self;
        let logprobs = logprobs.load().map_err(|error| error.within("logprobs"))?;
        let runs: Vec<core::Run> = runs.load().map_err(|error| error.within("runs"))?;
        core::Transcript::from_parts(tokens, logprobs, prompt_len, runs, prompt_ended)
            .map_err(|reason| Invalid::new("", reason))
    }
}

/// The bits of each log-probability, little-endian; all ones where it is missing.
#[derive(Serialize, Deserialize)]
pub(crate) struct Logprobs(ByteBuf);

const MISSING: u32 = u32::MAX;

impl Logprobs {
    fn pack(logprobs: &[core::Logprob]) -> Self {
        let bits = |logprob: &core::Logprob| logprob.get().map_or(MISSING, f32::to_bits).to_le_bytes();
        let mut bytes = Vec::with_capacity(logprobs.len() * 4);
        logprobs.iter().for_each(|logprob| bytes.extend(bits(logprob)));
        Self(ByteBuf::from(bytes))
    }
}

impl Mirror<Vec<core::Logprob>> for Logprobs {
    fn store(core: &Vec<core::Logprob>) -> Self {
        Self::pack(core)
    }

    fn load(self) -> Result<Vec<core::Logprob>, Invalid> {
        let (values, rest) = self.0.as_chunks();
        if !rest.is_empty() {
            return Err(Invalid::new("", format!("{} bytes, expected four for each", self.0.len())));
        }
        values.iter().map(|bytes| logprob(u32::from_le_bytes(*bytes))).collect()
    }
}

fn logprob(bits: u32) -> Result<core::Logprob, Invalid> {
    match f32::from_bits(bits) {
        _ if bits == MISSING => Ok(core::Logprob::MISSING),
        value if value.is_finite() => Ok(core::Logprob::new(value)),
        value => Err(Invalid::new("", format!("found {value}, expected a finite value"))),
    }
}
