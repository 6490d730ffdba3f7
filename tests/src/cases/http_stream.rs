//! `http_stream`: what the client makes of what servers send, over real sockets.
//!
//! Texts that come beside token ids are not compared: the client hands on ids and nothing else.

mod answers;
mod expected;
mod input;
mod script;
mod table;
mod turns;

use respool_llm_http::Api;
use serde::Deserialize;
use tokio::runtime::Builder;

use self::expected::Expected;
use self::input::Input;
use super::{Case, Checked};
use crate::item;
use crate::report::Verdict;

/// Checks a case.
///
/// # Errors
/// How it ended, if not as expected.
pub(super) fn check(case: &Case) -> Checked {
    let input: Input = item::parse(case.input.get())?;
    let expected: Expected = item::parse(case.expected.get())?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Verdict::Fail(format!("no runtime: {error}")))?;
    runtime.block_on(async {
        match input {
            Input::Answer(answer) => answers::check(&answer, &expected).await,
            Input::Table(table) => table::check(&table, &expected).await,
            Input::Script(script) => script::check_one(&script, &expected).await,
            Input::Servers(servers) => script::check_many(&servers, &expected).await,
            Input::Ids(ids) => turns::check_ids(&ids, &expected).await,
            Input::Refusal(refusal) => turns::check_refusal(&refusal, &expected).await,
        }
    })
}

/// A wire format of the cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Wire {
    SglangGenerate,
    VllmGenerate,
    VllmCompletions,
    /// Token ids and log-probabilities stand where they do in `/inference/v1/generate`.
    VllmChat,
}

impl Wire {
    const fn api(self) -> Api {
        match self {
            Self::SglangGenerate => Api::SglangGenerate,
            Self::VllmCompletions => Api::VllmCompletions,
            Self::VllmGenerate | Self::VllmChat => Api::VllmGenerate,
        }
    }
}

/// What went wrong with the harness itself.
fn broken(error: impl std::fmt::Display) -> Verdict {
    Verdict::Fail(format!("the harness: {error}"))
}
