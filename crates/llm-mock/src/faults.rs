//! What goes wrong at a mock server, and when.

use std::time::Duration;

use respool_core::GenerateRequest;

use crate::hash::{Draw, fold, mix};

/// Something that goes wrong with one request. It changes when tokens come and whether the stream
/// breaks, never which tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerFault {
    /// The first token takes so much longer.
    Latency(Duration),
    /// After so many tokens nothing comes any more, until the request is aborted.
    Stall {
        /// Tokens before it.
        after: u32,
    },
    /// After so many tokens the server aborts the request, unasked.
    Abort {
        /// Tokens before it.
        after: u32,
    },
    /// After so many tokens the stream is over, without an end.
    Disconnect {
        /// Tokens before it.
        after: u32,
    },
    /// The request is refused because there is too much to do.
    Overload {
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
}

/// How many requests meet each fault: shares from 0 to 1, together at most 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultRates {
    /// [`ServerFault::Latency`], up to [`FaultScript::LONGEST_LATENCY`].
    pub latency: f64,
    /// [`ServerFault::Stall`].
    pub stall: f64,
    /// [`ServerFault::Abort`].
    pub abort: f64,
    /// [`ServerFault::Disconnect`].
    pub disconnect: f64,
    /// [`ServerFault::Overload`], half of them with a wish how long to wait.
    pub overload: f64,
}

/// Which requests meet which fault.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultScript {
    /// By the index of the request among its rollout's.
    scripted: Vec<(u32, ServerFault)>,
    random: Option<(u64, FaultRates)>,
}

impl FaultScript {
    /// The longest latency that is drawn at random.
    pub const LONGEST_LATENCY: Duration = Duration::from_secs(1);
    /// Random faults come before so many tokens.
    const RANDOM_TOKENS: usize = 64;

    /// Nothing goes wrong.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Every rollout's request with this index (from 0) meets this fault.
    #[must_use]
    pub fn at(mut self, request: u32, fault: ServerFault) -> Self {
        self.scripted.push((request, fault));
        self
    }

    /// Requests meet faults at random. A seed, rollout, turn and attempt decide.
    #[must_use]
    pub fn random(mut self, seed: u64, rates: FaultRates) -> Self {
        self.random = Some((seed, rates));
        self
    }

    /// Whether [`Self::fault`] needs to know the index of a request.
    pub(crate) fn counts_requests(&self) -> bool {
        !self.scripted.is_empty()
    }

    /// What goes wrong with the request that is its rollout's `index`-th.
    pub(crate) fn fault(&self, request: &GenerateRequest, index: u32) -> Option<ServerFault> {
        let scripted = self.scripted.iter().find(|(at, _)| *at == index).map(|(_, fault)| *fault);
        scripted.or_else(|| self.random.and_then(|(seed, rates)| rates.draw(&mut draw(seed, request))))
    }
}

fn draw(seed: u64, request: &GenerateRequest) -> Draw {
    let rollout = request.rollout.0;
    let parts = [
        rollout as u64,
        (rollout >> 64) as u64,
        u64::from(request.effect.turn),
        u64::from(request.effect.attempt),
    ];
    Draw::new(mix(parts.into_iter().fold(mix(seed), fold)))
}

impl FaultRates {
    fn draw(&self, draw: &mut Draw) -> Option<ServerFault> {
        let chance = draw.unit();
        let after = draw.below(FaultScript::RANDOM_TOKENS) as u32;
        let share = draw.unit();
        let retry_after = draw.percent(50).then(|| FaultScript::LONGEST_LATENCY.mul_f64(share));
        let faults = [
            (self.latency, ServerFault::Latency(FaultScript::LONGEST_LATENCY.mul_f64(share))),
            (self.stall, ServerFault::Stall { after }),
            (self.abort, ServerFault::Abort { after }),
            (self.disconnect, ServerFault::Disconnect { after }),
            (self.overload, ServerFault::Overload { retry_after }),
        ];
        let mut passed = 0.0;
        faults.into_iter().find_map(|(rate, fault)| {
            passed += rate;
            (chance < passed).then_some(fault)
        })
    }
}

#[cfg(test)]
mod tests;
