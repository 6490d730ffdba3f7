//! Runs a scenario: the real loop on a scripted server.

use std::path::PathBuf;
use std::sync::Arc;

use respool_core::{
    AgentLoopOutput, Compat, ContinuationMode, GenerateFinish, GenerateRequest, InteractionSpec, JsonText,
    Limits, RolloutId, RolloutSpec, TruncateSide,
};
use respool_dialect::{DialectOptions, HfDialect};
use respool_driver::{AgentLoop, Control, RolloutRequest, Services, Settings, Start};
use respool_interact::{Interactions, Scripted, ScriptedReply};
use respool_registry::AgentLoopRegistry;
use tower::ServiceExt;

use super::Way;
use super::input::{Scenario, Side};
use super::tools::{self, Signal};
use crate::report::Verdict;
use crate::world::block_on;
use crate::world::server::{Interrupt, Reply, ScriptedServer};
use crate::{clock, messages, tokenizers};

/// What came of a scenario.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) output: AgentLoopOutput,
    pub(super) requests: Vec<GenerateRequest>,
}

/// Calls the loop, and calls it again with its output for as long as that is cancelled.
///
/// # Errors
/// If the scenario is not understood, or the loop itself fails.
pub(super) fn run(scenario: &Scenario, way: Way, folders: &[PathBuf]) -> Result<Facts, Verdict> {
    let compat = compat(way);
    let dialect = Arc::new(dialect(scenario, compat, folders)?);
    let server = ScriptedServer::new(replies(scenario), true);
    let signal: Signal = {
        let server = server.clone();
        Arc::new(move || server.interrupt())
    };
    let toolbox = tools::toolbox(&scenario.tools, &signal)?;
    let mut spec = spec(scenario, compat)?;
    spec.tools = toolbox.specs();
    let services = Services {
        tools: toolbox.service(),
        sessions: toolbox.sessions(),
        interact: interactions(scenario)?.service(),
        ..Services::generate_only(server.service())
    };
    let registry = AgentLoopRegistry::builtin(AgentLoop::new(dialect, services, Settings::default()));
    let service = registry.get(&scenario.agent).map_err(|error| Verdict::NotUnderstood(error.to_string()))?;
    let run = async {
        let mut start = Start::New(Arc::new(spec));
        for index in 0.. {
            let control = Control::new();
            let version = scenario.param_versions.get(index).or_else(|| scenario.param_versions.last());
            server.begin_run(&control, version.copied());
            if scenario.cancel_at_start_of_run.contains(&index) {
                control.interrupt();
            }
            let output = service.clone().oneshot(RolloutRequest::new(start, control)).await;
            match output.map_err(|fault| Verdict::Fail(fault.to_string()))? {
                AgentLoopOutput::Cancelled { data, state } if index < MOST_RUNS => {
                    start = Start::Resume { data, state };
                }
                output => return Ok(output),
            }
        }
        Err(Verdict::Fail("it never ended".to_owned()))
    };
    let output = block_on(run).map_err(|error| Verdict::Skipped(error.to_string()))??;
    Ok(Facts { output, requests: server.requests() })
}

/// No scenario is interrupted so often.
const MOST_RUNS: usize = 1000;

const fn compat(way: Way) -> Compat {
    match way {
        Way::Reference => Compat::verl(),
        Way::Template => {
            Compat { continuation: ContinuationMode::Template, truncate_keep_old: false, ..Compat::verl() }
        }
    }
}

fn dialect(scenario: &Scenario, compat: Compat, folders: &[PathBuf]) -> Result<HfDialect, Verdict> {
    let folder = tokenizers::find(&scenario.tokenizer, folders)?;
    if respool_dialect::tool_format(&scenario.config.tool_format).is_none() {
        return Err(Verdict::NotBuilt);
    }
    let options = DialectOptions {
        continuation: compat.continuation,
        control_tokens: compat.control_tokens,
        tool_format: scenario.config.tool_format.clone(),
        ..DialectOptions::new(clock::unset())
    };
    HfDialect::load(&folder, options).map_err(|error| Verdict::Fail(error.to_string()))
}

fn replies(scenario: &Scenario) -> Vec<Reply> {
    let reply = |reply: &super::input::Reply| Reply {
        tokens: reply.token_ids.clone(),
        logprobs: reply.logprobs.clone(),
        finish: Some(if reply.cancelled { GenerateFinish::Abort } else { GenerateFinish::Stop }),
        version: 0,
        interrupt: if reply.cancelled || reply.cancel_signal {
            Interrupt::AfterTokens
        } else {
            Interrupt::Never
        },
    };
    scenario.replies.iter().map(reply).collect()
}

fn spec(scenario: &Scenario, compat: Compat) -> Result<RolloutSpec, Verdict> {
    let config = &scenario.config;
    let mut spec =
        RolloutSpec::new(RolloutId(1), &scenario.name, messages::read_messages(&scenario.messages)?);
    spec.agent_name.clone_from(&scenario.agent);
    spec.template_args = messages::json_text(&scenario.chat_template_kwargs)?;
    let kwargs = scenario.tools_kwargs.iter();
    spec.tools_kwargs = kwargs
        .map(|(name, value)| Ok((name.clone(), messages::json_text(value)?)))
        .collect::<Result<_, Verdict>>()?;
    spec.interaction = scenario.interaction.as_ref().map(|interaction| InteractionSpec {
        name: interaction.name.clone(),
        kwargs: JsonText::empty_object(),
    });
    spec.limits = Limits {
        prompt_length: config.prompt_length,
        response_length: config.response_length,
        max_user_turns: config.max_user_turns,
        max_assistant_turns: config.max_assistant_turns,
        max_parallel_calls: config.max_parallel_calls,
        max_tool_response_length: config.max_tool_response_length,
        ..Limits::default()
    };
    spec.options.compat = compat;
    spec.options.partial_rollout = config.partial_rollout;
    spec.options.truncate_side = match config.tool_response_truncate_side {
        Side::Left => TruncateSide::Left,
        Side::Middle => TruncateSide::Middle,
        Side::Right => TruncateSide::Right,
    };
    Ok(spec)
}

fn interactions(scenario: &Scenario) -> Result<Interactions, Verdict> {
    let Some(interaction) = &scenario.interaction else { return Ok(Interactions::new()) };
    let replies = interaction.script.iter().map(|reply| ScriptedReply {
        content: reply.content.clone(),
        score: reply.reward,
        terminate: reply.terminate,
    });
    let scripted = Scripted::new(replies);
    Interactions::new()
        .with(&interaction.name, scripted)
        .map_err(|error| Verdict::NotUnderstood(error.to_string()))
}
