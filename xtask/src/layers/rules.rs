//! The table of the design: who stands where, and who may not know what.

use super::graph::Graph;

/// Where a package stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Uses only what stands lower.
    Layer(u8),
    /// Ours alone: uses what it likes, and no crate with a layer uses it.
    Outside,
    /// Uses no crate of ours.
    Apart,
}

use Place::{Apart, Layer, Outside};

/// A package, its place, and the crates that it may not reach, directly or through others.
type Row = (&'static str, Place, &'static [&'static [&'static str]]);

const SERDE: &[&str] = &["serde", "serde_core", "serde_json", "postcard", "toml"];
const ASYNC: &[&str] =
    &["tokio", "tokio-util", "tokio-stream", "futures-core", "futures-util", "async-trait"];
const TOWER: &[&str] = &["tower", "tower-service", "tower-layer", "tower-http"];
const HTTP: &[&str] = &["hyper", "hyper-util", "http", "http-body-util", "axum", "reqwest", "ureq"];
const RANDOM: &[&str] = &["rand", "fastrand", "getrandom", "uuid"];
const ARGUMENTS: &[&str] = &["clap", "indicatif"];
const TOKIO: &[&str] = &["tokio", "tokio-util", "tokio-stream"];
const DIALECT: &[&str] = &["respool-dialect"];
const ENGINE: &[&str] = &["respool-engine"];
const SERVERS: &[&str] = &["respool-llm", "respool-llm-http", "respool-llm-mock"];
const TOOLS: &[&str] = &["respool-tools"];
const MANY: &[&str] = &["respool-registry", "respool-sim"];

const TABLE: &[Row] = &[
    ("respool-core", Layer(0), &[SERDE, ASYNC, TOWER, HTTP, RANDOM]),
    ("respool-engine", Layer(1), &[SERDE, ASYNC, TOWER, HTTP, RANDOM, DIALECT]),
    ("respool-dialect", Layer(1), &[ASYNC, TOWER, HTTP]),
    ("respool-format", Layer(2), &[TOKIO]),
    ("respool-stack", Layer(2), &[HTTP]),
    ("respool-llm", Layer(3), &[HTTP, TOOLS, ENGINE]),
    ("respool-llm-http", Layer(3), &[TOOLS, ENGINE]),
    ("respool-llm-mock", Layer(3), &[HTTP, TOOLS, ENGINE]),
    ("respool-tools", Layer(3), &[SERVERS, ENGINE]),
    ("respool-interact", Layer(3), &[SERVERS, ENGINE]),
    ("respool-store", Layer(3), &[ENGINE]),
    ("respool-driver", Layer(4), &[HTTP, ARGUMENTS, &["toml"]]),
    ("respool-mock-server", Layer(4), &[ARGUMENTS, TOOLS, ENGINE, DIALECT]),
    ("respool-registry", Layer(5), &[ARGUMENTS]),
    ("respool-sim", Layer(5), &[ARGUMENTS]),
    ("respool-verify", Layer(5), &[ARGUMENTS, MANY]),
    ("respool-service", Layer(6), &[ARGUMENTS]),
    ("respool-cli", Layer(7), &[]),
    ("respool-testkit", Outside, &[]),
    ("respool-tests", Outside, &[]),
    ("xtask", Apart, &[]),
];

/// Arrows within one layer that are meant: an implementation and its traits.
const WITHIN: &[(&str, &str)] = &[("respool-llm-http", "respool-llm"), ("respool-llm-mock", "respool-llm")];

/// Every arrow that breaks a rule, in words.
pub(super) fn check(graph: &Graph) -> Vec<String> {
    graph.members.iter().flat_map(|member| check_member(graph, member)).collect()
}

fn check_member(graph: &Graph, member: &str) -> Vec<String> {
    let Some((_, place, forbidden)) = TABLE.iter().find(|(name, ..)| *name == member) else {
        return vec![format!("{member}: has no layer; give it a row in xtask/src/layers/rules.rs")];
    };
    let arrows = graph.uses(member).filter_map(|used| {
        let (.., target) =
            TABLE.iter().find(|(name, ..)| *name == used).map(|(name, place, _)| (name, *place))?;
        let rule = broken_rule(*place, target, member, used)?;
        Some(format!("{member}: {member} -> {used}: {rule}"))
    });
    let known = forbidden.iter().copied().flatten().filter_map(|name| {
        let way = graph.path(member, name)?;
        Some(format!("{member}: {}: {member} may not know {name}", way.join(" -> ")))
    });
    arrows.chain(known).collect()
}

/// The rule that an arrow between two packages of ours breaks.
fn broken_rule(from: Place, to: Place, member: &str, used: &str) -> Option<String> {
    match (from, to) {
        (Apart, _) => Some("it links no crate of ours".to_owned()),
        (Outside, Layer(_) | Outside) => None,
        (_, Outside | Apart) => Some(format!("{used} is outside the layers and nothing there uses it")),
        (Layer(from), Layer(to)) if to < from => None,
        (Layer(from), Layer(to)) if to > from => {
            Some(format!("an arrow goes down only, and this one goes from layer {from} up to layer {to}"))
        }
        (Layer(_), Layer(_)) if WITHIN.contains(&(member, used)) => None,
        (Layer(from), Layer(_)) => Some(format!("crates of one layer ({from}) do not know each other")),
    }
}
