//! What goes wrong on the wire, and when.

use std::path::{Path, PathBuf};
use std::time::Duration;

use respool_llm_mock::{Draw, seed_from};
use serde::Deserialize;

/// What stands in the place of a log-probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BadLogprob {
    /// `null`.
    #[default]
    Null,
    /// `NaN`, as Python writes it (not JSON).
    Nan,
    /// `-Infinity`, as Python writes it (not JSON).
    NegativeInfinity,
}

/// Something that goes wrong with one request. `after` counts tokens of its answer; where the
/// answer is shorter, nothing happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "`after` is told above, once")]
pub enum HttpFault {
    /// Refused with this status: 429, 500, 503, any from 400 to 599.
    Status {
        /// The status.
        status: u16,
        /// The header `Retry-After`, in whole seconds.
        #[serde(default, with = "humantime_serde")]
        retry_after: Option<Duration>,
    },
    /// The status line comes so much later.
    SlowHeaders {
        #[serde(with = "humantime_serde")]
        delay: Duration,
    },
    /// The first token comes so much later.
    SlowFirstToken {
        #[serde(with = "humantime_serde")]
        delay: Duration,
    },
    /// The connection is reset.
    Reset { after: u32 },
    /// Nothing comes any more, until the request is aborted.
    Stall { after: u32 },
    /// The stream ends in good order, but without a finish.
    Close { after: u32 },
    /// The connection is closed within an event.
    Truncate { after: u32 },
    /// Bytes that are no JSON and no UTF-8, then the end.
    Garbage { after: u32 },
    /// An error event in the stream of a 200.
    ErrorEvent { after: u32 },
    /// The server aborts the request, unasked.
    Abort { after: u32 },
    /// The server dies: every connection is cut and the port refuses.
    Die {
        after: u32,
        /// After which time it is back, with the label of its start; never if left out.
        #[serde(default, with = "humantime_serde")]
        back_after: Option<Duration>,
    },
    /// The log-probability after so many tokens is said to be another token's.
    WrongIds { after: u32 },
    /// The log-probability after so many tokens is no number.
    BadLogprob {
        after: u32,
        /// What is there instead.
        #[serde(default)]
        value: BadLogprob,
    },
    /// There is a log-probability more than tokens.
    ExtraLogprob { after: u32 },
    /// The last token comes twice.
    RepeatLast,
}

/// A fault of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedFault {
    /// The index of the request, from 0, among all generation requests that the server accepted.
    pub request: u64,
    /// What goes wrong.
    pub fault: HttpFault,
}

/// How many requests meet each fault: shares from 0 to 1, together at most 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "named as the faults")]
pub struct FaultRates {
    pub too_many_requests: f64,
    pub unavailable: f64,
    pub internal_error: f64,
    pub slow_headers: f64,
    pub slow_first_token: f64,
    pub reset: f64,
    pub stall: f64,
    pub close: f64,
    pub truncate: f64,
    pub garbage: f64,
    pub error_event: f64,
    pub abort: f64,
    pub die: f64,
    pub wrong_ids: f64,
    pub bad_logprob: f64,
    pub extra_logprob: f64,
    pub repeat_last: f64,
}

/// What goes wrong: scripted by the index of the request, else at random.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpFaults {
    /// Decides what happens at random, together with the request's index.
    pub seed: u64,
    /// Faults of single requests.
    pub script: Vec<ScriptedFault>,
    /// Shares of faults at random.
    pub rates: FaultRates,
}

/// A file of faults that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FaultsError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not what is expected.
    #[error("{}: {message}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What was found, where, and what was expected.
        message: String,
    },
}

impl HttpFaults {
    /// Random faults come before so many tokens.
    const RANDOM_TOKENS: usize = 64;
    /// The longest delay that is drawn at random.
    const LONGEST_DELAY: Duration = Duration::from_secs(1);

    /// Reads a file: JSON if its name ends so, else TOML.
    ///
    /// # Errors
    /// If it cannot be read, or holds anything that is not expected.
    pub fn read(path: &Path) -> Result<Self, FaultsError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| FaultsError::Read { path: path.to_owned(), source })?;
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        let parsed = if is_json {
            serde_json::from_str(&text).map_err(|error| error.to_string())
        } else {
            toml::from_str(&text).map_err(|error| error.to_string())
        };
        let faults = parsed.and_then(Self::checked);
        faults.map_err(|message| FaultsError::Parse { path: path.to_owned(), message })
    }

    /// Itself, if its numbers make sense.
    fn checked(self) -> Result<Self, String> {
        let rates = self.rates.with(1, 0, Self::LONGEST_DELAY).map(|(rate, _)| rate);
        if rates.iter().any(|rate| !(0.0..=1.0).contains(rate)) || rates.iter().sum::<f64>() > 1.0 + 1e-9 {
            return Err("`rates` must be shares from 0 to 1 that are together at most 1".to_owned());
        }
        let is_wrong = |scripted: &&ScriptedFault| matches!(scripted.fault, HttpFault::Status { status, .. } if !(400..600).contains(&status));
        match self.script.iter().find(is_wrong) {
            Some(wrong) => {
                Err(format!("`script` for request {}: `status` must be from 400 to 599", wrong.request))
            }
            None => Ok(self),
        }
    }

    /// What goes wrong with the request of this index.
    pub(crate) fn of(&self, request: u64) -> Option<HttpFault> {
        let scripted = self.script.iter().find(|scripted| scripted.request == request);
        scripted.map(|scripted| scripted.fault).or_else(|| self.draw(request))
    }

    fn draw(&self, request: u64) -> Option<HttpFault> {
        let mut draw = Draw::new(seed_from(&[self.seed, request]));
        let (chance, share) = (draw.unit(), draw.unit());
        let (after, kind) = (draw.below(Self::RANDOM_TOKENS) as u32, draw.below(6));
        let faults = self.rates.with(after, kind, Self::LONGEST_DELAY.mul_f64(share));
        let mut passed = 0.0;
        faults.into_iter().find_map(|(rate, fault)| {
            passed += rate;
            (chance < passed).then_some(fault)
        })
    }
}

impl FaultRates {
    /// Each fault with its rate; `kind` chooses among variants of one.
    fn with(&self, after: u32, kind: usize, delay: Duration) -> [(f64, HttpFault); 17] {
        let retry_after = kind.is_multiple_of(2).then_some(Duration::from_secs(1));
        let status = |status| HttpFault::Status { status, retry_after };
        let value = [BadLogprob::Null, BadLogprob::Nan, BadLogprob::NegativeInfinity][kind % 3];
        [
            (self.too_many_requests, status(429)),
            (self.unavailable, status(503)),
            (self.internal_error, HttpFault::Status { status: 500, retry_after: None }),
            (self.slow_headers, HttpFault::SlowHeaders { delay }),
            (self.slow_first_token, HttpFault::SlowFirstToken { delay }),
            (self.reset, HttpFault::Reset { after }),
            (self.stall, HttpFault::Stall { after }),
            (self.close, HttpFault::Close { after }),
            (self.truncate, HttpFault::Truncate { after }),
            (self.garbage, HttpFault::Garbage { after }),
            (self.error_event, HttpFault::ErrorEvent { after }),
            (self.abort, HttpFault::Abort { after }),
            (self.die, HttpFault::Die { after, back_after: Some(delay) }),
            (self.wrong_ids, HttpFault::WrongIds { after }),
            (self.bad_logprob, HttpFault::BadLogprob { after, value }),
            (self.extra_logprob, HttpFault::ExtraLogprob { after }),
            (self.repeat_last, HttpFault::RepeatLast),
        ]
    }
}

#[cfg(test)]
mod tests;
