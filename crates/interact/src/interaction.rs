//! Who answers in the user's place.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use respool_core::{Fault, InteractReply, InteractRequest, Role};
use respool_stack::InteractService;
use tower::{service_fn, util::BoxCloneSyncService};

use crate::{NameTaken, named::Named};

/// Answers in the user's place: a script, a user simulator, an environment.
///
/// It is shared by all rollouts and keeps no position of its own, so that a rollout goes on in
/// another process as if nothing had happened: where it is, it reads off the request (see
/// [`reply_index`]). It may be asked again for a reply that an interrupt cut.
pub trait Interaction: Send + Sync {
    /// The reply to the policy's last turn.
    ///
    /// # Errors
    /// A fault whose class says whether asking again can help.
    fn reply<'a>(&'a self, request: &'a InteractRequest) -> BoxFuture<'a, Result<InteractReply, Fault>>;
}

/// How many replies this rollout's interaction gave before: the index of the one asked for.
///
/// Between two turns of the policy stands either one batch of tool results or one reply, and
/// `user_turns` says how many of those there are; what stands before them is the first chat,
/// whatever roles it has.
#[must_use]
pub fn reply_index(request: &InteractRequest) -> usize {
    request
        .messages
        .rsplit(|message| message.role == Role::Assistant)
        .skip(1) // what follows the policy's last turn: nothing yet
        .take(request.user_turns as usize)
        .filter(|batch| batch.iter().any(|message| message.role == Role::User))
        .count()
}

/// The interactions of a run, by name.
#[derive(Debug)]
pub struct Interactions {
    known: Named<dyn Interaction>,
}

impl Interactions {
    /// None.
    #[must_use]
    pub const fn new() -> Self {
        Self { known: Named::new("interaction") }
    }

    /// Adds one.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn with(mut self, name: &str, interaction: impl Interaction + 'static) -> Result<Self, NameTaken> {
        self.known.add(name, Box::new(interaction))?;
        Ok(self)
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.names()
    }

    /// Asks the interaction that the request names. An unknown name, a panic and a score that is
    /// not finite are terminal faults of that request; an unknown name lists the known ones.
    #[must_use]
    pub fn service(self) -> InteractService {
        let known = Arc::new(self.known);
        BoxCloneSyncService::new(service_fn(move |request: InteractRequest| {
            let known = Arc::clone(&known);
            async move {
                let name = &request.interaction.name;
                let interaction = known.get(name)?;
                known.guarded(name, async { interaction.reply(&request).await }, |reply| reply.score).await
            }
        }))
    }
}

impl Default for Interactions {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
