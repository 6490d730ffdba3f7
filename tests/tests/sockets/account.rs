//! Conservation: what the servers sent = what trajectories keep + what was counted as wasted + what
//! nobody could count, for which the log of the attempt has a reason.

use std::collections::{BTreeMap, HashMap};

use respool_core::{EffectId, GenerateFinish, RolloutId};
use respool_mock_server::{HttpFault, WireEnd, WireRecord};

use crate::cut::{Told, sampled_tokens};
use crate::fleet::Flavour;
use crate::ledger::{Call, End};

/// One call, with what the server logged for it.
pub(crate) struct Joined {
    pub(crate) flavour: Flavour,
    pub(crate) call: Call,
    /// More than one where a request was sent again because the server was paused.
    pub(crate) records: Vec<WireRecord>,
}

impl Joined {
    pub(crate) fn sent(&self) -> u32 {
        self.records.iter().map(|record| record.sent).sum()
    }

    /// The record of the request that was answered with tokens.
    pub(crate) fn record(&self) -> Option<&WireRecord> {
        self.records.iter().find(|record| record.sent > 0)
    }
}

/// The calls whose tokens a record can hold: the last one of each name. A crash that lost the record
/// of a call gives its name to another one.
pub(crate) struct Names(HashMap<(RolloutId, EffectId), usize>);

impl Names {
    pub(crate) fn new(joined: &[Joined]) -> Self {
        let names = joined.iter().enumerate();
        Self(names.map(|(index, joined)| ((joined.call.rollout, joined.call.effect), index)).collect())
    }

    pub(crate) fn find(&self, rollout: RolloutId, effect: EffectId) -> Option<usize> {
        self.0.get(&(rollout, effect)).copied()
    }
}

/// Where the tokens went.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) sent: u64,
    pub(crate) kept: u64,
    /// By reason, as the client side counted.
    pub(crate) wasted: BTreeMap<String, u64>,
    /// Tokens of records that crashes lost.
    pub(crate) crashed: i64,
    /// Sent and never given out, by what the log and the client say of the attempt.
    pub(crate) unread: BTreeMap<String, u64>,
}

impl Account {
    /// Balances the books.
    ///
    /// # Errors
    /// What does not add up.
    pub(crate) fn new(
        joined: &[Joined],
        told: &[Told],
        wasted: BTreeMap<String, u64>,
    ) -> Result<Self, String> {
        let kept = told.iter().map(|told| sampled_tokens(&told.trajectory.data)).sum();
        let crashed = told.iter().map(|told| told.lost).sum();
        let mut account = Self { kept, wasted, crashed, ..Self::default() };
        let mut given = 0;
        for one in joined {
            given += u64::from(one.call.given);
            account.add(one)?;
        }
        let counted = account.kept + account.wasted_by_driver();
        if given as i64 != counted as i64 + account.crashed {
            return Err(format!("the client gave out {given} tokens: {account:?}"));
        }
        check_attempts(joined, told)?;
        Ok(account)
    }

    fn wasted_by_driver(&self) -> u64 {
        let reasons = ["after_end", "restarted", "late"];
        reasons.iter().filter_map(|reason| self.wasted.get(*reason)).sum()
    }

    fn add(&mut self, one: &Joined) -> Result<(), String> {
        let (sent, given) = (one.sent(), one.call.given);
        self.sent += u64::from(sent);
        let Some(unread) = sent.checked_sub(given) else {
            return Err(format!(
                "the server sent {sent} tokens, {given} were given out: {:?}, {:?}",
                one.call, one.records
            ));
        };
        if unread > 0 {
            let reason = why_unread(one)
                .ok_or_else(|| format!("{unread} tokens were not read: {:?}, {:?}", one.call, one.records))?;
            *self.unread.entry(reason).or_default() += u64::from(unread);
        }
        Ok(())
    }
}

/// How tokens that were sent can fail to come out of the client. An end that the server said and the
/// client heard is none of them.
fn why_unread(one: &Joined) -> Option<String> {
    let WireRecord { end, fault, .. } = one.record()?;
    let is_unreadable = matches!(
        fault,
        Some(HttpFault::WrongIds { .. } | HttpFault::ExtraLogprob { .. } | HttpFault::RepeatLast)
    );
    match (&one.call.end, end) {
        (End::Dropped, _) => Some("stream dropped".to_owned()),
        (End::Failed(kind), WireEnd::Death | WireEnd::Fault) => Some(format!("{kind} ({end:?})")),
        (End::Failed(kind), _) if is_unreadable => Some(format!("{kind} (event not readable)")),
        (End::Failed(kind), WireEnd::Disconnect) => Some(format!("{kind} ({end:?})")),
        (End::Ended(GenerateFinish::Abort), WireEnd::Death | WireEnd::Fault | WireEnd::Disconnect) => {
            Some(format!("aborted ({end:?})"))
        }
        (End::Ended(GenerateFinish::Abort), _) if is_unreadable => {
            Some("aborted (event not readable)".to_owned())
        }
        (End::Ended(_) | End::Failed(_), _) => None,
    }
}

/// No record holds more of an attempt than was given out for it.
fn check_attempts(joined: &[Joined], told: &[Told]) -> Result<(), String> {
    let names = Names::new(joined);
    for told in told {
        let data = &told.trajectory.data;
        for span in &data.attempts {
            let call = names.find(data.spec.id, span.effect).map(|index| &joined[index].call);
            if call.is_none_or(|call| call.given < span.len) {
                return Err(format!("rollout {} holds {span:?}, given out was {call:?}", data.spec.id));
            }
        }
    }
    Ok(())
}

impl std::fmt::Display for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "tokens sent {}, kept {}", self.sent, self.kept)?;
        self.wasted.iter().try_for_each(|(reason, tokens)| writeln!(f, "  wasted, {reason}: {tokens}"))?;
        writeln!(f, "  lost with records by crashes: {}", self.crashed)?;
        self.unread.iter().try_for_each(|(reason, tokens)| writeln!(f, "  not read, {reason}: {tokens}"))
    }
}
