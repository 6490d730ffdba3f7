//! The policy `teacher`: replays reference solutions.

use std::fmt;
use std::sync::Arc;

use respool_core::{Fault, GenerateRequest, Token};

use crate::hash::{fold, hash_text, mix, unit};
use crate::policy::{Cursor, Encoder, Plan, Policy, TurnWriter, split_turn};
use crate::script::ended;
use crate::solution::{Solution, with_wrong_answer};

/// The task of a request, as the teacher knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeacherTask {
    /// The worked solution: in GSM8K `extra_info.answer`.
    pub solution: Arc<str>,
    /// Whether there is a calculator to call.
    pub has_calculator: bool,
}

/// Finds the task of a request: by its rollout, or by its prompt.
pub type TaskLookup = Arc<dyn Fn(&GenerateRequest) -> Option<TeacherTask> + Send + Sync>;

/// Solves tasks by replaying their reference solutions.
///
/// Each `<<expression=value>>` mark of a solution is a turn: the text that leads up to it, and a
/// call of the tool `calculator` with `{"expression": "…"}`. The last turn says the rest, which
/// ends with `#### value`. Without a calculator everything is one turn, without the marks. A
/// turn after the last one (an interaction asked again) says the end once more.
#[derive(Clone)]
pub struct TeacherPolicy {
    /// Finds the task of a request.
    pub lookup: TaskLookup,
    /// Encodes turns.
    pub encode: Encoder,
    /// Writes turns.
    pub write: TurnWriter,
    /// Ends turns.
    pub stop: Token,
    /// The share of final answers that are wrong, from 0 to 1: which ones is a function of seed,
    /// task and turn.
    pub error_rate: f64,
}

/// The name of the tool that it calls.
const CALCULATOR: &str = "calculator";

impl TeacherPolicy {
    fn turn_text(&self, task: &TeacherTask, request: &GenerateRequest) -> Option<String> {
        let solution = Solution::read(&task.solution);
        if !task.has_calculator {
            return (self.write)(&self.graded(&solution.plain(), task, request), &[]);
        }
        match solution.steps.get(request.effect.turn as usize) {
            Some(step) => {
                let arguments = serde_json::json!({ "expression": step.expression }).to_string();
                (self.write)(step.text.trim(), &[(CALCULATOR, &arguments)])
            }
            None => (self.write)(&self.graded(solution.rest, task, request), &[]),
        }
    }

    /// The end of a solution, with a wrong answer as often as it should be.
    fn graded(&self, end: &str, task: &TeacherTask, request: &GenerateRequest) -> String {
        let key = mix(fold(hash_text(request.seed, &task.solution), u64::from(request.effect.turn)));
        if unit(key) < self.error_rate {
            with_wrong_answer(end.trim(), (mix(key) % 9) as usize)
        } else {
            end.trim().to_owned()
        }
    }
}

impl Policy for TeacherPolicy {
    fn start(&self, request: &GenerateRequest) -> Result<Box<dyn Cursor>, Fault> {
        let task = (self.lookup)(request).ok_or_else(|| {
            Fault::terminal(format!(
                "policy teacher: no solution is known for rollout {}; it replays `extra_info.answer` of the \
                 task, use another policy for tasks without one",
                request.rollout
            ))
        })?;
        let text = self.turn_text(&task, request).ok_or_else(|| {
            Fault::terminal(format!(
                "policy teacher: turn {} of rollout {} cannot be written in the model's tool-call format; use \
                 another policy for this task",
                request.effect.turn, request.rollout
            ))
        })?;
        let turn = ended((self.encode)(&text), self.stop);
        let (_, sampled) = split_turn(request);
        Ok(Plan::cursor(turn, sampled.len(), self.stop, request))
    }
}

impl fmt::Debug for TeacherPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TeacherPolicy")
            .field("stop", &self.stop)
            .field("error_rate", &self.error_rate)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
