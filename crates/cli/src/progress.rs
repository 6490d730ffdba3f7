//! What a person sees while a run is running: a bar on a terminal, else a line now and then.

use std::{
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use tokio::time::{Interval, MissedTickBehavior};

use crate::{setup::Setup, stats::Stats};

const BAR: &str = "{elapsed_precise} {wide_bar} {pos}/{len} {msg}";
const REDRAW: Duration = Duration::from_millis(200);
const PLAIN_EVERY: Duration = Duration::from_secs(2);

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    done: u64,
    in_flight: usize,
    tokens: u64,
    tool_calls: u64,
    interrupts: u64,
    syncs: u64,
}

impl State {
    pub(crate) fn of(setup: &Setup, done: u64, in_flight: usize) -> Self {
        let stats = &setup.stats;
        Self {
            done,
            in_flight,
            tokens: Stats::get(&stats.tokens),
            tool_calls: Stats::get(&stats.tool_calls),
            interrupts: Stats::get(&stats.interrupts),
            syncs: Stats::get(&stats.syncs),
        }
    }
}

/// The display.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    total: u64,
    started: Instant,
}

impl Progress {
    /// For so many rollouts.
    pub(crate) fn new(total: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(BAR).unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(total).with_style(style)
        });
        Self { bar, total, started: Instant::now() }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// When to show the state.
    pub(crate) fn ticks(&self) -> Interval {
        let mut ticks = tokio::time::interval(if self.bar.is_some() { REDRAW } else { PLAIN_EVERY });
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        ticks
    }

    pub(crate) fn show(&mut self, state: &State) {
        let seconds = self.elapsed().as_secs_f64().max(1e-3);
        let rate = state.tokens as f64 / seconds;
        let State { done, in_flight, tokens: _, tool_calls, interrupts, syncs } = state;
        let text = format!(
            "in flight {in_flight}, {rate:.0} tokens/s, tool calls {tool_calls}, interrupts {interrupts}, weight syncs {syncs}"
        );
        match &self.bar {
            Some(bar) => {
                bar.set_position(*done);
                bar.set_message(text);
            }
            None => {
                let total = self.total;
                // Where nobody reads any more there is nobody to tell.
                let _written =
                    writeln!(std::io::stderr(), "[{seconds:.1} s] {done}/{total} rollouts, {text}");
            }
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
