//! The embedded policies, for a dialect and its tools.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use respool_core::{Dialect as _, GenerateRequest, JsonText, RolloutId, ToolCall};
use respool_dialect::HfDialect;
use respool_llm_mock::{
    Encoder, Grammar, HashPolicy, Policy, TaskLookup, TeacherPolicy, TeacherTask, TurnWriter,
};
use respool_tools::Toolbox;

use crate::{
    config::{PolicyKind, PolicySection},
    dialect::stop_token,
};

/// The reference solutions of the rollouts that are running.
#[derive(Debug, Default)]
pub(crate) struct Solutions(Mutex<HashMap<RolloutId, TeacherTask>>);

impl Solutions {
    pub(crate) fn insert(&self, rollout: RolloutId, task: TeacherTask) {
        self.lock().insert(rollout, task);
    }

    pub(crate) fn remove(&self, rollout: RolloutId) {
        self.lock().remove(&rollout);
    }

    /// Finds the task of a request by its rollout.
    pub(crate) fn lookup(self: &Arc<Self>) -> TaskLookup {
        let solutions = Arc::clone(self);
        Arc::new(move |request: &GenerateRequest| solutions.lock().get(&request.rollout).cloned())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RolloutId, TeacherTask>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The policy that a section asks for; the teacher finds tasks with `lookup`.
pub(crate) fn build(
    section: &PolicySection,
    dialect: &Arc<HfDialect>,
    tools: &Toolbox,
    lookup: TaskLookup,
) -> anyhow::Result<Arc<dyn Policy>> {
    let stop = stop_token(dialect)?;
    let (encode, write) = (encoder(dialect), turn_writer(dialect, tools));
    Ok(match section.kind {
        PolicyKind::Teacher => {
            let error_rate = f64::from(section.error_rate.unwrap_or_default());
            let write = outside_reasoning(dialect, write)?;
            Arc::new(TeacherPolicy { lookup, encode, write, stop, error_rate })
        }
        PolicyKind::Hash => {
            let specs = tools.specs();
            let names: Vec<_> = specs.iter().map(|tool| tool.name.as_str()).collect();
            let mut grammar = Grammar::new(&names, &write);
            grammar.reasoning =
                dialect.tool_format().reasoning().map(|markers| markers.map(str::to_owned).into());
            Arc::new(HashPolicy::new(grammar, &encode, stop))
        }
    })
}

fn encoder(dialect: &Arc<HfDialect>) -> Encoder {
    let dialect = Arc::clone(dialect);
    Arc::new(move |text| {
        dialect.encode_text(text).unwrap_or_else(|error| {
            tracing::error!(%error, "the policy says nothing where it cannot be tokenized");
            Vec::new()
        })
    })
}

/// Turns in the dialect's own format. Where calls must stand alone, the words before them are left out.
fn turn_writer(dialect: &Arc<HfDialect>, tools: &Toolbox) -> TurnWriter {
    let (dialect, tools) = (Arc::clone(dialect), Arc::from(tools.specs()));
    Arc::new(move |said, calls| {
        let calls: Option<Vec<_>> = (0..).zip(calls).map(|(slot, call)| tool_call(slot, *call)).collect();
        let calls = calls?;
        let alone = || dialect.write_turn("", &calls, &tools).ok().filter(|_| !calls.is_empty());
        dialect.write_turn(said, &calls, &tools).ok().or_else(alone)
    })
}

/// Where the prompt has opened a reasoning block, a turn first has to close it.
fn outside_reasoning(dialect: &HfDialect, write: TurnWriter) -> anyhow::Result<TurnWriter> {
    let prompt = dialect.decode(&dialect.generation_prompt()?);
    let close = dialect.tool_format().reasoning();
    let close = close.filter(|[open, _]| prompt.trim_end().ends_with(open)).map(|[_, close]| close);
    Ok(match close {
        Some(close) => Arc::new(move |said, calls| Some(format!("{close}\n\n{}", write(said, calls)?))),
        None => write,
    })
}

fn tool_call(slot: u32, (name, arguments): (&str, &str)) -> Option<ToolCall> {
    let arguments = JsonText::new(arguments).ok()?;
    Some(ToolCall { id: String::new(), slot, name: name.to_owned(), arguments })
}
