//! What a policy is: the next token as a function of prefix and seed.

use std::fmt;
use std::sync::Arc;

use respool_core::{Fault, GenerateRequest, Logprob, Token};

use crate::hash::{fold, mix};

/// Turns text into the tokens that a policy would sample for it, control tokens included.
pub type Encoder = Arc<dyn Fn(&str) -> Vec<Token> + Send + Sync>;

/// Writes a turn the way that the model family does: what is said, then calls, each of them a name
/// and its arguments (raw text, usually a JSON object). `None` where the family cannot say it.
pub type TurnWriter = Arc<dyn Fn(&str, &[(&str, &str)]) -> Option<String> + Send + Sync>;

/// A policy: the next token, with its log-probability, is a function of prefix and seed.
///
/// Never of time, version, attempt or the number of calls. So however a turn is cut into
/// requests, the same tokens come; resume equivalence can be checked because of it.
pub trait Policy: Send + Sync + fmt::Debug {
    /// Puts a cursor where the request's prompt ends. This may cost as much as the prompt is
    /// long; each token after it may not.
    ///
    /// # Errors
    /// If the policy cannot answer this request at all.
    fn start(&self, request: &GenerateRequest) -> Result<Box<dyn Cursor>, Fault>;
}

/// The tokens that follow a prefix. There is always a next one; who asks knows when to stop.
pub trait Cursor: Send {
    /// The next token and its log-probability.
    fn next(&mut self) -> (Token, Logprob);
}

/// The tokens before the turn, and those of the turn that are sampled already.
pub(crate) fn split_turn(request: &GenerateRequest) -> (&[Token], &[Token]) {
    let sampled = (request.turn_tokens as usize).min(request.prompt_ids.len());
    request.prompt_ids.split_at(request.prompt_ids.len() - sampled)
}

/// A turn that is known as a whole: the next token is the plan's at this offset. A policy that is
/// not stopped at the plan's end starts over.
#[derive(Debug)]
pub(crate) struct Plan {
    tokens: Arc<[Token]>,
    at: usize,
    seed: u64,
    /// Length of the prefix.
    position: u64,
}

impl Plan {
    /// The rest of a plan after its first `at` tokens; an empty plan is the stop token.
    pub(crate) fn cursor(
        tokens: Arc<[Token]>,
        at: usize,
        stop: Token,
        request: &GenerateRequest,
    ) -> Box<dyn Cursor> {
        let tokens = if tokens.is_empty() { Arc::from([stop]) } else { tokens };
        Box::new(Self {
            at: at % tokens.len(),
            tokens,
            seed: mix(request.seed),
            position: request.prompt_ids.len() as u64,
        })
    }
}

impl Cursor for Plan {
    fn next(&mut self) -> (Token, Logprob) {
        let token = self.tokens[self.at];
        let logprob = logprob(self.seed, self.position, token);
        self.at = (self.at + 1) % self.tokens.len();
        self.position += 1;
        (token, logprob)
    }
}

/// A log-probability in `-8.0 ..= 0.0` from seed, position and token.
fn logprob(seed: u64, position: u64, token: Token) -> Logprob {
    let bits = mix(fold(fold(seed, position), u64::from(token)));
    // 24 bits are what an f32 holds exactly.
    Logprob::new(-((bits >> 40) as f32) * (8.0 / (1_u32 << 24) as f32))
}
