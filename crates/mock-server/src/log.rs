//! What a server sent.

use std::sync::{Arc, Mutex, PoisonError};

use respool_core::RolloutId;
use tokio_util::sync::CancellationToken;

use crate::HttpFault;
use crate::ask::Ask;
use crate::life::Life;

/// A stretch of an answer's tokens under one label of the weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSpan {
    /// Offset of the first token among those that were sent.
    pub start: u32,
    /// Offset after the last token.
    pub end: u32,
    /// What the weights were called when the tokens were sampled.
    pub label: Arc<str>,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireEnd {
    /// A stop token.
    Stop,
    /// The request's budget.
    Length,
    /// Aborted: by its id, with all others, by a pause, or unasked by a fault.
    Abort,
    /// The client closed the connection.
    Disconnect,
    /// The server died.
    Death,
    /// Broken off by a fault.
    Fault,
}

/// What was sent for one generation request that was not refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireRecord {
    /// The request's id, as the client sent it or as the server made it.
    pub id: String,
    /// The rollout, if the id tells it.
    pub rollout: Option<RolloutId>,
    /// Tokens of the prompt: the answer's first token has this position.
    pub prompt_tokens: u32,
    /// Tokens in events that were given whole to the connection. What a death or a reset cut from
    /// the connection's buffers is in the count; a token that a fault repeats is counted once.
    pub sent: u32,
    /// Labels of the tokens that were sent.
    pub spans: Vec<LabelSpan>,
    /// How the answer ended.
    pub end: WireEnd,
    /// How many deaths the server had behind it.
    pub life: u32,
    /// What was to go wrong with it.
    pub fault: Option<HttpFault>,
}

impl WireRecord {
    /// The label under which the sent token with this offset was sampled.
    #[must_use]
    pub fn label(&self, token: u32) -> Option<&str> {
        let span = self.spans.iter().find(|span| (span.start..span.end).contains(&token));
        span.map(|span| &*span.label)
    }
}

/// Answers that ended, in the order of their ends. Clones are the same log.
#[derive(Clone, Debug, Default)]
pub struct WireLog {
    records: Arc<Mutex<Vec<WireRecord>>>,
}

impl WireLog {
    /// All records so far.
    #[must_use]
    pub fn records(&self) -> Vec<WireRecord> {
        self.lock().clone()
    }

    /// The records so far; they are forgotten here.
    #[must_use]
    pub fn take(&self) -> Vec<WireRecord> {
        std::mem::take(&mut *self.lock())
    }

    /// Tokens sent by all answers that ended.
    #[must_use]
    pub fn tokens_sent(&self) -> u64 {
        self.lock().iter().map(|record| u64::from(record.sent)).sum()
    }

    pub(crate) fn push(&self, record: WireRecord) {
        self.lock().push(record);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<WireRecord>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The record of an answer that is being sent. Dropped without an end, the client went away, or
/// the server died.
#[derive(Debug)]
pub(crate) struct Receipt {
    log: WireLog,
    record: WireRecord,
    /// Labels of the tokens that were sampled.
    spans: Vec<LabelSpan>,
    death: CancellationToken,
    is_logged: bool,
}

impl Receipt {
    pub(crate) fn new(log: WireLog, ask: &Ask, life: &Life, fault: Option<HttpFault>) -> Self {
        let record = WireRecord {
            id: ask.id.clone(),
            rollout: ask.rollout(),
            prompt_tokens: ask.prompt.len() as u32,
            sent: 0,
            spans: Vec::new(),
            end: WireEnd::Disconnect,
            life: life.index,
            fault,
        };
        Self { log, record, spans: Vec::new(), death: life.death.clone(), is_logged: false }
    }

    /// These tokens were sampled under this label.
    pub(crate) fn sampled(&mut self, start: u32, end: u32, label: &Arc<str>) {
        match self.spans.last_mut() {
            Some(span) if span.label == *label => span.end = end,
            _ => self.spans.push(LabelSpan { start, end, label: Arc::clone(label) }),
        }
    }

    /// So many tokens were sent.
    pub(crate) fn sent(&mut self, tokens: u32) {
        self.record.sent = tokens;
    }

    /// Labels of the tokens that were sampled.
    pub(crate) fn spans(&self) -> &[LabelSpan] {
        &self.spans
    }

    /// The answer ended; only the first end counts.
    pub(crate) fn end(&mut self, end: WireEnd) {
        if std::mem::replace(&mut self.is_logged, true) {
            return;
        }
        let sent = self.record.sent;
        let spans = self.spans.iter().filter(|span| span.start < sent);
        let spans = spans.map(|span| LabelSpan { end: span.end.min(sent), ..span.clone() }).collect();
        self.log.push(WireRecord { end, spans, ..self.record.clone() });
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        self.end(if self.death.is_cancelled() { WireEnd::Death } else { WireEnd::Disconnect });
    }
}
