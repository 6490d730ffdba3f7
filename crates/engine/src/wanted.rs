//! What a rollout wants from the outside world: a pure function of its state.

use std::sync::Arc;

use respool_core::{
    AgentState, EffectId, EffectKind, GenerateRequest, InteractRequest, Sampling, SlotProgress, Token,
    ToolCall, ToolRequest, ToolSlot,
};

use crate::{Engine, budget::budget};

/// Everything that the present state waits for. Copies no transcript.
#[derive(Debug)]
pub enum Wanted<'a> {
    /// Nothing: the rollout is over.
    Nothing,
    /// Messages are to be rendered and tokenized: [`Engine::encode`] does it.
    Encode {
        /// Names it.
        effect: EffectId,
    },
    /// A turn, or the rest of one, is to be sampled.
    Generate(GenerateWanted<'a>),
    /// Calls are to be run. Slots that have returned want nothing; a `once` slot that is
    /// `Started` and not running is to be answered with `ToolInterrupted`.
    Tools {
        /// The turn that made the calls.
        turn: u32,
        /// All slots of the turn.
        slots: &'a [ToolSlot],
    },
    /// The interaction is to be asked.
    Interact(InteractWanted<'a>),
}

/// A generation that is wanted.
#[derive(Debug)]
pub struct GenerateWanted<'a> {
    /// Names it.
    pub effect: EffectId,
    /// All tokens so far.
    pub prompt: &'a [Token],
    /// How many of them were sampled in this turn.
    pub turn_tokens: u32,
    /// R2; 0 only while the stream that used it up has not ended yet.
    pub max_tokens: u32,
    engine: &'a Engine,
}

/// An interaction that is wanted.
#[derive(Debug)]
pub struct InteractWanted<'a> {
    /// Names it.
    pub effect: EffectId,
    engine: &'a Engine,
}

impl GenerateWanted<'_> {
    /// The request to send; this copies the prompt.
    #[must_use]
    pub fn request(&self) -> GenerateRequest {
        GenerateRequest {
            rollout: self.engine.data.spec.id,
            effect: self.effect,
            prompt_ids: self.prompt.to_vec(),
            turn_tokens: self.turn_tokens,
            max_tokens: self.max_tokens,
            stop_token_ids: Arc::clone(&self.engine.stop_tokens),
            sampling: Arc::<Sampling>::clone(&self.engine.sampling),
            seed: self.engine.data.spec.seed,
        }
    }
}

impl InteractWanted<'_> {
    /// The request to send; `None` if the task has no interaction, which its state excludes.
    #[must_use]
    pub fn request(&self) -> Option<InteractRequest> {
        let data = &self.engine.data;
        Some(InteractRequest {
            rollout: data.spec.id,
            effect: self.effect,
            interaction: data.spec.interaction.clone()?,
            messages: data.messages.clone(),
            user_turns: data.user_turns,
            seed: data.spec.seed,
        })
    }
}

impl Engine {
    /// What the outside world has to do now. A pure function of the state.
    #[must_use]
    pub fn wanted(&self) -> Wanted<'_> {
        match &self.state {
            AgentState::Pending => Wanted::Encode { effect: self.encode_effect() },
            AgentState::Generating { attempt, turn_start, .. } => Wanted::Generate(GenerateWanted {
                effect: self.effect(*attempt),
                prompt: self.data.transcript.tokens(),
                turn_tokens: self.data.transcript.len() - turn_start,
                max_tokens: budget(&self.data, *turn_start).left,
                engine: self,
            }),
            AgentState::ProcessingTools { slots } if slots.iter().all(ToolSlot::has_returned) => {
                Wanted::Encode { effect: self.encode_effect() }
            }
            AgentState::ProcessingTools { slots } => Wanted::Tools { turn: self.turn(), slots },
            AgentState::Interacting { attempt, reply: None, .. } => {
                Wanted::Interact(InteractWanted { effect: self.effect(*attempt), engine: self })
            }
            AgentState::Interacting { reply: Some(_), .. } => Wanted::Encode { effect: self.encode_effect() },
            AgentState::Terminated(_) => Wanted::Nothing,
        }
    }

    /// The request for a call that is wanted; `None` if that effect is not.
    #[must_use]
    pub fn tool_request(&self, effect: EffectId) -> Option<ToolRequest> {
        let AgentState::ProcessingTools { slots } = &self.state else { return None };
        let slot = slots.iter().find(|slot| slot.effect(self.turn()) == Some(effect))?;
        let spec = &self.data.spec;
        Some(ToolRequest {
            rollout: spec.id,
            effect,
            call: slot.call.clone(),
            create_kwargs: spec
                .tools_kwargs
                .get(&slot.call.name)
                .cloned()
                .unwrap_or_else(respool_core::JsonText::empty_object),
            session: spec.tool(&slot.call.name).map(|tool| tool.session).unwrap_or_default(),
            history: self.history(&slot.call.name, slots),
        })
    }

    /// Earlier calls to that tool that ran: those of earlier turns, then those of this turn that
    /// have returned.
    fn history(&self, name: &str, slots: &[ToolSlot]) -> Vec<ToolCall> {
        let ran = self.data.calls.iter().filter(|call| call.ran && call.name == name);
        let ran: std::collections::BTreeSet<_> = ran.map(|call| (call.turn, call.slot)).collect();
        let sampled = self.data.messages.iter().skip(self.data.spec.messages.len());
        let turns = sampled.filter(|message| message.role == respool_core::Role::Assistant);
        let mut history = Vec::new();
        for (turn, message) in (0..).zip(turns) {
            let calls = message.tool_calls.iter().filter(|call| ran.contains(&(turn, call.slot)));
            history.extend(calls.cloned());
        }
        let returned = slots.iter().filter(|slot| slot.runs && slot.has_returned() && slot.call.name == name);
        history.extend(returned.map(|slot| slot.call.clone()));
        history
    }
}

impl Wanted<'_> {
    /// The names of everything that is wanted or, for `once` calls, running.
    pub fn effects(&self) -> impl Iterator<Item = (EffectKind, EffectId)> + '_ {
        let one = match self {
            Self::Nothing | Self::Tools { .. } => None,
            Self::Encode { effect } => Some((EffectKind::Encode, *effect)),
            Self::Generate(wanted) => Some((EffectKind::Generate, wanted.effect)),
            Self::Interact(wanted) => Some((EffectKind::Interact, wanted.effect)),
        };
        let (turn, slots) = match self {
            Self::Tools { turn, slots } => (*turn, *slots),
            Self::Nothing | Self::Encode { .. } | Self::Generate(_) | Self::Interact(_) => (0, &[][..]),
        };
        let tools =
            slots.iter().filter_map(move |slot| slot.effect(turn)).map(|effect| (EffectKind::Tool, effect));
        one.into_iter().chain(tools)
    }
}

impl Engine {
    /// Whether a call is on record as started.
    #[must_use]
    pub fn is_started(&self, effect: EffectId) -> bool {
        let AgentState::ProcessingTools { slots } = &self.state else { return false };
        slots.iter().any(|slot| {
            slot.effect(self.turn()) == Some(effect) && matches!(slot.progress, SlotProgress::Started { .. })
        })
    }
}
