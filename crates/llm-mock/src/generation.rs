//! One generation of a mock server, as a stream.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::unfold;
use respool_core::{
    Fault, GenerateDelta, GenerateEvent, GenerateFinish, GenerateRequest, PolicyVersion, Token,
};
use respool_llm::WeightSync;
use respool_stack::{GenerateCall, GenerateStream};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::hash::{Draw, fold, mix};
use crate::server::Control;
use crate::{Cursor, DeltaSize, MockConfig, ServerFault};

type Item = Result<GenerateEvent, Fault>;

/// No wait is longer, so that no sum of waits overflows.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// No delta has more tokens: between two of them others have their turn.
const LARGEST_DELTA: u32 = 4096;

/// A generation between two items of its stream. Dropping it ends it.
pub(crate) struct Generation {
    cursor: Box<dyn Cursor>,
    stop_tokens: Arc<[Token]>,
    abort: CancellationToken,
    control: watch::Receiver<Control>,
    /// The value of `control.aborts` that does not concern it.
    aborts_before: u64,
    place: Place,
    fault: Option<ServerFault>,
    deltas: Deltas,
    token_latency: Duration,
    /// When the last token was due.
    clock: Instant,
    sampled: u32,
    max_tokens: u32,
    /// How it ends, once its last token is sampled.
    finish: Option<GenerateFinish>,
}

/// Whether it was let in: a pause keeps others waiting.
enum Place {
    Waiting(TaskTracker),
    Running { _counted: TaskTrackerToken },
}

/// What comes next.
enum Next {
    Tokens { count: u32, version: PolicyVersion },
    Aborted,
}

impl Generation {
    pub(crate) fn new(
        call: GenerateCall,
        cursor: Box<dyn Cursor>,
        fault: Option<ServerFault>,
        config: &MockConfig,
        control: watch::Receiver<Control>,
        running: TaskTracker,
    ) -> Self {
        let aborts_before = control.borrow().aborts;
        let latency = match fault {
            Some(ServerFault::Latency(latency)) => latency.min(LONGEST_WAIT),
            _ => Duration::ZERO,
        };
        Self {
            cursor,
            deltas: Deltas::new(config.delta_size, &call.request),
            stop_tokens: call.request.stop_token_ids,
            abort: call.abort,
            control,
            aborts_before,
            place: Place::Waiting(running),
            fault,
            token_latency: config.token_latency.min(LONGEST_WAIT),
            clock: Instant::now() + latency,
            sampled: 0,
            max_tokens: call.request.max_tokens,
            finish: (call.request.max_tokens == 0).then_some(GenerateFinish::Length),
        }
    }

    pub(crate) fn into_stream(self) -> GenerateStream {
        // Boxed, because each item moves it in and out of a future.
        unfold(Some(Box::new(self)), |generation| async move {
            let mut generation = generation?;
            let item = generation.next().await?;
            let is_last = matches!(item, Err(_) | Ok(GenerateEvent::Ended(_)));
            Some((item, (!is_last).then_some(generation)))
        })
        .boxed()
    }

    /// The next item, or `None` where the stream breaks off.
    async fn next(&mut self) -> Option<Item> {
        // A generation without pace is always ready: let others have their turn.
        tokio::task::coop::consume_budget().await;
        if self.is_aborted() {
            return Some(ended(GenerateFinish::Abort));
        }
        if let Some(finish) = self.finish.take() {
            return Some(ended(finish));
        }
        match self.fault {
            Some(ServerFault::Stall { after }) if after == self.sampled => {
                while !self.is_aborted() {
                    self.changed().await;
                }
                Some(ended(GenerateFinish::Abort))
            }
            Some(ServerFault::Abort { after }) if after == self.sampled => {
                Some(Err(Fault::transient("mock server: aborted the request unasked (fault script)")))
            }
            Some(ServerFault::Disconnect { after }) if after == self.sampled => None,
            _ => Some(self.next_delta().await),
        }
    }

    async fn next_delta(&mut self) -> Item {
        let mut size = self.deltas.next_size().min(self.max_tokens - self.sampled);
        if let Some(tokens) = self.tokens_before_fault() {
            size = size.min(tokens);
        }
        match self.wait_for(size).await {
            Next::Tokens { count, version } => Ok(GenerateEvent::Delta(self.sample(count, version))),
            Next::Aborted => ended(GenerateFinish::Abort),
        }
    }

    /// How many tokens may come before the fault; `None` if there is none ahead.
    fn tokens_before_fault(&self) -> Option<u32> {
        match self.fault? {
            ServerFault::Stall { after }
            | ServerFault::Abort { after }
            | ServerFault::Disconnect { after } => after.checked_sub(self.sampled),
            ServerFault::Latency(_) | ServerFault::Overload { .. } => None,
        }
    }

    /// Waits until `size` tokens are due; fewer where an abort, a pause or a new version comes
    /// between: those that are due by then are still sampled, by the old weights.
    async fn wait_for(&mut self, size: u32) -> Next {
        loop {
            let control = *self.control.borrow_and_update();
            if control.aborts != self.aborts_before {
                return Next::Aborted;
            }
            if self.is_held(control.pause) {
                self.changed().await;
                self.clock = self.clock.max(Instant::now());
            } else {
                self.let_in();
                let count = if self.is_time_for(size).await { size } else { self.tokens_due().min(size) };
                if count > 0 {
                    self.clock += self.token_latency * count;
                    return Next::Tokens { count, version: control.version };
                }
            }
            if self.abort.is_cancelled() {
                return Next::Aborted;
            }
        }
    }

    fn is_aborted(&self) -> bool {
        self.abort.is_cancelled() || self.control.borrow().aborts != self.aborts_before
    }

    /// Whether this pause stops it: others wait in any mode, it runs on while it is drained.
    fn is_held(&self, pause: Option<WeightSync>) -> bool {
        match (pause, &self.place) {
            (None, _) | (Some(WeightSync::Drain), Place::Running { .. }) => false,
            (Some(_), Place::Waiting(_))
            | (Some(WeightSync::Keep | WeightSync::Abort), Place::Running { .. }) => true,
        }
    }

    fn let_in(&mut self) {
        if let Place::Waiting(running) = &self.place {
            self.place = Place::Running { _counted: running.token() };
        }
    }

    /// Waits for an abort or for another control.
    async fn changed(&mut self) {
        tokio::select! {
            biased;
            () = self.abort.cancelled() => {}
            // The server's half closes only with the server; then an abort is all that can come.
            Ok(()) = self.control.changed() => {}
        }
    }

    /// True when the time for so many tokens is over; false if something changed before.
    async fn is_time_for(&mut self, size: u32) -> bool {
        if self.token_latency.is_zero() && self.sampled > 0 {
            return true;
        }
        let due = self.clock + self.token_latency * size;
        if due <= Instant::now() {
            return true;
        }
        tokio::select! {
            biased;
            () = self.changed() => false,
            () = tokio::time::sleep_until(due) => true,
        }
    }

    /// How many tokens are due by now.
    fn tokens_due(&self) -> u32 {
        let elapsed = Instant::now().saturating_duration_since(self.clock).as_nanos();
        let tokens = elapsed.checked_div(self.token_latency.as_nanos()).unwrap_or(0);
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }

    fn sample(&mut self, count: u32, version: PolicyVersion) -> GenerateDelta {
        let mut tokens = Vec::with_capacity(count as usize);
        let mut logprobs = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let (token, logprob) = self.cursor.next();
            tokens.push(token);
            logprobs.push(logprob);
            self.sampled += 1;
            if self.stop_tokens.contains(&token) {
                self.finish = Some(GenerateFinish::Stop);
                break;
            }
        }
        if self.finish.is_none() && self.sampled == self.max_tokens {
            self.finish = Some(GenerateFinish::Length);
        }
        GenerateDelta { version, tokens, logprobs }
    }
}

fn ended(finish: GenerateFinish) -> Item {
    Ok(GenerateEvent::Ended(finish))
}

/// The sizes of a generation's deltas.
struct Deltas {
    max: u32,
    random: Option<Draw>,
}

impl Deltas {
    fn new(size: DeltaSize, request: &GenerateRequest) -> Self {
        match size {
            DeltaSize::Fixed(size) => Self { max: size.clamp(1, LARGEST_DELTA), random: None },
            DeltaSize::Random { seed, max } => {
                let parts =
                    [request.rollout.0 as u64, request.effect.turn.into(), request.effect.attempt.into()];
                let key = mix(parts.into_iter().fold(mix(seed), fold));
                Self { max: max.clamp(1, LARGEST_DELTA), random: Some(Draw::new(key)) }
            }
        }
    }

    fn next_size(&mut self) -> u32 {
        match &mut self.random {
            Some(draw) => 1 + draw.below(self.max as usize) as u32,
            None => self.max,
        }
    }
}
