//! Resume equivalence of Respool's own loop, and of one that is broken.

use std::{sync::Arc, time::Duration};

use proptest::{strategy::Strategy, test_runner::Config};
use respool_core::Dialect;
use respool_driver::{AgentLoop, RolloutRequest, RolloutService, Settings, Start};
use respool_testkit::{ResultTokens, TokenDialect, Worlds, vocabulary};
use respool_verify::{CheckError, ResumeConfig, resume_equivalence, script};
use tower::ServiceExt;

fn dialect() -> Arc<dyn Dialect> {
    Arc::new(TokenDialect::with_results(ResultTokens::Worded))
}

fn config(worlds: &Worlds, cases: u32) -> ResumeConfig {
    let worlds = worlds.clone();
    ResumeConfig {
        cases: Config { cases, ..Config::with_source_file(file!()) },
        dialect: Some(dialect()),
        longest: Duration::from_millis(250),
        between: Arc::new(move || worlds.update()),
        ..ResumeConfig::new(script(vocabulary()).prop_map(|script| script.spec).boxed())
    }
}

fn own_loop(worlds: &Worlds) -> RolloutService {
    AgentLoop::new(dialect(), worlds.services(), Settings::default()).boxed()
}

#[test]
fn our_loop_is_resume_equivalent() {
    let worlds = Worlds::new(vocabulary(), Duration::from_millis(5));
    let report = resume_equivalence(&own_loop(&worlds), config(&worlds, 2000));
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    println!("{report:?}");
    assert!(report.interrupts > 200 && report.crashes > 200, "{report:?}");
}

/// A loop that starts a turn anew on resume, but keeps what it had sampled of it.
#[test]
fn a_loop_that_samples_a_turn_twice_is_caught() {
    let worlds = Worlds::new(vocabulary(), Duration::from_millis(5));
    let inner = own_loop(&worlds);
    let broken = tower::service_fn(move |mut request: RolloutRequest| {
        if let Start::Resume { data, .. } = &mut request.start {
            data.transcript.truncate(data.transcript.len().saturating_sub(1));
        }
        inner.clone().oneshot(request)
    });
    let mut config = config(&worlds, 300);
    config.cases.failure_persistence = None;
    let result = resume_equivalence(&RolloutService::new(broken), config);
    assert!(matches!(result, Err(CheckError::Broken(_))), "{result:?}");
}
