//! How long the driver waits, and when it leaves its thread.

use std::time::Duration;

use respool_llm::Backoff;

/// How long the driver waits for what.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long an aborted generation may take to hand over what it has.
    pub abort_grace: Duration,
    /// How long an interrupt waits for running tools and interactions, where it waits at all.
    pub tool_interrupt_deadline: Duration,
    /// How long releasing the tool sessions of a finished rollout may take.
    pub release_timeout: Duration,
    /// As `release_timeout`, from the moment of a cancel or an interrupt: a cancel takes less than a
    /// second, and no weight update waits for somebody's clean-up.
    pub hurried_release_timeout: Duration,
    /// Texts with more bytes are rendered and tokenized on the blocking pool.
    pub encode_inline_bytes: usize,
    /// How long to wait before a failed attempt is made again.
    pub backoff: Backoff,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            abort_grace: Duration::from_secs(2),
            tool_interrupt_deadline: Duration::from_secs(2),
            release_timeout: Duration::from_secs(30),
            hurried_release_timeout: Duration::from_millis(700),
            encode_inline_bytes: 16 * 1024,
            backoff: Backoff::default(),
        }
    }
}
