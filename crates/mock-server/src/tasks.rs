//! Tasks that are found by their questions.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use respool_core::Token;
use respool_llm_mock::{TaskLookup, TeacherTask};

use crate::TurnFinder;
use crate::turns::place_after;

/// How many tokens of a question its index has.
const INDEXED: usize = 8;

/// Tasks by the tokens of their questions: the teacher's memory where a rollout's name does not
/// come along.
///
/// The task of a prompt is the one whose question ends last in it, and among those the longest.
/// Turns are counted from there, so that few-shot turns before the question are none.
#[derive(Clone, Default)]
pub struct TaskBook {
    tasks: Arc<Tasks>,
}

/// A question and its task.
type Entry = (Box<[Token]>, TeacherTask);

#[derive(Default)]
struct Tasks {
    /// Questions by their first tokens, at most [`INDEXED`].
    by_start: HashMap<Box<[Token]>, Vec<Entry>>,
    /// The lengths of the keys.
    key_lengths: Vec<usize>,
}

impl TaskBook {
    /// Tasks with the tokens of their questions, as they stand in a prompt (the content of the
    /// task's last user message). Empty questions are never found.
    #[must_use]
    pub fn new(tasks: impl IntoIterator<Item = (Vec<Token>, TeacherTask)>) -> Self {
        let mut book = Tasks::default();
        for (question, task) in tasks {
            let key = &question[..question.len().min(INDEXED)];
            if key.is_empty() {
                continue;
            }
            if !book.key_lengths.contains(&key.len()) {
                book.key_lengths.push(key.len());
            }
            book.by_start.entry(key.into()).or_default().push((question.into(), task));
        }
        Self { tasks: Arc::new(book) }
    }

    /// Finds the task of a request by its prompt.
    #[must_use]
    pub fn lookup(&self) -> TaskLookup {
        let tasks = Arc::clone(&self.tasks);
        Arc::new(move |request| tasks.find(&request.prompt_ids).map(|(_, task)| task.clone()))
    }

    /// Counts the generation prompts after the question; all of them where no question is known.
    #[must_use]
    pub fn turns(&self, suffix: Vec<Token>) -> TurnFinder {
        let tasks = Arc::clone(&self.tasks);
        TurnFinder::new(move |prompt| {
            let from = tasks.find(prompt).map_or(0, |(end, _)| end);
            place_after(prompt, from, &suffix)
        })
    }
}

impl Tasks {
    /// The task whose question ends last in the prompt, and where it ends.
    fn find<'a>(&'a self, prompt: &'a [Token]) -> Option<(usize, &'a TeacherTask)> {
        (0..prompt.len())
            .flat_map(|at| self.starting(prompt, at))
            .max_by_key(|(end, length, _)| (*end, *length))
            .map(|(end, _, task)| (end, task))
    }

    /// The tasks whose questions stand at this offset: end, length, task.
    fn starting<'a>(
        &'a self,
        prompt: &'a [Token],
        at: usize,
    ) -> impl Iterator<Item = (usize, usize, &'a TeacherTask)> {
        let rest = &prompt[at..];
        self.key_lengths
            .iter()
            .filter_map(move |length| self.by_start.get(rest.get(..*length)?))
            .flatten()
            .filter(move |(question, _)| rest.starts_with(question))
            .map(move |(question, task)| (at + question.len(), question.len(), task))
    }
}

impl fmt::Debug for TaskBook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskBook").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
