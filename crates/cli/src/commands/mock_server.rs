//! `respool mock-server`.

use std::{path::Path, process::ExitCode, sync::Arc};

use anyhow::Context;
use respool_core::{Dialect as _, Role};
use respool_dialect::HfDialect;
use respool_llm_mock::{TaskLookup, TeacherTask};
use respool_mock_server::{Engine, HttpFaults, MockHttpConfig, MockHttpServer, TaskBook};
use respool_tools::{Toolbox, calculator};

use super::execute::runtime;
use crate::{
    args::{MockEngine, MockServerArgs},
    config::{Config, PolicySection},
    dialect::{load_dialect, stop_token},
    files, policy, screen, signals,
    tasks::{Row, TaskFile},
};

/// The most connections that it should be able to hold.
const CONNECTIONS: u64 = 256;

pub(super) fn command(args: &MockServerArgs) -> anyhow::Result<ExitCode> {
    files::allow(CONNECTIONS, 0)?;
    let config = config(args)?;
    runtime()?.block_on(serve(args, config))
}

async fn serve(args: &MockServerArgs, config: MockHttpConfig) -> anyhow::Result<ExitCode> {
    let stop = signals::listen()?;
    let server = MockHttpServer::bind(args.addr, config)
        .await
        .with_context(|| format!("cannot listen on {}", args.addr))?;
    screen::say(&format!("listening on http://{}", server.addr()));
    stop.cancelled().await;
    server.shutdown().await;
    Ok(ExitCode::SUCCESS)
}

fn config(args: &MockServerArgs) -> anyhow::Result<MockHttpConfig> {
    let mut file = Config::default();
    file.model.path.clone_from(&args.model);
    let dialect = Arc::new(load_dialect(&file, 0)?);
    let tools = Toolbox::builder().tool(calculator()?).build()?;
    let tasks = args.tasks.as_deref().map(|path| tasks(path, &dialect)).transpose()?.unwrap_or_default();
    let section = PolicySection { kind: args.policy, ..PolicySection::default() };
    let policy = policy::build(&section, &dialect, &tools, lookup(&tasks, &dialect))?;
    let engine = match args.engine {
        MockEngine::Sglang => Engine::Sglang,
        MockEngine::Vllm => Engine::Vllm,
    };
    let turns = tasks.turns(dialect.generation_prompt()?);
    let mut config = MockHttpConfig::new(engine, policy, turns, vec![stop_token(&dialect)?]);
    config.token_latency = args.token_latency;
    config.vocab_size = dialect.vocab_size();
    config.model_name = args.model.as_deref().map_or_else(|| "respool-mock".to_owned(), name_of);
    if let Some(path) = &args.faults {
        config.faults = HttpFaults::read(path)?;
    }
    let decoder = Arc::clone(&dialect);
    config.decode = Some(Arc::new(move |tokens| decoder.decode(tokens)));
    Ok(config)
}

fn name_of(model: &Path) -> String {
    model.file_name().unwrap_or(model.as_os_str()).to_string_lossy().into_owned()
}

/// The solutions of a task file, by the questions as they stand in a prompt.
fn tasks(path: &Path, dialect: &HfDialect) -> anyhow::Result<TaskBook> {
    let file = TaskFile::read(path, None)?;
    file.bad.iter().for_each(|row| screen::warn(&format!("{}:{}: {}", path.display(), row.line, row.reason)));
    let mut known = Vec::with_capacity(file.tasks.len());
    for task in file.tasks {
        if let (Some(question), Some(answer)) = (question(&task.row), &task.row.answer) {
            let task = TeacherTask { solution: answer.as_str().into(), has_calculator: true };
            known.push((dialect.encode_text(&question)?, task));
        }
    }
    Ok(TaskBook::new(known))
}

/// The last thing that a user says.
fn question(row: &Row) -> Option<String> {
    let user = row.messages.iter().rev().find(|message| message.role == Role::User)?;
    Some(user.content.text())
}

/// What the teacher says to a prompt without a task, as whoever tests the server sends it.
const NO_TASK: &str = "I know no solution of this task.";

/// Finds the task of a prompt; it may call the calculator only where the prompt speaks of it.
fn lookup(tasks: &TaskBook, dialect: &Arc<HfDialect>) -> TaskLookup {
    let (find, dialect) = (tasks.lookup(), Arc::clone(dialect));
    Arc::new(move |request| {
        let Some(task) = find(request) else {
            return Some(TeacherTask { solution: NO_TASK.into(), has_calculator: false });
        };
        let has_calculator = dialect.decode(&request.prompt_ids).contains("calculator");
        Some(TeacherTask { has_calculator, ..task })
    })
}
