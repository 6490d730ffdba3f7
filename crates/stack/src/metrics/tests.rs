use futures_util::StreamExt;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use tower::{ServiceExt, service_fn};

use super::*;
use crate::testing::{Item, delta, generate, stalled, stop, stream};
use crate::{GenerateCall, GenerateStream};

/// `name{label=value}` and value of every metric, sorted; histograms as their number of samples.
fn read(snapshotter: &Snapshotter) -> Vec<String> {
    let mut lines: Vec<String> = snapshotter
        .snapshot()
        .into_vec()
        .into_iter()
        .map(|(key, _, _, value)| {
            let key = key.key();
            let labels: Vec<_> = key.labels().skip(1).map(|label| format!("{{{}}}", label.value())).collect();
            let value = match value {
                DebugValue::Counter(count) => count.to_string(),
                DebugValue::Gauge(level) => level.to_string(),
                DebugValue::Histogram(samples) => format!("{} samples", samples.len()),
            };
            format!("{}{} {value}", key.name().trim_start_matches("respool_"), labels.concat())
        })
        .collect();
    lines.sort();
    lines
}

/// The metrics after a generation that answers so; `leave` drops it after its first item.
fn counted(answer: fn() -> Result<GenerateStream, Fault>, leave: bool) -> Vec<String> {
    let recorder = DebuggingRecorder::new();
    ::metrics::with_local_recorder(&recorder, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let inner = service_fn(move |_call: GenerateCall| std::future::ready(answer()));
            let Ok(stream) = MetricsLayer.layer(inner).oneshot(generate()).await else { return };
            let items: Vec<Item> = stream.take(if leave { 1 } else { usize::MAX }).collect().await;
            drop(items);
        });
    });
    read(&recorder.snapshotter())
}

#[test]
fn a_generation_counts_its_tokens() {
    let seen = counted(|| Ok(stream(vec![delta(&[]), delta(&[1, 2]), delta(&[3]), stop()])), false);
    let expected = [
        "first_token_seconds 1 samples",
        "in_flight 0",
        "inter_token_seconds 1 samples",
        "latency_seconds 1 samples",
        "requests_total 1",
        "tokens_total 3",
    ];
    assert_eq!(seen, expected);
}

#[test]
fn failures_count_by_class_wherever_they_happen() {
    let refused = counted(|| Err(Fault::overloaded(None, "busy")), false);
    let expected =
        ["errors_total{overloaded} 1", "in_flight 0", "latency_seconds 1 samples", "requests_total 1"];
    assert_eq!(refused, expected);
    let broken_off = counted(|| Ok(stream(vec![])), false);
    assert_eq!(broken_off[0], "errors_total{transient} 1");
    let reset = counted(|| Ok(stream(vec![Err(Fault::terminal("no"))])), false);
    assert_eq!(reset[0], "errors_total{terminal} 1");
}

#[test]
fn a_dropped_generation_is_not_in_flight_and_no_error() {
    let seen = counted(|| Ok(stalled(vec![delta(&[1])])), true);
    assert!(
        seen.contains(&"in_flight 0".to_owned()) && seen[0] == "first_token_seconds 1 samples",
        "{seen:?}"
    );
}
