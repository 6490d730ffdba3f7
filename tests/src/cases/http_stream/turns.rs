//! Several turns of a trajectory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use respool_core::{AgentLoopOutput, EffectId, Finish, Message, Role, RolloutId, RolloutSpec, Token};
use respool_driver::{AgentLoop, Control, RolloutRequest, Services, Settings, Start};
use respool_llm::ServerManager;
use respool_testkit::{ResultTokens, TokenDialect};
use respool_tools::Toolbox;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::expected::Expected;
use super::input::{IdsInput, RefusalInput, Step};
use super::script::{Scripted, are_distinct, pool, service};
use super::table::event;
use super::{Wire, broken};
use crate::cases::Checked;
use crate::report::Verdict;
use crate::wire::{self, Answer, WireServer, collect};
use crate::world::tools::{Behaviour, Seen, StubTool};

/// Whether every request of a trajectory has a name of its own.
pub(super) async fn check_ids(input: &IdsInput, expected: &Expected) -> Checked {
    let turn = |token| Step { tokens: Some(vec![token]), finish: Some("stop".to_owned()), ..step(200) };
    for wire in [Wire::SglangGenerate, Wire::VllmGenerate, Wire::VllmCompletions] {
        let mut script = vec![turn(11)];
        script.extend((0..input.retries).map(|_| step(503)));
        script.extend((1..input.turns).map(|number| turn(11 + number)));
        let server = Scripted::start(wire, script).await?;
        let service = service(&pool([server.server.url()], wire)?, None);
        for number in 0..input.turns {
            let mut request = wire::request(vec![1, 2], 8);
            request.effect = EffectId { turn: number, slot: 0, attempt: 0 };
            collect(&service, request, &CancellationToken::new(), usize::MAX).await;
        }
        let sent = server.generations();
        expected
            .check(&json!({ "engine_request_ids_distinct": are_distinct(&sent), "count": sent.len() }))?;
    }
    Ok(())
}

fn step(status: u16) -> Step {
    Step {
        http: Some(status),
        body: None,
        headers: None,
        retry_after: None,
        tokens: None,
        stream_tokens: None,
        logprobs: vec![Some(-0.5)],
        finish: None,
        then: None,
        connect: None,
    }
}

/// Whether a trajectory whose second turn is refused ends as it should, and another one goes on.
pub(super) async fn check_refusal(input: &RefusalInput, expected: &Expected) -> Checked {
    let before = response_tokens(&input.context)?;
    for wire in [Wire::SglangGenerate, Wire::VllmGenerate, Wire::VllmCompletions] {
        let (refusal, path, asked) =
            (Answer::json(input.http, input.body_json.to_string()), wire.api().path(), AtomicUsize::new(0));
        let stop = if wire == Wire::SglangGenerate { json!({ "type": "stop" }) } else { json!("stop") };
        let turn = Answer::events(vec![event(wire, &first_turn(before), &stop)]);
        let server = WireServer::start(move |received| {
            let is_first = received.path == path && asked.fetch_add(1, Ordering::Relaxed) == 0;
            if is_first { turn.clone() } else { refusal.clone() }
        });
        let server = server.await.map_err(broken)?;
        let output = run(&pool([server.url()], wire)?).await?;
        let sent = server.received().iter().filter(|received| received.path == path).count();
        let trajectory = match &output {
            AgentLoopOutput::Completed(trajectory) => trajectory,
            other => return Err(Verdict::Fail(format!("the trajectory is not finished: {other:?}"))),
        };
        let seen = json!({
            "trajectory": {
                "status": "finished",
                "finish": word(&trajectory.finish),
                "response_tokens": trajectory.data.transcript.response_ids().len(),
            },
            "retried": sent > 2,
            // Nothing but this trajectory has ended: its service answers still.
            "run_continues": run(&pool([server.url()], wire)?).await.is_ok(),
        });
        expected.check(&seen)?;
    }
    Ok(())
}

/// The number before `response tokens`.
fn response_tokens(context: &str) -> Result<usize, Verdict> {
    let (before, _) = context.split_once(" response tokens").unwrap_or_default();
    let number = before.rsplit(' ').next().and_then(|word| word.parse().ok());
    number
        .filter(|number| *number >= 4)
        .ok_or_else(|| Verdict::NotUnderstood(format!("input.context: {context:?}")))
}

/// A turn with a call, so long that it has that many tokens together with the call's result (one
/// token) and the next generation prompt (one token).
fn first_turn(tokens: usize) -> Vec<Token> {
    let said = tokens.saturating_sub(4);
    (0..said).map(|_| 100).chain([701, 2]).collect()
}

async fn run(pool: &respool_llm::Pool) -> Result<AgentLoopOutput, Verdict> {
    let answers = Behaviour::Answers { text: "ok".to_owned(), after: std::time::Duration::ZERO };
    let tools = Toolbox::builder().tool(StubTool::new("t01", answers, &Seen::default())?).build();
    let tools = tools.map_err(broken)?;
    let mut spec = RolloutSpec::new(RolloutId(1), "task", vec![Message::new(Role::User, "1 2")]);
    spec.tools = tools.specs();
    let services = Services {
        tools: tools.service(),
        sessions: tools.sessions(),
        ..Services::generate_only(pool.generate())
    };
    let dialect = Arc::new(TokenDialect::plain(ResultTokens::Named));
    let agent_loop = AgentLoop::new(dialect, services, Settings::default());
    let request = RolloutRequest::new(Start::New(Arc::new(spec)), Control::new());
    agent_loop.oneshot(request).await.map_err(broken)
}

fn word(finish: &Finish) -> Value {
    json!(match finish {
        Finish::ContextLength | Finish::ResponseLength | Finish::TurnLength => "length",
        Finish::Answered => "stop",
        other => other.name(),
    })
}
