use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use proptest::prelude::*;
use respool_core::{GenerateRequest, PolicyVersion, Token};
use tokio::time::Instant;
use tower::ServiceExt;

use super::*;
use crate::testing::{call, delta, ended};

const STOP: Token = 2;

/// How one attempt ends, after so many deltas.
#[derive(Clone, Debug)]
enum Cut {
    Refused(Fault),
    Fault(Fault),
    Aborted,
    Silent,
}

/// The policy: the next token is a function of the prompt. The answer has `len` tokens and a stop.
fn next_token(prompt: &[Token], len: usize) -> Token {
    if prompt.len() >= 3 + len {
        STOP
    } else {
        prompt.iter().fold(7, |sum, token| sum * 31 % 1009 + token) % 97 + 3
    }
}

/// Attempts break as the script says; when it is used up, they succeed.
fn breaking(script: Vec<(usize, Cut)>, len: usize) -> (GenerateService, Arc<Mutex<Vec<GenerateRequest>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    let script = Arc::new(Mutex::new(script.into_iter()));
    let service = tower::service_fn(move |call: GenerateCall| {
        seen.lock().unwrap().push(call.request.clone());
        let cut = script.lock().unwrap().next();
        let (mut prompt, mut items) = (call.request.prompt_ids, Vec::new());
        for sent in 0..call.request.max_tokens as usize {
            if cut.as_ref().is_some_and(|(at, _)| *at == sent) {
                break;
            }
            let token = next_token(&prompt, len);
            prompt.push(token);
            items.push(delta(0, &[token]));
            if token == STOP {
                break;
            }
        }
        let finish = if prompt.last() == Some(&STOP) { GenerateFinish::Stop } else { GenerateFinish::Length };
        let response = match cut.map(|(_, cut)| cut) {
            Some(Cut::Refused(fault)) => Err(fault),
            cut => {
                match cut {
                    None => items.push(ended(finish)),
                    Some(Cut::Aborted) => items.push(ended(GenerateFinish::Abort)),
                    Some(Cut::Fault(fault) | Cut::Refused(fault)) => items.push(Err(fault)),
                    Some(Cut::Silent) => {}
                }
                Ok(Box::pin(stream::iter(items)) as GenerateStream)
            }
        };
        std::future::ready(response)
    });
    (GenerateService::new(service), requests)
}

async fn run(service: GenerateService, settings: ContinueSettings, call: GenerateCall) -> (Vec<Token>, Item) {
    let items: Vec<Item> = continued(service, settings).oneshot(call).await.unwrap().collect().await;
    let (mut tokens, mut last) = (Vec::new(), None);
    for item in items {
        assert!(last.is_none(), "nothing comes after the end");
        match item {
            Ok(GenerateEvent::Delta(delta)) => {
                assert_eq!(delta.tokens.len(), delta.logprobs.len());
                tokens.extend(delta.tokens);
            }
            Ok(GenerateEvent::Versions { .. }) => {}
            end => last = Some(end),
        }
    }
    (tokens, last.expect("an end"))
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

fn cuts() -> impl Strategy<Value = Vec<(usize, Cut)>> {
    let cut = prop_oneof![
        Just(Cut::Refused(Fault::transient("refused"))),
        Just(Cut::Refused(Fault::overloaded(Some(Duration::from_secs(2)), "429"))),
        Just(Cut::Fault(Fault::transient("reset"))),
        Just(Cut::Aborted),
        Just(Cut::Silent),
    ];
    proptest::collection::vec((0_usize..6, cut), 0..12)
}

proptest! {
    #[test]
    fn every_way_of_breaking_gives_the_same_tokens(cuts in cuts(), len in 0_usize..20, budget in 1_u32..24) {
        let settings = ContinueSettings { max_attempts: 100, ..ContinueSettings::default() };
        let ask = || {
            let mut call = call(1);
            call.request.max_tokens = budget;
            call
        };
        let (whole, broken) = block_on(async {
            let (service, requests) = breaking(cuts, len);
            let broken = run(service, settings, ask()).await;
            for (attempt, request) in (0..).zip(requests.lock().unwrap().iter()) {
                assert_eq!(request.effect.attempt, attempt);
                assert_eq!(request.turn_tokens as usize, request.prompt_ids.len() - 3);
                assert_eq!(request.turn_tokens + request.max_tokens, budget);
            }
            (run(breaking(Vec::new(), len).0, settings, ask()).await, broken)
        });
        prop_assert_eq!(whole, broken);
    }
}

fn stalls() -> Vec<(usize, Cut)> {
    vec![(0, Cut::Fault(Fault::transient("reset"))); 40]
}

#[tokio::test(start_paused = true)]
async fn attempts_without_a_token_are_counted_and_a_terminal_fault_is_the_last() {
    let settings = ContinueSettings::default();
    let (service, requests) = breaking(stalls(), 5);
    let (_, end) = run(service, settings, call(1)).await;
    assert_eq!(end, Err(Fault::transient("8 attempts without a new token; the last: reset")));
    assert_eq!(requests.lock().unwrap().len(), 8);

    let fruitful = (0..12).map(|_| (1, Cut::Silent)).collect();
    assert_eq!(run(breaking(fruitful, 9).0, settings, call(1)).await.1, ended(GenerateFinish::Stop));

    let (service, requests) = breaking(vec![(2, Cut::Fault(Fault::terminal("400: no")))], 5);
    let (tokens, end) = run(service, settings, call(1)).await;
    assert_eq!((tokens.len(), end, requests.lock().unwrap().len()), (2, Err(Fault::terminal("400: no")), 1));
}

#[tokio::test(start_paused = true)]
async fn a_server_says_how_long_to_wait() {
    let busy = Fault::overloaded(Some(Duration::from_secs(30)), "429");
    let start = Instant::now();
    let _ = run(breaking(vec![(0, Cut::Refused(busy))], 3).0, ContinueSettings::default(), call(1)).await;
    assert!((30_000..30_200).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_abort_ends_a_back_off_at_once() {
    let call = call(1);
    let abort = call.abort.clone();
    let busy = Fault::overloaded(Some(Duration::from_secs(300)), "429");
    let service = continued(breaking(vec![(0, Cut::Refused(busy)); 9], 3).0, ContinueSettings::default());
    let mut stream = service.oneshot(call).await.unwrap();
    assert!(stream.next().now_or_never().is_none());
    abort.cancel();
    assert_eq!(stream.next().now_or_never().flatten(), Some(ended(GenerateFinish::Abort)));
    assert_eq!(stream.next().await, None);
}

/// One attempt with these items, then none that succeeds.
async fn check(items: Vec<Item>, budget: u32, expected: Vec<Item>) {
    let mut first = Some(items);
    let service = tower::service_fn(move |_| {
        let items = first.take().map(|items| Box::pin(stream::iter(items)) as GenerateStream);
        std::future::ready(items.ok_or_else(|| Fault::terminal("asked again")))
    });
    let shared = Arc::new(tokio::sync::Mutex::new(service));
    let service = GenerateService::new(tower::service_fn(move |call| {
        let shared = Arc::clone(&shared);
        async move { shared.lock().await.call(call).await }
    }));
    let mut call = call(1);
    call.request.max_tokens = budget;
    let seen: Vec<Item> =
        continued(service, ContinueSettings::default()).oneshot(call).await.unwrap().collect().await;
    assert_eq!(seen, expected);
}

#[tokio::test(start_paused = true)]
async fn the_rule_for_aborts_and_budgets() {
    let reset = || Err(Fault::transient("reset"));
    let terminal = || Err(Fault::terminal("gone"));
    check(vec![delta(0, &[5, STOP]), reset()], 9, vec![delta(0, &[5, STOP]), ended(GenerateFinish::Stop)])
        .await;
    check(vec![delta(0, &[5, 6]), reset()], 2, vec![delta(0, &[5, 6]), ended(GenerateFinish::Length)]).await;
    check(vec![delta(0, &[5, 6]), terminal()], 2, vec![delta(0, &[5, 6]), ended(GenerateFinish::Length)])
        .await;
    check(
        vec![delta(0, &[5, 6, 7]), delta(0, &[8])],
        2,
        vec![delta(0, &[5, 6]), ended(GenerateFinish::Length)],
    )
    .await;
    let short = |tokens: &[Token], logprobs: usize| {
        let filled =
            (0..tokens.len()).map(|at| if at < logprobs { Logprob::new(-1.0) } else { Logprob::MISSING });
        GenerateDelta { version: PolicyVersion(0), tokens: tokens.to_vec(), logprobs: filled.collect() }
    };
    let mut sent = short(&[5, 6, 7], 1);
    sent.logprobs.truncate(1);
    let end = || ended(GenerateFinish::Repetition);
    check(
        vec![Ok(GenerateEvent::Delta(sent)), end()],
        9,
        vec![Ok(GenerateEvent::Delta(short(&[5, 6, 7], 1))), end()],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn spans_of_later_attempts_are_shifted() {
    let span = |start| VersionSpan { start, len: 1, version: PolicyVersion(4) };
    let versions = |start| Ok(GenerateEvent::Versions { spans: vec![span(start)], uncertain: false });
    let attempts = Mutex::new(vec![
        vec![delta(0, &[7]), versions(0), ended(GenerateFinish::Length)],
        vec![delta(0, &[5, 6]), versions(1), Err(Fault::transient("reset"))],
    ]);
    let service = GenerateService::new({
        let attempts = Arc::new(attempts);
        tower::service_fn(move |_: GenerateCall| {
            let items = attempts.lock().unwrap().pop().unwrap();
            std::future::ready(Ok(Box::pin(stream::iter(items)) as GenerateStream))
        })
    });
    let seen: Vec<Item> =
        continued(service, ContinueSettings::default()).oneshot(call(1)).await.unwrap().collect().await;
    let expected =
        [delta(0, &[5, 6]), versions(1), delta(0, &[7]), versions(2), ended(GenerateFinish::Length)];
    assert_eq!(seen, expected);
}

#[tokio::test(start_paused = true)]
async fn weight_syncs_are_no_failures() {
    let (service, requests) = breaking(vec![(0, Cut::Aborted); 20], 3);
    let (tokens, last) = run(service, ContinueSettings::default(), call(1)).await;
    assert_eq!((tokens.len(), last, requests.lock().unwrap().len()), (4, ended(GenerateFinish::Stop), 21));
}
