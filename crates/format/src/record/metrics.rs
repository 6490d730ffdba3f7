//! Counts, and what tools measured.

use std::collections::BTreeMap;

use respool_core::{AgentData, CallRecord, MarkKind};
use serde::{Deserialize, Serialize};

/// Counts and what tools measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricsRecord {
    /// How many call attempts ended in which way, over all tools.
    pub calls: BTreeMap<String, u32>,
    /// The same for each tool that was named in a readable call.
    pub tools: BTreeMap<String, ToolMetricsRecord>,
    /// How often the rollout was interrupted.
    pub interrupts: u32,
    /// Generation attempts on record, over all turns.
    pub attempts: u32,
    /// Generation attempts that broke and were continued elsewhere.
    pub failed_over: u32,
    /// Late, duplicate or stale events that were ignored.
    pub rejected_events: u64,
}

/// Calls of one tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolMetricsRecord {
    /// How many ended in which way.
    pub calls: BTreeMap<String, u32>,
    /// How many of them the tool was asked for.
    pub ran: u32,
    /// What the tool measured, by name, in call order; null where it is not finite.
    pub values: BTreeMap<String, Vec<Option<f64>>>,
}

impl From<&AgentData> for MetricsRecord {
    fn from(data: &AgentData) -> Self {
        let failed_over = |kind: &MarkKind| matches!(kind, MarkKind::FailedOver { .. });
        let mut metrics = Self {
            interrupts: super::derive::count(data.interrupts()),
            attempts: super::derive::count(data.attempts.len()),
            failed_over: super::derive::count(
                data.marks.iter().filter(|mark| failed_over(&mark.kind)).count(),
            ),
            rejected_events: data.rejected_events,
            ..Self::default()
        };
        for call in &data.calls {
            metrics.add(call);
        }
        metrics
    }
}

impl MetricsRecord {
    fn add(&mut self, call: &CallRecord) {
        let CallRecord { turn: _, slot: _, name, outcome, ran, metrics } = call;
        let outcome = outcome.as_str();
        *self.calls.entry(outcome.to_owned()).or_default() += 1;
        if name.is_empty() {
            return;
        }
        let tool = self.tools.entry(name.clone()).or_default();
        *tool.calls.entry(outcome.to_owned()).or_default() += 1;
        tool.ran += u32::from(*ran);
        for (metric, value) in metrics {
            tool.values.entry(metric.clone()).or_default().push(super::derive::finite(*value));
        }
    }
}
