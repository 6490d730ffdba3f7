//! What runs for a rollout, and what happened so far.

use std::{collections::BTreeSet, sync::Arc};

use respool_core::{EffectId, EffectKind, Event, Token};

use crate::{CutKind, cut::Places, policy::Answer, run::CallPlace, schedule::GenerationFault};

/// Everything that is lost when a rollout is cut.
#[derive(Debug, Default)]
pub(crate) struct Running {
    pub(crate) stream: Option<Stream>,
    pub(crate) tools: Vec<EffectId>,
    /// `once` calls that were recorded as started here, and so may be launched.
    pub(crate) started: BTreeSet<EffectId>,
    pub(crate) interaction: Option<EffectId>,
}

/// A generation that is being delivered.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) effect: EffectId,
    pub(crate) answer: Answer,
    pub(crate) sent: usize,
    pub(crate) stop: Arc<[Token]>,
    pub(crate) fault: Option<GenerationFault>,
}

/// What happened so far.
#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) steps: u32,
    pub(crate) version: u64,
    pub(crate) deltas: usize,
    pub(crate) was_empty: bool,
    pub(crate) picks: usize,
    pub(crate) launches: u32,
    pub(crate) interact_faults: u8,
    /// Accepted events, if some are to come again.
    pub(crate) events: Vec<Event>,
    pub(crate) launched: BTreeSet<(EffectKind, EffectId)>,
    pub(crate) returned: BTreeSet<CallPlace>,
    pub(crate) interrupted: BTreeSet<CallPlace>,
    pub(crate) cuts: Vec<(CutKind, bool)>,
    pub(crate) just_cut: bool,
    /// How many places of each kind there were.
    pub(crate) places: Places,
    /// Which cuts of the schedule happened.
    pub(crate) done: Vec<bool>,
}

impl Progress {
    pub(crate) fn new(cuts: usize) -> Self {
        Self {
            steps: 0,
            version: 1,
            deltas: 0,
            was_empty: false,
            picks: 0,
            launches: 0,
            interact_faults: 0,
            events: Vec::new(),
            launched: BTreeSet::new(),
            returned: BTreeSet::new(),
            interrupted: BTreeSet::new(),
            cuts: Vec::new(),
            just_cut: false,
            places: Places::default(),
            done: vec![false; cuts],
        }
    }
}
