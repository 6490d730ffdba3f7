//! Tokens a second through the whole client, beside a bare one that drains the same streams.

use std::time::Duration;

use anyhow::Result;
use tokio::runtime::Runtime;

use crate::Args;
use crate::client::{Bare, Load, Run, Whole, measured};
use crate::server::{Kind, ServerProcess};

/// Streams at once.
const STREAMS: [usize; 3] = [64, 512, 2048];

/// Of the paced run, in which nearly every token comes by itself.
const PACED: (usize, Duration) = (512, Duration::from_millis(20));

const HEAD: &str = "server             streams  tokens/s: ours    bare    wall, ours/bare    cpu, ours/bare  µs cpu a token: ours  bare  server  allocations a token: ours  bare";

pub(crate) fn run(args: &Args, runtime: &Runtime) -> Result<()> {
    println!(
        "\nthroughput: {} tokens a run, {} rounds; ratios are min/median/max over the rounds",
        args.tokens, args.rounds
    );
    println!("{HEAD}");
    for kind in Kind::ALL {
        let mut server = ServerProcess::start(kind, Duration::ZERO)?;
        for streams in STREAMS {
            // A cumulative stream is quadratic in its length.
            let longest = if kind == Kind::Cumulative { 256 } else { u32::MAX };
            let tokens = (args.tokens / streams as u64) as u32;
            cell(args, runtime, &mut server, Load { streams, tokens: tokens.clamp(1, longest) }, "")?;
        }
        if kind != Kind::Cumulative {
            let (streams, pace) = PACED;
            let mut server = ServerProcess::start(kind, pace)?;
            let tokens = if args.is_quick { 50 } else { 150 };
            cell(args, runtime, &mut server, Load { streams, tokens }, " (20 ms a token)")?;
        }
    }
    Ok(())
}

/// One line of the table.
fn cell(args: &Args, runtime: &Runtime, server: &mut ServerProcess, load: Load, note: &str) -> Result<()> {
    let (whole, bare) = {
        let _entered = runtime.enter();
        (Whole::new(std::slice::from_ref(server))?, Bare::new(server)?)
    };
    // The first runs open the connections; allocations are counted in the second ones.
    let warm_up = Load { tokens: load.tokens.min(16), ..load };
    runtime.block_on(measured(server, warm_up, whole.run(warm_up)))?;
    runtime.block_on(measured(server, warm_up, bare.run(warm_up)))?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        ours.push(runtime.block_on(measured(server, load, whole.run(load)))?);
        theirs.push(runtime.block_on(measured(server, load, bare.run(load)))?);
    }
    let mut counted = Ok(());
    let counts = [true, false].map(|is_ours| {
        let counts = allocation_counter::measure(|| {
            let run = runtime.block_on(async {
                if is_ours { whole.run(load).await } else { bare.run(load).await.map(drop) }
            });
            counted = run.and(std::mem::replace(&mut counted, Ok(())));
        });
        counts.count_total as f64 / load.total() as f64
    });
    counted?;
    // What was counted is no part of the next run.
    server.ask_settled()?;
    server.settled()?;
    print_line(&format!("{}{note}", server.kind.name()), load, &ours, &theirs, counts);
    Ok(())
}

fn print_line(name: &str, load: Load, ours: &[Run], bare: &[Run], [counts, bare_counts]: [f64; 2]) {
    let total = load.total() as f64;
    let rate = |runs: &[Run]| total / median(runs.iter().map(|run| run.wall));
    let micros = |runs: &[Run], cpu: fn(&Run) -> f64| median(runs.iter().map(cpu)) * 1e6 / total;
    let ratio =
        |value: fn(&Run) -> f64| spread(ours.iter().zip(bare).map(|(ours, bare)| value(ours) / value(bare)));
    println!(
        "{name:<24} {:>5} {:>11.0} {:>7.0}  {}  {}  {:>13.2} {:>5.2} {:>7.2} {:>18.2} {:>5.2}",
        load.streams,
        rate(ours),
        rate(bare),
        ratio(|run| run.wall),
        ratio(|run| run.cpu),
        micros(ours, |run| run.cpu),
        micros(bare, |run| run.cpu),
        micros(ours, |run| run.server_cpu),
        counts,
        bare_counts,
    );
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let values = sorted(values);
    values[values.len() / 2]
}

fn spread(values: impl Iterator<Item = f64>) -> String {
    let values = sorted(values);
    let (first, middle, last) = (values[0], values[values.len() / 2], values[values.len() - 1]);
    format!("{first:5.2}/{middle:4.2}/{last:4.2}")
}
