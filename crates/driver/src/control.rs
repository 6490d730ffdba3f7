//! The two words from outside: interrupt, and cancel.

use tokio_util::sync::CancellationToken;

/// Tells a running rollout to leave, or to end. Cheap to clone; all clones are one signal.
#[derive(Clone, Debug, Default)]
pub struct Control {
    interrupt: CancellationToken,
    cancel: CancellationToken,
}

impl Control {
    /// Nothing is told yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The control of the same rollouts when they go on after an interrupt: not interrupted yet, but a
    /// cancel of one is a cancel of both.
    #[must_use]
    pub fn resumed(&self) -> Self {
        Self { interrupt: CancellationToken::new(), cancel: self.cancel.clone() }
    }

    /// Leave the rollout where it is; it hands back a cancelled output that can be resumed.
    pub fn interrupt(&self) {
        self.interrupt.cancel();
    }

    /// End the rollout for good, within a second.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Whether [`Self::interrupt`] was called.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.is_cancelled()
    }

    /// Whether [`Self::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Waits for [`Self::interrupt`].
    pub async fn interrupted(&self) {
        self.interrupt.cancelled().await;
    }

    /// Waits for [`Self::cancel`].
    pub async fn cancelled(&self) {
        self.cancel.cancelled().await;
    }
}
