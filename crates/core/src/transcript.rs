//! The tokens of a rollout as runs. Mask, log-probabilities and versions are derived from them.

mod run;

pub use run::{Run, RunKind};

use crate::{Logprob, PolicyVersion, Token};

/// All tokens of a rollout in order: the prompt, then the response.
///
/// Tokens are append-only but for [`Self::truncate`] (a turn that is sampled again, or tokens past
/// a stop). Adjacent runs of one kind and version merge, and the prompt is a run of its own, so
/// that equal histories are equal values. Eight bytes a sampled token, four a given one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    tokens: Vec<Token>,
    /// One for each sampled token, in order.
    logprobs: Vec<Logprob>,
    prompt_len: u32,
    /// Runs of the response; the prompt has none.
    runs: Vec<Run>,
    prompt_ended: bool,
}

impl Transcript {
    /// No tokens yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Rebuilds a transcript from its parts, or says which of them do not fit together.
    ///
    /// # Errors
    /// If the lengths of runs, tokens and log-probabilities disagree, or two runs should be one.
    pub fn from_parts(
        tokens: Vec<Token>,
        logprobs: Vec<Logprob>,
        prompt_len: u32,
        runs: Vec<Run>,
        prompt_ended: bool,
    ) -> Result<Self, &'static str> {
        let total: u64 = runs.iter().map(|run| u64::from(run.len)).sum();
        if u64::from(prompt_len) + total != tokens.len() as u64 {
            return Err("runs do not cover the tokens");
        }
        if runs.iter().any(|run| run.len == 0) {
            return Err("a run is empty");
        }
        if runs.windows(2).any(|pair| pair[0].kind == pair[1].kind) {
            return Err("two neighbouring runs are of one kind");
        }
        if !prompt_ended && !runs.is_empty() {
            return Err("there is a response before the prompt's end");
        }
        let sampled: u64 = runs.iter().filter(|run| run.is_sampled()).map(|run| u64::from(run.len)).sum();
        if sampled != logprobs.len() as u64 {
            return Err("there is not one log-probability a sampled token");
        }
        Ok(Self { tokens, logprobs, prompt_len, runs, prompt_ended })
    }

    /// Appends tokens of the environment.
    pub fn push_given(&mut self, tokens: &[Token]) {
        if self.prompt_ended {
            self.extend_run(RunKind::Given, tokens.len());
        } else {
            self.prompt_len += count(tokens.len());
        }
        self.tokens.extend_from_slice(tokens);
    }

    /// What follows is the response. Until then all tokens are the prompt's.
    pub fn end_prompt(&mut self) {
        self.prompt_ended = true;
    }

    /// Appends sampled tokens with one log-probability each; a shorter list is filled with
    /// [`Logprob::MISSING`], a longer one is cut.
    pub fn push_sampled(&mut self, version: PolicyVersion, tokens: &[Token], logprobs: &[Logprob]) {
        self.prompt_ended = true;
        self.extend_run(RunKind::Sampled { version }, tokens.len());
        self.tokens.extend_from_slice(tokens);
        let given = logprobs.iter().copied().chain(std::iter::repeat(Logprob::MISSING));
        self.logprobs.extend(given.take(tokens.len()));
    }

    fn extend_run(&mut self, kind: RunKind, len: usize) {
        let len = count(len);
        match self.runs.last_mut() {
            _ if len == 0 => {}
            Some(run) if run.kind == kind => run.len += len,
            _ => self.runs.push(Run { kind, len }),
        }
    }

    /// Drops everything from transcript position `len` on; never a token of the prompt.
    pub fn truncate(&mut self, len: u32) {
        let len = len.max(self.prompt_len);
        while self.len() > len {
            let surplus = self.len() - len;
            let Some(run) = self.runs.last_mut() else { return };
            let cut = surplus.min(run.len);
            run.len -= cut;
            let (is_sampled, is_empty) = (run.is_sampled(), run.len == 0);
            if is_empty {
                self.runs.pop();
            }
            self.tokens.truncate(self.tokens.len() - cut as usize);
            if is_sampled {
                self.logprobs.truncate(self.logprobs.len() - cut as usize);
            }
        }
    }

    /// Replaces the version of the sampled tokens in `start .. start + len` (transcript positions).
    /// Given tokens in the range stay as they are.
    pub fn relabel(&mut self, start: u32, len: u32, version: PolicyVersion) {
        let end = start.saturating_add(len);
        let old = std::mem::take(&mut self.runs);
        let mut at = self.prompt_len;
        for run in old {
            let run_end = at + run.len;
            let (from, to) = (start.clamp(at, run_end), end.clamp(at, run_end));
            let kind = if run.is_sampled() { RunKind::Sampled { version } } else { run.kind };
            self.extend_run(run.kind, (from - at) as usize);
            self.extend_run(kind, (to - from) as usize);
            self.extend_run(run.kind, (run_end - to) as usize);
            at = run_end;
        }
    }

    /// Number of all tokens.
    #[must_use]
    pub fn len(&self) -> u32 {
        count(self.tokens.len())
    }

    /// Whether there is no token at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Whether [`Self::end_prompt`] was called.
    #[must_use]
    pub fn prompt_ended(&self) -> bool {
        self.prompt_ended
    }

    /// All tokens: what the next generation request sends as its prompt.
    #[must_use]
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// One log-probability for each sampled token, in order.
    #[must_use]
    pub fn logprobs(&self) -> &[Logprob] {
        &self.logprobs
    }

    /// The runs of the response, in order.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Number of prompt tokens.
    #[must_use]
    pub fn prompt_len(&self) -> u32 {
        self.prompt_len
    }

    /// The first prompt, before any response.
    #[must_use]
    pub fn prompt_ids(&self) -> &[Token] {
        &self.tokens[..self.prompt_len as usize]
    }

    /// Number of response tokens, sampled and given.
    #[must_use]
    pub fn response_len(&self) -> u32 {
        self.len() - self.prompt_len
    }

    /// All tokens after the prompt.
    #[must_use]
    pub fn response_ids(&self) -> &[Token] {
        &self.tokens[self.prompt_len as usize..]
    }

    /// One entry a response token: 1 if the policy sampled it, 0 if the environment gave it.
    #[must_use]
    pub fn response_mask(&self) -> Vec<u8> {
        self.each_run(|run| u8::from(run.is_sampled()))
    }

    /// One entry a response token; `None` where it was not sampled.
    #[must_use]
    pub fn token_versions(&self) -> Vec<Option<PolicyVersion>> {
        self.each_run(|run| run.version())
    }

    /// One entry a response token; `None` where it was not sampled.
    #[must_use]
    pub fn response_logprobs(&self) -> Vec<Option<Logprob>> {
        let mut logprobs = self.logprobs.iter().copied();
        self.each_run(|run| run.is_sampled())
            .into_iter()
            .map(|sampled| if sampled { logprobs.next() } else { None })
            .collect()
    }

    /// How many sampled tokens have no log-probability.
    #[must_use]
    pub fn logprobs_missing(&self) -> usize {
        self.logprobs.iter().filter(|logprob| **logprob == Logprob::MISSING).count()
    }

    /// Version of the first sampled token.
    #[must_use]
    pub fn version_start(&self) -> Option<PolicyVersion> {
        self.runs.iter().find_map(|run| run.version())
    }

    /// Version of the last sampled token.
    #[must_use]
    pub fn version_end(&self) -> Option<PolicyVersion> {
        self.runs.iter().rev().find_map(|run| run.version())
    }

    /// Transcript positions of sampled tokens whose version is not that of the sampled token before,
    /// in order; the first sampled token is one.
    #[must_use]
    pub fn version_changes(&self) -> Vec<(u32, PolicyVersion)> {
        let (mut changes, mut at) = (Vec::<(u32, PolicyVersion)>::new(), self.prompt_len);
        for run in &self.runs {
            if let Some(version) = run.version()
                && changes.last().is_none_or(|(_, before)| *before != version)
            {
                changes.push((at, version));
            }
            at += run.len;
        }
        changes
    }

    /// The oldest version that sampled a token; staleness is counted from it.
    #[must_use]
    pub fn version_min(&self) -> Option<PolicyVersion> {
        self.runs.iter().filter_map(Run::version).min()
    }

    fn each_run<T: Clone>(&self, value: impl Fn(&Run) -> T) -> Vec<T> {
        let mut out = Vec::with_capacity(self.response_len() as usize);
        for run in &self.runs {
            out.resize(out.len() + run.len as usize, value(run));
        }
        out
    }
}

/// Token counts fit `u32`: a transcript of four billion tokens is 16 GB, far over any limit.
fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
