use super::graph::Graph;
use super::rules::check;

/// The faults of a workspace whose crates have these arrows, `from -> to`.
#[track_caller]
fn check_arrows(arrows: &[&str], expected: &[&str]) {
    let mut graph = Graph::default();
    for arrow in arrows {
        let (from, to) = arrow.split_once(" -> ").expect("an arrow");
        for name in [from, to] {
            let ours = name.starts_with("respool-") || name == "xtask";
            if ours && !graph.members.iter().any(|member| member == name) {
                graph.members.push(name.to_owned());
            }
        }
        graph.arrow(from, to);
    }
    graph.members.sort();
    assert_eq!(check(&graph), expected);
}

#[test]
fn arrows_go_down() {
    check_arrows(&["respool-engine -> respool-core", "respool-cli -> respool-engine"], &[]);
    check_arrows(
        &["respool-engine -> respool-driver"],
        &[
            "respool-engine: respool-engine -> respool-driver: an arrow goes down only, and this one goes from layer 1 up to layer 4",
        ],
    );
}

#[test]
fn crates_of_one_layer_do_not_know_each_other() {
    check_arrows(
        &["respool-tools -> respool-interact"],
        &["respool-tools: respool-tools -> respool-interact: crates of one layer (3) do not know each other"],
    );
    check_arrows(
        &["respool-verify -> respool-sim"],
        &[
            "respool-verify: respool-verify -> respool-sim: crates of one layer (5) do not know each other",
            "respool-verify: respool-verify -> respool-sim: respool-verify may not know respool-sim",
        ],
    );
}

#[test]
fn servers_may_implement_their_traits() {
    check_arrows(&["respool-llm-mock -> respool-llm", "respool-llm-http -> respool-llm"], &[]);
}

#[test]
fn what_is_outside_uses_all_and_is_used_by_none() {
    check_arrows(&["respool-testkit -> respool-driver", "respool-tests -> respool-testkit"], &[]);
    check_arrows(
        &["respool-driver -> respool-testkit"],
        &[
            "respool-driver: respool-driver -> respool-testkit: respool-testkit is outside the layers and nothing there uses it",
        ],
    );
    check_arrows(&["xtask -> respool-core"], &["xtask: xtask -> respool-core: it links no crate of ours"]);
}

#[test]
fn forbidden_crates_are_found_through_others() {
    check_arrows(
        &["respool-core -> thiserror", "thiserror -> helper", "helper -> serde"],
        &["respool-core: respool-core -> thiserror -> helper -> serde: respool-core may not know serde"],
    );
    check_arrows(
        &["respool-tools -> respool-stack", "respool-stack -> respool-engine"],
        &[
            "respool-tools: respool-tools -> respool-stack -> respool-engine: respool-tools may not know respool-engine",
        ],
    );
}

#[test]
fn a_crate_without_a_row_is_a_fault() {
    check_arrows(
        &["respool-new -> serde"],
        &["respool-new: has no layer; give it a row in xtask/src/layers/rules.rs"],
    );
}

#[test]
fn dev_dependencies_are_no_arrows() {
    let metadata = r#"{
        "packages": [
            {"id": "c", "name": "respool-core", "dependencies": [
                {"name": "serde", "kind": "dev"}, {"name": "tokio", "kind": null, "optional": true}]},
            {"id": "s", "name": "serde", "dependencies": []}
        ],
        "workspace_members": ["c"],
        "resolve": {"nodes": [
            {"id": "c", "deps": [{"pkg": "s", "dep_kinds": [{"kind": "dev"}]}]},
            {"id": "s", "deps": []}
        ]}
    }"#;
    let graph = Graph::from_metadata(metadata.as_bytes()).expect("metadata");
    assert_eq!(check(&graph), ["respool-core: respool-core -> tokio: respool-core may not know tokio"]);
    assert!(Graph::from_metadata(b"{}").is_err());
}
