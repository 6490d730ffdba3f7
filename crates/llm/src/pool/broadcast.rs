//! Calls to every server, each with its own answer.

use futures_util::future::join_all;
use respool_core::{Fault, PolicyVersion};

use super::{Pool, control::Answer, entry::Member};
use crate::{ControlFuture, Load};

/// What each server answered, by name.
type Answers<T> = Vec<(String, Result<T, Fault>)>;

impl Pool {
    /// Has every server load weights from a folder that it can read. One that refuses, or whose
    /// outcome is not known, is out of service until a later update succeeds, or it shows the version's
    /// label by itself. To be followed by [`set_version`](crate::ServerManager::set_version), which puts
    /// the version in force and labels those that have the weights.
    pub async fn update_from_disk(&self, model_path: &str, version: PolicyVersion) -> Answers<()> {
        let update = |member: Member| async move {
            let call = member.server.update_from_disk(model_path, version);
            let updated = self.shared.ask(&member, self.shared.settings.update_timeout, call).await;
            self.shared.change(|roster, now| {
                let Some(entry) = roster.entry(member.id) else { return };
                match Answer::from(updated.clone()) {
                    Answer::Done => entry.took_version(version),
                    Answer::Refused(_) => entry.missed_update(version),
                    Answer::Unknown(fault) => {
                        entry.missed_update(version);
                        roster.eject(member.id, &fault, now);
                    }
                }
            });
            (member.server.name().to_owned(), updated)
        };
        join_all(self.shared.read(|roster| roster.members()).into_iter().map(update)).await
    }

    /// Empties every server's prefix cache.
    pub async fn flush_cache(&self) -> Answers<()> {
        self.ask_each(|member| member.server.flush_cache()).await
    }

    /// How busy each server says it is.
    pub async fn load(&self) -> Answers<Load> {
        self.ask_each(|member| member.server.load()).await
    }

    async fn ask_each<T>(&self, call: fn(&Member) -> ControlFuture<'_, T>) -> Answers<T> {
        let limit = self.shared.settings.control_timeout;
        let ask = |member: Member| async move {
            let answer = self.shared.ask(&member, limit, call(&member)).await;
            (member.server.name().to_owned(), answer)
        };
        join_all(self.shared.read(|roster| roster.members()).into_iter().map(ask)).await
    }
}
