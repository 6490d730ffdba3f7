use std::io::Write;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use tower::{ServiceExt, service_fn};

use super::*;
use crate::GenerateCall;
use crate::testing::{Item, delta, generate, stop, stream};

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Everything that is logged while a generation gives these items.
fn logged(items: Vec<Item>) -> String {
    let buffer = Buffer::default();
    let writer = buffer.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .without_time()
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let inner = service_fn(move |_call: GenerateCall| {
                let noisy = stream(items.clone()).inspect(|_| debug!("inside"));
                std::future::ready(Ok(noisy.boxed() as crate::GenerateStream))
            });
            let stream = TraceLayer.layer(inner).oneshot(generate()).await.unwrap();
            stream.for_each(|_| std::future::ready(())).await;
        });
    });
    let bytes = buffer.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

const SPAN: &str =
    "effect{kind=\"generate\" rollout=00000000000000000000000000000007 turn=1 slot=0 attempt=2}";

#[test]
fn a_call_is_a_span_that_lasts_as_long_as_its_stream() {
    let log = logged(vec![delta(&[4_242, 4_243]), stop()]);
    assert!(log.contains(&format!("DEBUG {SPAN}: respool_stack::trace::tests: inside")), "{log}");
    assert!(log.contains("ended finish=Stop"), "{log}");
    assert!(log.contains("over tokens=2 elapsed=0ns"), "{log}");
    assert!(!log.contains("4242"), "no token is ever told: {log}");
}

#[test]
fn a_failure_is_a_warning_with_its_class() {
    let log = logged(vec![Err(Fault::transient("connection reset"))]);
    assert!(
        log.contains(&format!("WARN {SPAN}: respool_stack::trace: connection reset class=Transient")),
        "{log}"
    );
}
