use std::sync::Arc;
use std::time::Duration;

use respool_llm_mock::{Grammar, HashPolicy};
use respool_mock_server::{Engine, MockHttpConfig, MockHttpServer, turns_by_suffix};

use super::*;

/// A server that says random words, slowly enough to be interrupted.
fn config(engine: Engine) -> MockHttpConfig {
    let encode: respool_llm_mock::Encoder =
        Arc::new(|text| text.bytes().map(|byte| u32::from(byte) + 10).collect());
    let write: respool_llm_mock::TurnWriter = Arc::new(|said, calls| {
        let calls = calls.iter().map(|(name, arguments)| format!("{name}({arguments})"));
        Some(said.to_owned() + &calls.collect::<String>())
    });
    let policy = HashPolicy::new(Grammar::new(&["search"], &write), &encode, 2);
    let mut config = MockHttpConfig::new(
        engine,
        Arc::new(policy),
        turns_by_suffix(
            suite::embedded()
                .and_then(|dialect| Ok(dialect.generation_prompt()?))
                .expect("a generation prompt"),
        ),
        vec![2],
    );
    config.token_latency = Duration::from_millis(3);
    config.context_length = 4096;
    config
}

#[track_caller]
fn check(engine: Engine) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let server =
        runtime.block_on(MockHttpServer::bind("127.0.0.1:0".parse().expect("an address"), config(engine)));
    let server = server.expect("a port");
    let suite =
        runtime.block_on(Suite::connect(&format!("http://{}", server.addr()), None)).expect("a fit server");
    for (name, check) in CHECKS {
        if let Err(error) = runtime.block_on(check(&suite)) {
            panic!("{name}: {error:#}");
        }
        runtime.block_on(suite.go_on());
    }
    runtime.block_on(server.shutdown());
}

#[test]
fn the_mock_server_does_what_sglang_does() {
    check(Engine::Sglang);
}

#[test]
fn the_mock_server_does_what_vllm_does() {
    check(Engine::Vllm);
}
