//! Names and seeds of rollouts: pure functions of (run seed, task, sample), never of order, time or
//! concurrency.

use respool_core::RolloutId;
use sha2::{Digest, Sha256};

/// Names one rollout of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) task_id: String,
    pub(crate) sample: u32,
}

impl Key {
    /// SHA-256 of purpose, run seed (8 bytes, little endian), length of the task's name (8 bytes),
    /// the name, and the sample (4 bytes).
    fn hash(&self, purpose: &str, run_seed: u64) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(purpose);
        hash.update(run_seed.to_le_bytes());
        hash.update((self.task_id.len() as u64).to_le_bytes());
        hash.update(&self.task_id);
        hash.update(self.sample.to_le_bytes());
        hash.finalize().into()
    }

    /// The first eight bytes of the hash, little endian.
    pub(crate) fn seed(&self, run_seed: u64) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.hash("respool seed", run_seed);
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// The first sixteen bytes of the hash, big endian.
    pub(crate) fn rollout(&self, run_seed: u64) -> RolloutId {
        let hash = self.hash("respool rollout", run_seed);
        RolloutId(hash.iter().take(16).fold(0, |id, byte| (id << 8) | u128::from(*byte)))
    }

    /// `<task>-<sample>.snap`, with bytes of the task outside `A-Za-z0-9._` as `%XX`. A name that
    /// no file system takes is cut and ends with a hash.
    pub(crate) fn snapshot_name(&self) -> String {
        const LONGEST: usize = 200;
        let mut task = String::new();
        for byte in self.task_id.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' => task.push(char::from(byte)),
                _ => task.push_str(&format!("%{byte:02X}")),
            }
        }
        if task.len() > LONGEST {
            task.truncate(LONGEST - 32);
            task.push_str(&self.rollout(0).to_string());
        }
        format!("{task}-{}.snap", self.sample)
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} sample {}", self.task_id, self.sample)
    }
}

#[cfg(test)]
mod tests;
