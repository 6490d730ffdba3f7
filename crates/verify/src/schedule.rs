//! When what happens to a rollout: everything that must not change its outcome.

use std::fmt;

use proptest::{collection::vec, prelude::*, sample::select};

use crate::{Cut, CutKind};

/// The most generation faults of a schedule, and the most of its interaction. Scripts allow at
/// least one attempt more, because a rollout that has used up its attempts rightly differs.
pub(crate) const MOST_FAULTS: u32 = 3;

/// A delta of everything that is left.
pub const WHOLE: u8 = u8::MAX;

/// When what happens to a rollout. `Default` is the uncut run: whole deltas, results in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Sizes of deltas in tokens, again and again; none means whole turns.
    pub deltas: Vec<u8>,
    /// By how much the policy version rises before each delta, again and again.
    pub bumps: Vec<u8>,
    /// Which of the running calls returns next, again and again; none means the first.
    pub order: Vec<u8>,
    /// Where the rollout is cut; each once.
    pub cuts: Vec<Cut>,
    /// Generations that break.
    pub faults: Vec<GenerationFault>,
    /// How often the interaction fails before it replies the first time.
    pub interact_faults: u8,
    /// Events that do not belong.
    pub noise: Vec<Noise>,
    /// How many tokens servers send beyond a budget that is used up (R2).
    pub surplus: u8,
}

/// A generation that breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenerationFault {
    /// Which launch of the rollout, from 0.
    pub launch: u8,
    /// After how many tokens.
    pub after: u8,
    /// How.
    pub kind: FaultKind,
}

/// How a generation breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The server is gone.
    Transient,
    /// The server has too much to do.
    Overloaded,
    /// The server aborts what nobody asked it to abort.
    Abort,
}

/// An event that does not belong, or that changes labels only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noise {
    /// Before which step.
    pub step: u8,
    /// What.
    pub kind: NoiseKind,
}

/// What kind of event that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseKind {
    /// The event that was accepted so many events ago, once more.
    Again(u8),
    /// Version labels for the attempt of that index.
    Labels(u8),
}

/// Any schedule.
pub fn schedule() -> impl Strategy<Value = Schedule> {
    let size = prop_oneof![8 => 1..6u8, 1 => Just(0u8), 1 => Just(WHOLE)];
    let bump = prop_oneof![4 => Just(0u8), 1 => 1..3u8];
    (
        (vec(size, 0..6), vec(bump, 0..4), vec(any::<u8>(), 0..5)),
        vec(cut(), 0..5),
        vec(generation_fault(), 0..=MOST_FAULTS as usize),
        0..=MOST_FAULTS as u8,
        vec(noise(), 0..4),
        prop_oneof![3 => Just(0u8), 1 => 1..4u8],
    )
        .prop_map(|((deltas, bumps, order), cuts, faults, interact_faults, noise, surplus)| Schedule {
            deltas,
            bumps,
            order,
            cuts,
            faults,
            interact_faults,
            noise,
            surplus,
        })
}

fn cut() -> impl Strategy<Value = Cut> {
    let place = prop_oneof![
        1 => (Just(CutKind::Anywhere), 0..120u16),
        4 => (select(&CutKind::ALL[..]), 0..3u16),
    ];
    (place, any::<bool>(), any::<bool>(), prop::bool::weighted(0.2), 0..3u8, any::<bool>()).prop_map(
        |((kind, nth), announced, through_bytes, twice, bump, late_answers)| Cut {
            kind,
            nth,
            announced,
            through_bytes,
            twice,
            bump,
            late_answers,
        },
    )
}

fn generation_fault() -> impl Strategy<Value = GenerationFault> {
    let kind = select(vec![FaultKind::Transient, FaultKind::Overloaded, FaultKind::Abort]);
    (0..6u8, 0..12u8, kind).prop_map(|(launch, after, kind)| GenerationFault { launch, after, kind })
}

fn noise() -> impl Strategy<Value = Noise> {
    let kind = prop_oneof![
        2 => any::<u8>().prop_map(NoiseKind::Again),
        1 => (0..6u8).prop_map(NoiseKind::Labels),
    ];
    (0..80u8, kind).prop_map(|(step, kind)| Noise { step, kind })
}

impl Schedule {
    pub(crate) fn repeats_events(&self) -> bool {
        self.noise.iter().any(|noise| matches!(noise.kind, NoiseKind::Again(_)))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::default() {
            return f.write_str("uncut, in order\n");
        }
        self.cuts.iter().try_for_each(|cut| writeln!(f, "{cut}"))?;
        for GenerationFault { launch, after, kind } in &self.faults {
            writeln!(f, "generation {launch} breaks after {after} tokens ({kind:?})")?;
        }
        for Noise { step, kind } in &self.noise {
            match kind {
                NoiseKind::Again(back) => writeln!(f, "before step {step} event {back} back comes again")?,
                NoiseKind::Labels(attempt) => {
                    writeln!(f, "before step {step} new labels for attempt {attempt}")?;
                }
            }
        }
        if !self.deltas.is_empty() {
            writeln!(f, "deltas of {:?} tokens ({WHOLE}: all)", self.deltas)?;
        }
        if self.bumps.iter().any(|bump| *bump > 0) {
            writeln!(f, "the version rises by {:?} before deltas", self.bumps)?;
        }
        if self.order.iter().any(|pick| *pick > 0) {
            writeln!(f, "calls return in the order of {:?}", self.order)?;
        }
        if self.interact_faults > 0 {
            writeln!(f, "the interaction fails {} times", self.interact_faults)?;
        }
        if self.surplus > 0 {
            writeln!(f, "servers send {} tokens too many", self.surplus)?;
        }
        Ok(())
    }
}
