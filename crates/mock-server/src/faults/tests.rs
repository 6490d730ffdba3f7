use std::collections::BTreeSet;

use super::*;

const EXAMPLE: &str = include_str!("example.toml");

fn read(name: &str, text: &str) -> Result<HttpFaults, FaultsError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    HttpFaults::read(&path)
}

#[test]
fn the_example_has_every_kind() {
    let faults = read("faults.toml", EXAMPLE).unwrap();
    let kinds: BTreeSet<_> = faults
        .script
        .iter()
        .map(|scripted| format!("{:?}", std::mem::discriminant(&scripted.fault)))
        .collect();
    assert_eq!(kinds.len(), 15);
    assert_eq!(faults.of(0), Some(HttpFault::Reset { after: 12 }));
}

#[test]
fn json_says_the_same() {
    let toml = read("a.toml", "[[script]]\nrequest = 3\nfault = { kind = \"stall\", after = 2 }\n").unwrap();
    let json = read("a.json", r#"{"script": [{"request": 3, "fault": {"kind": "stall", "after": 2}}]}"#);
    assert_eq!(toml, json.unwrap());
    assert_eq!(toml.of(3), Some(HttpFault::Stall { after: 2 }));
    assert_eq!(toml.of(2), None);
}

#[test]
fn what_is_not_expected_is_named() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let message = read("a.toml", text).unwrap_err().to_string();
        assert!(message.contains("a.toml") && message.contains(expected), "{message}");
    }
    check("sed = 1", "sed");
    check("[rates]\nrest = 1", "rest");
    check("[rates]\nreset = 2.0", "`rates` must be shares");
    check("[rates]\nreset = 0.6\nstall = 0.6", "together at most 1");
    check("[[script]]\nrequest = 0\nfault = { kind = \"explode\" }", "explode");
    check("[[script]]\nrequest = 0\nfault = { kind = \"reset\" }", "after");
    check("[[script]]\nrequest = 4\nfault = { kind = \"status\", status = 200 }", "request 4");
}

#[test]
fn rates_are_kept() {
    let rates = FaultRates { reset: 0.25, stall: 0.25, ..FaultRates::default() };
    let faults = HttpFaults { seed: 3, rates, ..HttpFaults::default() };
    let drawn: Vec<_> = (0..4000).filter_map(|request| faults.of(request)).collect();
    assert!((1800..2200).contains(&drawn.len()), "{}", drawn.len());
    let resets = drawn.iter().filter(|fault| matches!(fault, HttpFault::Reset { .. })).count();
    assert!((850..1150).contains(&resets), "{resets}");
    assert_eq!(faults.of(17), faults.of(17));
}
