//! An interaction that says what it was given to say.

use futures_util::future::{BoxFuture, ready};
use respool_core::{Content, Fault, InteractReply, InteractRequest};
use serde::Deserialize;

use crate::{Interaction, reply_index};

/// One reply of a script.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedReply {
    /// What the user says.
    pub content: String,
    /// A score for the policy's turn.
    #[serde(default)]
    pub score: Option<f64>,
    /// Whether the rollout ends here.
    #[serde(default)]
    pub terminate: bool,
}

/// Gives the replies of a list in order: the n-th reply of a rollout is the n-th of the list.
///
/// Past the end of the list it ends the rollout with an empty reply and no score, so that a
/// script that forgets to terminate ends all the same.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Scripted {
    /// The replies.
    pub replies: Vec<ScriptedReply>,
}

impl Scripted {
    /// A script of these replies.
    #[must_use]
    pub fn new(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        Self { replies: replies.into_iter().collect() }
    }
}

impl Interaction for Scripted {
    fn reply<'a>(&'a self, request: &'a InteractRequest) -> BoxFuture<'a, Result<InteractReply, Fault>> {
        let reply = self.replies.get(reply_index(request));
        let reply = reply.map_or_else(
            || InteractReply { content: Content::from(""), score: None, terminate: true },
            |reply| InteractReply {
                content: Content::from(&*reply.content),
                score: reply.score,
                terminate: reply.terminate,
            },
        );
        Box::pin(ready(Ok(reply)))
    }
}
