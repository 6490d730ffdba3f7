use std::time::Duration;

use super::*;

#[track_caller]
fn plan(actions: &[&str]) -> Plan {
    read(&actions.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).expect("understood")
}

#[track_caller]
fn check_request(action: &str, index: usize, expected: Interrupt) {
    assert_eq!(plan(&[action]).requests, BTreeMap::from([(index, expected)]), "{action}");
}

#[track_caller]
fn check_tools(action: &str, expected: Moment, signal: Signal) {
    assert_eq!(plan(&[action]).first.with_tools, Some((expected, signal)), "{action}");
}

#[test]
fn signals_come_with_requests() {
    check_request("interrupt during request 2", 1, Interrupt::AfterTokens);
    check_request("interrupt during the second request", 1, Interrupt::AfterTokens);
    check_request("interrupt while request 1 is still queued", 0, Interrupt::AfterTokens);
    check_request("interrupt during request 1 (all 3 tokens were there)", 0, Interrupt::AfterTokens);
    check_request("Interrupt twice during request 1", 0, Interrupt::AfterTokens);
    check_request("interrupt during request 1 after the end token", 0, Interrupt::AfterTokens);
    check_request("hard cancel during request 1", 0, Interrupt::CancelAfterTokens);
    check_request(
        "interrupt during request 1; the server ignores the abort and answers normally 0.5 s later",
        0,
        Interrupt::Ignored(Duration::from_millis(500)),
    );
    check_request("interrupt at the moment request 1 finishes", 0, Interrupt::Ignored(Duration::ZERO));
    check_request("interrupt after request 1 has ended", 0, Interrupt::Ignored(Duration::ZERO));
    check_request("interrupt between request 1 and request 2", 0, Interrupt::Ignored(Duration::ZERO));
}

#[test]
fn signals_come_while_tools_run() {
    let after = |millis| Moment::AfterStart(Duration::from_millis(millis));
    check_tools("interrupt 0.05 s after the tool started (no resume)", after(50), Signal::Interrupt);
    check_tools("hard cancel of the trajectory 0.1 s after the tools started", after(100), Signal::Cancel);
    check_tools("interrupt 50 ms after tool t01 started", after(50), Signal::Interrupt);
    check_tools("interrupt while the tool is running", after(0), Signal::Interrupt);
    check_tools("interrupt during the tool call", after(0), Signal::Interrupt);
    check_tools("interrupt between the two tool results", Moment::FirstEnded, Signal::Interrupt);
    check_tools("interrupt after t01 finished, while t02 still runs", Moment::FirstEnded, Signal::Interrupt);
}

#[test]
fn signals_belong_to_their_run() {
    let two = plan(&["interrupt while the tool runs", "resume", "cancel while the tool runs"]);
    let at_once = Moment::AfterStart(Duration::ZERO);
    assert_eq!(two.first.with_tools, Some((at_once, Signal::Interrupt)));
    assert_eq!(two.resumes[0].1.with_tools, Some((at_once, Signal::Cancel)));
    let early = plan(&["interrupt before the first request", "resume"]);
    assert_eq!(early.first.at_start, Some(Signal::Interrupt));
    let paused = plan(&["interrupt during request 1", "hard cancel of the trajectory while paused"]);
    assert_eq!(paused.resumes[0].1.at_start, Some(Signal::Cancel));
}

#[test]
fn a_resume_may_go_through_bytes() {
    let resumes = |actions: &[&str]| plan(actions).resumes.iter().map(|(how, _)| *how).collect::<Vec<_>>();
    let written =
        resumes(&["interrupt during request 2", "write snapshot", "end the process", "resume", "resume"]);
    assert_eq!(written, [Resume::FromSnapshot, Resume::InPlace]);
    assert_eq!(resumes(&["resume in a new process"]), [Resume::FromSnapshot]);
    assert_eq!(resumes(&["weight update to version 2", "resume"]), [Resume::InPlace]);
}

#[test]
fn other_words_are_not_guessed() {
    for action in
        ["dance", "interrupt", "interrupt during request 1 after 1 token", "interrupt before request 2"]
    {
        assert!(read(&[action.to_owned()]).is_err(), "{action}");
    }
}
