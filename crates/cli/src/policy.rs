//! The embedded policies, for a dialect and its tools.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use respool_core::{GenerateRequest, RolloutId};
use respool_dialect::HfDialect;
use respool_llm_mock::{CallWriter, Encoder, Grammar, HashPolicy, Policy, TeacherPolicy, TeacherTask};
use respool_tools::Toolbox;

use crate::{
    config::{PolicyKind, PolicySection},
    setup::stop_token,
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

    fn get(&self, request: &GenerateRequest) -> Option<TeacherTask> {
        self.lock().get(&request.rollout).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RolloutId, TeacherTask>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The policy that a section asks for.
pub(crate) fn build(
    section: &PolicySection,
    dialect: &Arc<HfDialect>,
    tools: &Toolbox,
    solutions: &Arc<Solutions>,
) -> anyhow::Result<Arc<dyn Policy>> {
    let stop = stop_token(dialect)?;
    let (encode, write_call) = (encoder(dialect), call_writer());
    Ok(match section.kind {
        PolicyKind::Teacher => {
            let solutions = Arc::clone(solutions);
            Arc::new(TeacherPolicy {
                lookup: Arc::new(move |request| solutions.get(request)),
                encode,
                write_call,
                stop,
                error_rate: f64::from(section.error_rate.unwrap_or_default()),
            })
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
