//! The checks of dialects, generate services and tools, on ones that pass and ones that do not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt;
use proptest::{collection::vec, prelude::*, test_runner::Config};
use respool_core::{
    CallOutcome, Dialect, EffectId, Fault, GenerateEvent, GenerateFinish, GenerateRequest, JsonText,
    RolloutId, Sampling, SessionPolicy, ToolRequest, ToolResult,
};
use respool_stack::{GenerateCall, GenerateService, GenerateStream, ToolService};
use respool_testkit::{TokenDialect, Worlds, token, vocabulary};
use respool_verify::{
    CheckError, Clock, DialectConfig, GenerateConfig, ToolConfig, check_dialect, check_generate_service,
    check_tool_service,
};
use tower::{ServiceExt, service_fn};

fn cases() -> Config {
    Config { cases: 300, failure_persistence: None, ..Config::default() }
}

fn worlds() -> Worlds {
    Worlds::new(vocabulary(), Duration::from_millis(5))
}

#[track_caller]
fn check_broken(result: Result<(), CheckError>, what: &str) {
    match result {
        Err(CheckError::Broken(found)) => assert!(found.what.contains(what), "{found}"),
        other => panic!("not caught: {other:?}"),
    }
}

#[test]
fn the_token_dialect_passes() {
    let dialect: Arc<dyn Dialect> = Arc::new(TokenDialect::new());
    let favourites =
        vec![token::OPEN_CALL, token::CLOSE_CALL, token::NAME + 1, token::STOP, token::E_ACUTE_1];
    let config = DialectConfig {
        cases: cases(),
        vocabulary_size: 3000,
        favourites,
        tools: Vec::new(),
        keeps_text: false,
    };
    check_dialect(&dialect, config).unwrap();
}

fn generate_config() -> GenerateConfig {
    let requests =
        (vec(10..40u32, 1..6), 1..40u32, any::<u32>()).prop_map(|(prompt_ids, max_tokens, seed)| {
            GenerateRequest {
                rollout: RolloutId(1),
                effect: EffectId { turn: 0, slot: 0, attempt: 0 },
                prompt_ids,
                turn_tokens: 0,
                max_tokens,
                stop_token_ids: Arc::new([token::STOP]),
                sampling: Arc::new(Sampling::default()),
                seed: u64::from(seed),
            }
        });
    GenerateConfig { cases: cases(), requests: requests.boxed(), deterministic: true, clock: Clock::Paused }
}

#[test]
fn a_policy_that_answers_by_prefix_passes() {
    check_generate_service(&worlds().generate(), generate_config()).unwrap();
}

#[test]
fn a_server_that_looks_at_the_length_before_the_stop_token_passes() {
    let inner = worlds().generate();
    let service = GenerateService::new(service_fn(move |call: GenerateCall| {
        let (inner, mut left) = (inner.clone(), call.request.max_tokens as usize);
        async move {
            let stream = inner.oneshot(call).await?;
            let stream = stream.map(move |event| match event {
                Ok(GenerateEvent::Ended(GenerateFinish::Stop)) if left == 0 => {
                    Ok(GenerateEvent::Ended(GenerateFinish::Length))
                }
                Ok(GenerateEvent::Delta(delta)) => {
                    left -= delta.tokens.len();
                    Ok(GenerateEvent::Delta(delta))
                }
                other => other,
            });
            Ok::<_, Fault>(Box::pin(stream) as GenerateStream)
        }
    }));
    check_generate_service(&service, generate_config()).unwrap();
}

/// The service with its requests and its streams changed.
fn changed(
    request: impl Fn(&mut GenerateRequest) + Clone + Send + Sync + 'static,
    stream: fn(GenerateStream) -> GenerateStream,
) -> GenerateService {
    let inner = worlds().generate();
    GenerateService::new(service_fn(move |mut call: GenerateCall| {
        request(&mut call.request);
        let inner = inner.clone();
        async move { inner.oneshot(call).await.map(stream) }
    }))
}

#[test]
fn services_that_break_the_protocol_are_caught() {
    let budget = changed(|request| request.max_tokens += 1, |stream| stream);
    check_broken(check_generate_service(&budget, generate_config()), "budgets are kept (P7)");
    let calls = Arc::new(AtomicU32::new(0));
    let count =
        move |request: &mut GenerateRequest| request.seed += u64::from(calls.fetch_add(1, Ordering::Relaxed));
    check_broken(check_generate_service(&changed(count, |stream| stream), generate_config()), "(P1)");
    let silent = changed(
        |_| {},
        |stream| {
            Box::pin(stream.filter(|event| std::future::ready(!matches!(event, Ok(GenerateEvent::Ended(_))))))
        },
    );
    check_broken(check_generate_service(&silent, generate_config()), "ended without `Ended`");
}

fn tool_config() -> ToolConfig {
    let calls = ["t01", "t02", "t77"].map(|name| (name.to_owned(), JsonText::empty_object()));
    ToolConfig {
        cases: cases(),
        calls: calls.to_vec(),
        create_kwargs: JsonText::empty_object(),
        session: SessionPolicy::Stateless,
        sessions: Some(worlds().services().sessions),
        longest: Duration::from_millis(40),
        clock: Clock::Paused,
    }
}

fn tool(
    answer: impl Fn(ToolRequest) -> Result<ToolResult, Fault> + Clone + Send + Sync + 'static,
) -> ToolService {
    ToolService::new(service_fn(move |request| {
        let result = answer(request);
        async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            result
        }
    }))
}

#[test]
fn a_tool_that_answers_by_its_call_passes() {
    let by_call = |request: ToolRequest| Ok(ToolResult::text(CallOutcome::Ok, request.call.name));
    check_tool_service(&tool(by_call), tool_config()).unwrap();
}

#[test]
fn tools_that_count_or_fail_are_caught() {
    let count = Arc::new(AtomicU32::new(0));
    let counts = move |_| {
        let count = count.fetch_add(1, Ordering::Relaxed);
        Ok(ToolResult::text(CallOutcome::Ok, count.to_string()))
    };
    check_broken(check_tool_service(&tool(counts), tool_config()), "gives");
    let fails = |_| Err(Fault::terminal("division by zero"));
    check_broken(check_tool_service(&tool(fails), tool_config()), "is a result, not a failure");
}

#[test]
fn no_calls_are_nothing_to_check() {
    let by_call = |request: ToolRequest| Ok(ToolResult::text(CallOutcome::Ok, request.call.name));
    let config = ToolConfig { calls: Vec::new(), ..tool_config() };
    let result = check_tool_service(&tool(by_call), config);
    assert!(matches!(result, Err(CheckError::NotRun(_))), "{result:?}");
}
