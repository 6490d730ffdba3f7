//! The embedded policies, for a dialect and its tools.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use respool_core::{GenerateRequest, RolloutId};
use respool_dialect::HfDialect;
use respool_llm_mock::{
    CallWriter, Encoder, Grammar, HashPolicy, Policy, TaskLookup, TeacherPolicy, TeacherTask,
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
    let (encode, write_call) = (encoder(dialect), call_writer());
    Ok(match section.kind {
        PolicyKind::Teacher => {
            let error_rate = f64::from(section.error_rate.unwrap_or_default());
            Arc::new(TeacherPolicy { lookup, encode, write_call, stop, error_rate })
        }
        PolicyKind::Hash => {
            let specs = tools.specs();
            let names: Vec<_> = specs.iter().map(|tool| tool.name.as_str()).collect();
            Arc::new(HashPolicy::new(Grammar::new(&names, &write_call), &encode, stop))
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

/// Hermes, the format that the built-in dialect reads.
fn call_writer() -> CallWriter {
    Arc::new(|name, arguments| {
        let name = serde_json::Value::from(name);
        format!("<tool_call>\n{{\"name\": {name}, \"arguments\": {arguments}}}\n</tool_call>")
    })
}
