//! Pauses, versions and aborts: one protocol over all servers, every outcome known or made good.

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use respool_core::{Class, Fault, PolicyVersion};
use tokio::time::timeout;

use super::{
    entry::{Entry, Member},
    shared::Shared,
};
use crate::{ControlFuture, WeightSync};

/// What is known after a control call.
pub(crate) enum Answer {
    Done,
    /// Nothing happened there.
    Refused(Fault),
    /// It may have happened or not.
    Unknown(Fault),
}

impl From<Result<(), Fault>> for Answer {
    fn from(result: Result<(), Fault>) -> Self {
        match result {
            Ok(()) => Self::Done,
            Err(fault) if fault.class == Class::Terminal => Self::Refused(fault),
            Err(fault) => Self::Unknown(fault),
        }
    }
}

/// How a call to all servers went.
#[derive(Default)]
struct Tally {
    done: usize,
    refused: Option<Fault>,
    unknown: Option<Fault>,
}

impl Tally {
    /// It went well if one server did it and none refused.
    fn verdict(self) -> Result<(), Fault> {
        match self {
            Self { refused: Some(fault), .. } | Self { done: 0, unknown: Some(fault), .. } => Err(fault),
            Self { .. } => Ok(()),
        }
    }
}

impl Shared {
    /// One control call to one server, in its turn and within its time. A fault names the server.
    pub(crate) async fn ask<T>(
        &self,
        member: &Member,
        limit: std::time::Duration,
        call: ControlFuture<'_, T>,
    ) -> Result<T, Fault> {
        let limit = if member.is_out { limit.min(self.settings.probe_timeout) } else { limit };
        // Others hold the turn for a bounded time, which is not this call's.
        let asked = async {
            let _turn = member.turn.lock().await;
            timeout(limit, call).await
        };
        let answer = tokio::select! {
            biased;
            () = member.gone.cancelled() => Err(Fault::transient("was removed from the pool")),
            answer = asked => {
                answer.unwrap_or_else(|_| Err(Fault::transient(format!("gave no answer within {limit:?}"))))
            }
        };
        answer.map_err(|fault| named(member.server.name(), fault))
    }

    /// Calls servers at once and notes each answer as it comes.
    async fn ask_all<'a>(
        &'a self,
        members: Vec<Member>,
        ask: impl Fn(Member) -> BoxFuture<'a, Result<(), Fault>>,
        note: impl Fn(&mut Entry, &Answer) + Send,
    ) -> Tally {
        let ask = |member: Member| {
            let id = member.id;
            ask(member).map(move |result| (Answer::from(result), id))
        };
        let mut asked: FuturesUnordered<_> = members.into_iter().map(ask).collect();
        let mut tally = Tally::default();
        while let Some((answer, id)) = asked.next().await {
            self.change(|roster, now| {
                if let Some(entry) = roster.entry(id) {
                    note(entry, &answer);
                }
                if let Answer::Unknown(fault) = &answer {
                    roster.eject(id, fault, now);
                }
            });
            match answer {
                Answer::Done => tally.done += 1,
                Answer::Refused(fault) => tally.refused = Some(fault),
                Answer::Unknown(fault) => tally.unknown = Some(fault),
            }
        }
        tally
    }

    /// Pauses. If that fails, the pool is not paused.
    pub(crate) async fn pause(&self, mode: WeightSync) -> Result<(), Fault> {
        match mode {
            WeightSync::Abort | WeightSync::Keep => {
                let _one = self.sync.lock().await;
                if mode == WeightSync::Keep {
                    self.all_can_keep()?;
                }
                self.close(mode);
                self.pause_servers(mode, self.read(|roster| roster.members())).await
            }
            WeightSync::Drain => self.drain().await,
        }
    }

    /// Lets nobody in any more.
    fn close(&self, mode: WeightSync) {
        self.change(|roster, _| {
            roster.pause = Some(mode);
            roster.aborts += u64::from(mode == WeightSync::Abort);
            roster.entries.iter_mut().for_each(|entry| entry.took_pause = false);
        });
    }

    async fn drain(&self) -> Result<(), Fault> {
        {
            let _one = self.sync.lock().await;
            self.close(WeightSync::Drain);
        }
        self.until(|roster| roster.outstanding() == 0 || roster.pause != Some(WeightSync::Drain)).await;
        let _one = self.sync.lock().await;
        if self.read(|roster| roster.pause != Some(WeightSync::Drain)) {
            return Err(Fault::transient("the pause was ended before everything had drained"));
        }
        let can_hold = |member: &Member| member.server.controls().pause_keep;
        let members = self.read(|roster| roster.members()).into_iter().filter(can_hold).collect();
        self.pause_servers(WeightSync::Keep, members).await
    }

    async fn pause_servers(&self, mode: WeightSync, members: Vec<Member>) -> Result<(), Fault> {
        let pause = |member: Member| self.pause_server(mode, member).boxed();
        let note = |entry: &mut Entry, answer: &Answer| match answer {
            Answer::Done => entry.took_pause = true,
            Answer::Refused(_) => {}
            Answer::Unknown(_) => entry.owed.resume = true,
        };
        let verdict = self.ask_all(members, pause, note).await.verdict();
        if verdict.is_err() {
            self.resume().await; // whose own failures are owed
        }
        verdict
    }

    async fn pause_server(&self, mode: WeightSync, member: Member) -> Result<(), Fault> {
        if mode == WeightSync::Abort && !member.server.controls().pause_abort {
            return self.abort_streams(&member).await;
        }
        self.ask(&member, self.settings.control_timeout, member.server.pause(mode)).await
    }

    /// Aborts a server's streams one by one, and waits until they ended.
    async fn abort_streams(&self, member: &Member) -> Result<(), Fault> {
        let streams = self.change(|roster, _| {
            roster.entry(member.id).map(|entry| entry.streams.clone()).unwrap_or_default()
        });
        streams.values().for_each(tokio_util::sync::CancellationToken::cancel);
        let ended = self.until(|roster| {
            let entry = roster.entries.iter().find(|entry| entry.member.id == member.id);
            entry.is_none_or(|entry| !streams.keys().any(|stream| entry.streams.contains_key(stream)))
        });
        let limit = self.settings.control_timeout;
        timeout(limit, ended).await.map_err(|_| {
            let name = member.server.name();
            Fault::transient(format!("server {name} did not end its aborted streams within {limit:?}"))
        })
    }

    /// Who cannot hold what runs is named before anybody is paused.
    fn all_can_keep(&self) -> Result<(), Fault> {
        let cannot: Vec<String> = self.read(|roster| {
            let members = roster.entries.iter().filter(|entry| !entry.member.server.controls().pause_keep);
            members.map(|entry| entry.name().to_owned()).collect()
        });
        if cannot.is_empty() {
            return Ok(());
        }
        Err(Fault::terminal(format!(
            "weight sync `keep` needs servers that can hold what runs, which these cannot: {}; start vllm with \
             VLLM_SERVER_DEV_MODE=1, use an sglang that has /pause_generation, or use `abort` or `drain`",
            cannot.join(", ")
        )))
    }

    /// Ends a pause: everybody is owed a continue, requests are let in at once, and each server
    /// serves as soon as it has answered.
    async fn resume(&self) -> Tally {
        let has_pause = |member: &Member| {
            let controls = member.server.controls();
            controls.pause_abort || controls.pause_keep
        };
        let members = self.change(|roster, now| {
            let members: Vec<Member> = roster.members().into_iter().filter(has_pause).collect();
            let was_paused = roster.pause.is_some();
            for member in &members {
                if let Some(entry) = roster.entry(member.id) {
                    entry.owed.resume |= was_paused;
                }
            }
            roster.open(now);
            members
        });
        let resume = |member: Member| self.resume_server(member).boxed();
        self.ask_all(members, resume, |entry, answer| {
            entry.owed.resume = !matches!(answer, Answer::Done);
        })
        .await
    }

    async fn resume_server(&self, member: Member) -> Result<(), Fault> {
        let call = member.server.continue_generation();
        let resumed = self.ask(&member, self.settings.control_timeout, call).await;
        // It may be paused, and nothing but a continue helps: never a refusal.
        resumed.map_err(|fault| Fault { class: Class::Transient, ..fault })
    }

    /// Ends a pause.
    pub(crate) async fn continue_generation(&self) -> Result<(), Fault> {
        let _one = self.sync.lock().await;
        self.resume().await.verdict()
    }

    /// Labels all weights. If no server takes the label, the old version stays in force, and so does a
    /// pause; if some do, those that refuse it are out of service until they take one.
    pub(crate) async fn set_version(&self, version: PolicyVersion) -> Result<(), Fault> {
        let _one = self.sync.lock().await;
        let has_label = |member: &Member| member.server.controls().set_version;
        let (asked, unasked): (Vec<_>, Vec<_>) =
            self.read(|roster| roster.members_with_weights()).into_iter().partition(has_label);
        let tell = |member: Member| {
            let limit = self.settings.control_timeout;
            async move { self.ask(&member, limit, member.server.set_version(version)).await }.boxed()
        };
        let note = |entry: &mut Entry, answer: &Answer| match answer {
            Answer::Done => entry.took_version(version),
            Answer::Refused(fault) => {
                tracing::warn!(server = entry.name(), error = %fault, "the server did not take the version");
                entry.is_stale = true;
            }
            Answer::Unknown(_) => entry.missed_version(version),
        };
        let tally = self.ask_all(asked, tell, note).await;
        if tally.done == 0 {
            // With the old version in force nobody is behind.
            self.change(|roster, _| roster.entries.iter_mut().for_each(|entry| entry.is_stale = false));
            tally.verdict()?;
        }
        self.change(|roster, _| {
            roster.version = version;
            roster.is_synced = true;
            for member in &unasked {
                if let Some(entry) = roster.entry(member.id) {
                    entry.forget_label();
                }
            }
        });
        Ok(())
    }

    /// Ends everything that runs or waits. Who cannot abort everything aborts stream by stream.
    pub(crate) async fn abort_all(&self) -> Result<(), Fault> {
        let members = self.change(|roster, _| {
            roster.aborts += 1;
            roster.members()
        });
        self.lock().wake_all();
        let abort = |member: Member| self.abort_server(member).boxed();
        self.ask_all(members, abort, |_, _| {}).await.verdict()
    }

    async fn abort_server(&self, member: Member) -> Result<(), Fault> {
        let asked = self.ask(&member, self.settings.control_timeout, member.server.abort_all()).await;
        if let Err(fault) = asked {
            tracing::debug!(error = %fault, "aborting the server's streams one by one");
            self.abort_streams(&member).await?;
        }
        Ok(())
    }

    /// Waits until that is so.
    async fn until(&self, is_so: impl Fn(&super::roster::Roster) -> bool) {
        loop {
            let settled = self.settled.notified();
            if self.read(&is_so) {
                return;
            }
            settled.await;
        }
    }
}

fn named(name: &str, fault: Fault) -> Fault {
    if fault.message.contains(name) {
        return fault;
    }
    Fault { message: format!("server {name}: {}", fault.message), ..fault }
}
