//! One answer as it comes in, without I/O: events in, what the pool sees out.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use respool_core::{
    Class, GenerateDelta, GenerateEvent, GenerateFinish, Logprob, PolicyVersion, Token, VersionSpan,
};
use respool_stack::{Waste, wasted};

use crate::{ClientError, Decoded, Decoder, ErrorKind, Label, LabelSpan, Malformed, ServerError, WireFinish};

/// What is known of a server, for all its answers.
#[derive(Debug)]
pub(crate) struct Facts {
    /// Its base URL.
    pub(crate) name: String,
    pub(crate) vocab_size: Option<u32>,
    pub(crate) accept_changed_prompt: bool,
    /// Whether a label that is no version was reported.
    pub(crate) label_reported: AtomicBool,
}

/// Enough of a prompt to recognise it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prompt {
    len: usize,
    hash: u64,
}

impl Prompt {
    pub(crate) fn new(ids: &[Token]) -> Self {
        let mut hasher = DefaultHasher::new();
        ids.hash(&mut hasher);
        Self { len: ids.len(), hash: hasher.finish() }
    }
}

/// How far an answer is.
#[derive(Debug)]
enum State {
    Open,
    Finished(GenerateFinish),
    Failed(ClientError),
}

/// One answer.
#[derive(Debug)]
pub(crate) struct Answer {
    facts: Arc<Facts>,
    decoder: Decoder,
    prompt: Prompt,
    /// The version in force when the request was sent.
    noted: PolicyVersion,
    /// Tokens that end the answer.
    stop: Arc<[Token]>,
    tokens: u32,
    /// Whether the last token is one that ends the answer.
    has_stopped: bool,
    /// Whether it was we who ended it.
    was_cut: bool,
    tells_weights: bool,
    spans: Vec<LabelSpan>,
    state: State,
    events: VecDeque<GenerateEvent>,
}

impl Answer {
    pub(crate) fn new(facts: Arc<Facts>, decoder: Decoder, prompt: Prompt, noted: PolicyVersion) -> Self {
        Self {
            facts,
            decoder,
            prompt,
            noted,
            stop: Arc::from([]),
            tokens: 0,
            has_stopped: false,
            was_cut: false,
            tells_weights: false,
            spans: Vec::new(),
            state: State::Open,
            events: VecDeque::new(),
        }
    }

    /// The same, with tokens that end it. SGLang ignores all of them where it is told to ignore the
    /// model's own (`ignore_eos`): what it gives after one is dropped, and the answer has stopped.
    pub(crate) fn with_stop_tokens(self, stop: Arc<[Token]>) -> Self {
        Self { stop, ..self }
    }

    /// Whether the server goes on although the answer has stopped.
    pub(crate) const fn was_cut(&self) -> bool {
        self.was_cut
    }

    /// The request's name as the server knows it, once it said.
    pub(crate) fn request_id(&self) -> Option<&str> {
        self.decoder.request_id()
    }

    /// Whether the engine said how it ended, or it cannot be read on.
    pub(crate) const fn is_over(&self) -> bool {
        !matches!(self.state, State::Open)
    }

    pub(crate) const fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed(_))
    }

    /// Whether its events repeated earlier ones.
    pub(crate) fn is_cumulative(&self) -> bool {
        self.decoder.is_cumulative()
    }

    /// Whether the engine said anything about the weights.
    pub(crate) const fn tells_weights(&self) -> bool {
        self.tells_weights
    }

    /// The next event, in order.
    pub(crate) fn next_event(&mut self) -> Option<GenerateEvent> {
        self.events.pop_front()
    }

    /// Takes the data of an event, or a whole body. Whatever comes after the end is not looked at.
    pub(crate) fn take(&mut self, text: &[u8]) {
        if self.is_over() {
            return;
        }
        match self.decoder.decode(text) {
            Ok(decoded) => self.take_decoded(decoded),
            Err(Malformed { kind, message }) => self.fail(kind, message),
        }
    }

    /// Takes what may be the last event, or only its beginning: then it never came.
    pub(crate) fn take_last(&mut self, text: &[u8]) {
        if self.is_over() {
            return;
        }
        if let Ok(decoded) = self.decoder.decode(text) {
            self.take_decoded(decoded);
        }
    }

    pub(crate) fn fail(&mut self, kind: ErrorKind, message: impl Into<String>) {
        let error = ClientError::new(kind, &self.facts.name, message);
        self.state = State::Failed(error);
    }

    /// The last event or the error; before it, what the engine told about versions. `asked` is
    /// whether we aborted: then every end but a proper one is the abort's.
    pub(crate) fn end(&mut self, asked: bool, broken: &str) -> Result<GenerateEvent, ClientError> {
        let tokens = self.tokens;
        let broken = || {
            let message = format!("{broken} without a finish, after {tokens} tokens");
            ClientError::new(ErrorKind::Broken, &self.facts.name, message)
        };
        let end = match std::mem::replace(&mut self.state, State::Open) {
            State::Finished(finish) => Ok(finish),
            State::Open | State::Failed(_) if asked => Ok(GenerateFinish::Abort),
            State::Failed(error) => Err(error),
            State::Open => Err(broken()),
        };
        end.map(GenerateEvent::Ended)
    }

    /// The engine's own account of versions, once. Labels that are no versions say nothing that the
    /// tokens do not say already.
    pub(crate) fn versions(&mut self) -> Option<GenerateEvent> {
        let spans = std::mem::take(&mut self.spans);
        let is_version = |span: &LabelSpan| matches!(span.label, Label::Version(_));
        if !spans.iter().any(is_version) {
            return None;
        }
        let uncertain = !spans.iter().all(is_version) || !are_one_after_the_other(&spans);
        let spans = spans.into_iter().filter_map(|LabelSpan { start, len, label }| {
            // An engine may count tokens that did not arrive.
            let len = len.min(self.tokens.checked_sub(start)?);
            (len > 0).then(|| VersionSpan { start, len, version: self.version(&label) })
        });
        let spans: Vec<_> = spans.collect();
        (!spans.is_empty()).then_some(GenerateEvent::Versions { spans, uncertain })
    }

    fn take_decoded(&mut self, mut decoded: Decoded) {
        if let Err((kind, message)) = self.check(&decoded) {
            wasted(Waste::Invalid, decoded.tokens.len());
            self.fail(kind, message);
            return;
        }
        self.tells_weights |= decoded.label.is_some() || !decoded.spans.is_empty();
        self.cut_after_stop(&mut decoded);
        if !decoded.tokens.is_empty() {
            let version = decoded.label.map_or(self.noted, |label| self.version(&label));
            let (tokens, mut logprobs) = (decoded.tokens, decoded.logprobs);
            logprobs
                .iter_mut()
                .filter(|value| is_no_logprob(**value))
                .for_each(|value| *value = Logprob::MISSING);
            self.tokens = self.tokens.saturating_add(u32::try_from(tokens.len()).unwrap_or(u32::MAX));
            self.events.push_back(GenerateEvent::Delta(GenerateDelta { version, tokens, logprobs }));
        }
        if !decoded.spans.is_empty() {
            self.spans = decoded.spans;
        }
        if let Some(finish) = decoded.finish {
            self.state = self.finished(finish);
            self.check_count();
        }
    }

    /// A whole answer has as many tokens as the engine says that it sampled. If one was lost or came
    /// twice on the way nobody knows which, and what was given on cannot be trusted any more.
    fn check_count(&mut self) {
        let is_whole = matches!(&self.state, State::Finished(finish) if *finish != GenerateFinish::Abort);
        let Some(counted) = self.spans.iter().map(|span| span.start.saturating_add(span.len)).max() else {
            return;
        };
        if is_whole && !self.was_cut && counted != self.tokens {
            let message = format!(
                "the engine sampled {counted} tokens and {} arrived: some were lost or doubled on the way, \
                 and the rollout is given up; look at what stands between us and the engine",
                self.tokens
            );
            let error = ClientError::with_class(
                ErrorKind::InvalidResponse,
                Class::Terminal,
                &self.facts.name,
                message,
            );
            self.state = State::Failed(error);
        }
    }

    /// Drops what comes after a token that ends the answer.
    fn cut_after_stop(&mut self, decoded: &mut Decoded) {
        let stop = decoded.tokens.iter().position(|token| self.stop.contains(token));
        let keep = match (self.has_stopped, stop) {
            (true, _) => 0,
            (false, Some(at)) => at + 1,
            (false, None) => return,
        };
        self.has_stopped = true;
        let surplus = decoded.tokens.len() - keep;
        if surplus > 0 {
            wasted(Waste::AfterStop, surplus);
            decoded.tokens.truncate(keep);
            decoded.logprobs.truncate(keep);
            self.was_cut = decoded.finish.is_none();
            decoded.finish = Some(WireFinish::Stop);
        }
    }

    fn check(&self, decoded: &Decoded) -> Result<(), (ErrorKind, String)> {
        if let Some(echo) = &decoded.prompt_ids
            && !self.facts.accept_changed_prompt
            && Prompt::new(echo) != self.prompt
        {
            let (found, sent) = (echo.len(), self.prompt.len);
            let what = if found == sent { "with other ids".to_owned() } else { format!("of {found} tokens") };
            return Err((
                ErrorKind::PromptChanged,
                format!(
                    "the server read a prompt {what}, sent were {sent} tokens; it, or what stands before it, \
                 must take ids as they are (accept_changed_prompt lets it pass)"
                ),
            ));
        }
        let vocab = self.facts.vocab_size.unwrap_or(u32::MAX);
        match decoded.tokens.iter().find(|&&token| token >= vocab) {
            Some(token) => Err((
                ErrorKind::InvalidResponse,
                format!("token {token} is outside the vocabulary of {vocab}: the server has another model"),
            )),
            None => Ok(()),
        }
    }

    fn finished(&self, finish: WireFinish) -> State {
        State::Finished(match finish {
            WireFinish::Stop => GenerateFinish::Stop,
            WireFinish::Length => GenerateFinish::Length,
            WireFinish::Abort => GenerateFinish::Abort,
            WireFinish::Repetition => GenerateFinish::Repetition,
            WireFinish::Other(name) => GenerateFinish::Other(name),
            WireFinish::Failed(error) if error.is_context_length() => GenerateFinish::ContextLength,
            WireFinish::Failed(error) => {
                return State::Failed(server_error(ErrorKind::ServerError, &self.facts.name, &error));
            }
        })
    }

    fn version(&self, label: &Label) -> PolicyVersion {
        match label {
            Label::Version(version) => *version,
            Label::Other(name) => {
                // Looked at first: every token comes by here.
                let reported = &self.facts.label_reported;
                if !reported.load(Ordering::Relaxed) && !reported.swap(true, Ordering::Relaxed) {
                    tracing::info!(
                        server = self.facts.name,
                        label = &**name,
                        "the server's label of its weights is no version: \
                         tokens get the version that was in force when their request was sent"
                    );
                }
                self.noted
            }
        }
    }
}

/// Whether each span begins where the one before it ends.
fn are_one_after_the_other(spans: &[LabelSpan]) -> bool {
    let mut end = 0_u32;
    spans.iter().all(|span| {
        let follows = span.start == end;
        end = span.start.saturating_add(span.len);
        follows
    })
}

/// A probability over 1, beyond what rounding does, is no probability.
fn is_no_logprob(value: Logprob) -> bool {
    value.get().is_some_and(|value| value > 1e-3)
}

/// A server's error as ours.
pub(crate) fn server_error(kind: ErrorKind, server: &str, error: &ServerError) -> ClientError {
    let code = error.code.map_or_else(String::new, |code| format!("{code}: "));
    let hint = match error.code {
        Some(401 | 403) if kind == ErrorKind::HttpStatus => " (set api_key_env or api_key_file?)",
        _ => "",
    };
    let class: Class = error.class();
    ClientError::with_class(kind, class, server, format!("{code}{}{hint}", error.message))
}

#[cfg(test)]
mod tests;
