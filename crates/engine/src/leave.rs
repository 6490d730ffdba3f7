//! Interrupt, resume and cancel (DESIGN section 6).

use respool_core::{AgentState, Finish, MarkKind, SlotProgress};

use crate::{Engine, engine::Fits};

const OVER: &str = "the rollout is over";

impl Engine {
    /// The rollout is left where it is.
    pub(crate) fn on_interrupt(&mut self) -> Fits {
        self.check_alive()?;
        self.mark(MarkKind::Cut);
        self.fence();
        Ok(())
    }

    /// The rollout goes on with nothing running. After a crash no interrupt came first: what was
    /// running then is fenced now.
    pub(crate) fn on_resume(&mut self) -> Fits {
        self.check_alive()?;
        let was_cut = self.data.marks.last().is_some_and(|mark| mark.kind == MarkKind::Cut);
        self.mark(MarkKind::Resumed);
        if !was_cut {
            self.fence();
        }
        Ok(())
    }

    /// The rollout ends for good: open calls get the result "cancelled".
    pub(crate) fn on_cancel(&mut self) -> Fits {
        self.check_alive()?;
        self.close_open_work();
        self.terminate(Finish::Cancelled);
        Ok(())
    }

    fn check_alive(&self) -> Fits {
        if matches!(self.state, AgentState::Terminated(_)) { Err(OVER) } else { Ok(()) }
    }

    /// Nothing that was running may answer any more: attempts go up, so that late replies are
    /// stale, and a generation is left as after an abort.
    fn fence(&mut self) {
        match &mut self.state {
            AgentState::Generating { .. } => self.leave_generation(),
            AgentState::ProcessingTools { slots } => {
                for slot in slots {
                    if let SlotProgress::Ready { attempt } = &mut slot.progress {
                        *attempt += 1;
                    }
                }
            }
            AgentState::Interacting { attempt, reply: None, .. } => *attempt += 1,
            AgentState::Pending
            | AgentState::Interacting { reply: Some(_), .. }
            | AgentState::Terminated(_) => {}
        }
    }
}
