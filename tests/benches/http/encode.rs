//! What it costs to write a request.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use respool_core::PolicyVersion;

use crate::client::request;
use crate::server::{Kind, ServerProcess};

/// Bytes of a plain copy, the baseline, are those of the written request.
pub(crate) fn run() -> Result<()> {
    println!("\nencoding a request (aim: at most 5 ns a token)");
    for kind in [Kind::Vllm, Kind::Incremental] {
        // Only its address is used.
        let client = ServerProcess::start(kind, std::time::Duration::ZERO)?.client()?;
        for prompt in [1 << 10, 16 << 10, 128 << 10] {
            let request = request(0, prompt, 16);
            let body = client.request_body(&request, "id", PolicyVersion(0))?;
            let rounds = (32 << 20) / prompt;
            let ours =
                nanoseconds(rounds, || client.request_body(&request, "id", PolicyVersion(0)).map(drop))?;
            let copy = nanoseconds(rounds, || {
                drop(black_box(black_box(&body).clone()));
                anyhow::Ok(())
            })?;
            let tokens = f64::from(prompt);
            println!(
                "{:<8} {prompt:>7} tokens: {:.2} ns a token, {:.1} x a plain copy of the {} bytes",
                kind.name(),
                ours / tokens,
                ours / copy,
                body.len()
            );
        }
    }
    Ok(())
}

/// The best of a few times so many rounds, a round.
fn nanoseconds<E>(rounds: u32, mut work: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..rounds {
            work()?;
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(rounds));
    }
    Ok(best)
}
