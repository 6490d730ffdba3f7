//! Tasks become rollouts that can start, or rows that cannot.

use std::sync::Arc;

use respool_core::{InteractionSpec, JsonText, Limits, LoopKind, RolloutId, RolloutSpec, ToolSpec};
use respool_llm_mock::TeacherTask;
use respool_registry::{default_loop, loop_kind};

use crate::{
    names::Key,
    plan::Plan,
    setup::Setup,
    tasks::{BadRow, Ignored, Row, Task, TaskFile},
};

/// A task that can run: the part that all its samples share.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Line of its row.
    pub(crate) line: u64,
    run_seed: u64,
    spec: RolloutSpec,
    solution: Option<TeacherTask>,
}

impl Prepared {
    pub(crate) fn key(&self, sample: u32) -> Key {
        Key { task_id: self.spec.task_id.clone(), sample }
    }

    /// The rollout of one sample.
    pub(crate) fn spec(&self, sample: u32) -> Arc<RolloutSpec> {
        let key = self.key(sample);
        Arc::new(RolloutSpec {
            id: key.rollout(self.run_seed),
            seed: key.seed(self.run_seed),
            sample_index: sample,
            ..self.spec.clone()
        })
    }

    /// What the teacher knows of it.
    pub(crate) fn solution(&self) -> Option<TeacherTask> {
        self.solution.clone()
    }
}

/// Every task of a file, in its order. What cannot run joins the file's bad rows.
pub(crate) fn prepare(file: &mut TaskFile, plan: &Plan, setup: &Setup) -> anyhow::Result<Vec<Arc<Prepared>>> {
    let template = Template::new(plan, setup)?;
    let mut prepared = Vec::with_capacity(file.tasks.len());
    for task in std::mem::take(&mut file.tasks) {
        match template.prepare(task, &mut file.ignored) {
            Ok(task) => prepared.push(Arc::new(task)),
            Err(bad) => file.bad.push(bad),
        }
    }
    Ok(prepared)
}

struct Template<'a> {
    plan: &'a Plan,
    loops: Vec<String>,
    tools: Vec<ToolSpec>,
    default_loop: String,
    template_args: JsonText,
    limits: Limits,
}

impl<'a> Template<'a> {
    fn new(plan: &'a Plan, setup: &Setup) -> anyhow::Result<Self> {
        let config = &plan.config;
        let (tools, loops) = (setup.tools.specs(), setup.registry.names());
        let own = default_loop(!tools.is_empty() || !config.interaction.is_empty()).to_owned();
        let default_loop = config.run.default_agent_loop.clone().unwrap_or(own);
        if !loops.contains(&default_loop) {
            let known = loops.join(", ");
            anyhow::bail!("run.default_agent_loop: no agent loop {default_loop:?}, expected one of: {known}");
        }
        let mut limits = config.limits.resolve();
        let contexts = [limits.context_length, setup.context_length];
        limits.context_length = contexts.into_iter().flatten().min();
        let template_args = serde_json::to_string(&config.model.apply_chat_template_kwargs)?;
        Ok(Self { plan, loops, tools, default_loop, template_args: JsonText::new(template_args)?, limits })
    }

    fn prepare(&self, task: Task, ignored: &mut Ignored) -> Result<Prepared, BadRow> {
        let Task { id, line, mut row } = task;
        let bad = |field: &str, reason| {
            let field = Some(field.to_owned());
            BadRow { task_id: Some(id.clone()), line, field, reason }
        };
        let agent_name = self.agent_name(&row).map_err(|reason| bad("agent_name", reason))?;
        let interaction = self.interaction(&row, line, ignored);
        let interaction = interaction.map_err(|reason| bad("extra_info.interaction_kwargs.name", reason))?;
        self.drop_unknown_tools(&mut row, line, ignored);
        let (config, kind) = (&self.plan.config, loop_kind(&agent_name));
        let has_calculator =
            kind == LoopKind::Tools && self.tools.iter().any(|tool| tool.name == "calculator");
        let solution = row.answer.map(|text| TeacherTask { solution: text.into(), has_calculator });
        let spec = RolloutSpec {
            agent_name,
            kind,
            tools: self.tools.clone(),
            tools_kwargs: row.tools_kwargs,
            interaction,
            template_args: self.template_args.clone(),
            sampling: row.sampling.over(&config.sampling),
            limits: self.limits.clone(),
            options: config.options.resolve(&config.compat),
            data_source: row.data_source,
            ground_truth: row.ground_truth,
            extra_info: row.extra_info,
            ..RolloutSpec::new(RolloutId(0), id, row.messages)
        };
        Ok(Prepared { line, run_seed: self.plan.seed(), spec, solution })
    }

    fn agent_name(&self, row: &Row) -> Result<String, String> {
        let name = row.agent_name.as_ref().unwrap_or(&self.default_loop);
        if self.loops.contains(name) {
            return Ok(name.clone());
        }
        Err(format!("no agent loop {name:?}, expected one of: {}", self.loops.join(", ")))
    }

    fn drop_unknown_tools(&self, row: &mut Row, line: u64, ignored: &mut Ignored) {
        row.tools_kwargs.retain(|name, _| {
            let is_known = self.tools.iter().any(|tool| tool.name == *name);
            if !is_known {
                ignored.add(format!("tools_kwargs of `{name}`, which is not configured"), line);
            }
            is_known
        });
    }

    /// The interaction of a row: by its name, or the only one there is.
    fn interaction(
        &self,
        row: &Row,
        line: u64,
        ignored: &mut Ignored,
    ) -> Result<Option<InteractionSpec>, String> {
        let Some(wanted) = &row.interaction else { return Ok(None) };
        let configured = &self.plan.config.interaction;
        let names = || configured.keys().cloned().collect::<Vec<_>>().join(", ");
        let name = match (&wanted.name, configured.len()) {
            (_, 0) => {
                ignored.add("interaction_kwargs without a configured interaction", line);
                return Ok(None);
            }
            (Some(name), _) if configured.contains_key(name) => name.clone(),
            (Some(name), _) => return Err(format!("no interaction {name:?}, expected one of: {}", names())),
            (None, 1) => names(),
            (None, _) => return Err(format!("expected the name of an interaction, one of: {}", names())),
        };
        Ok(Some(InteractionSpec { name, kwargs: wanted.kwargs.clone() }))
    }
}
