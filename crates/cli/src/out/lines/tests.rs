use std::fs;

use super::*;

#[track_caller]
fn check(before: &str, whole: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    fs::write(&path, before).unwrap();
    let (mut lines, cut) = Lines::open(&path).unwrap();
    assert_eq!(cut as usize, before.len() - whole.len());
    lines.append(b"new\n").unwrap();
    lines.sync().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{whole}new\n"));
}

#[test]
fn an_unfinished_last_line_is_cut() {
    check("", "");
    check("one\n", "one\n");
    check("one\ntw", "one\n");
    check("on", "");
    let long = "x".repeat(200_000);
    check(&format!("one\n{long}"), "one\n");
    check(&format!("{long}\n{long}\n"), &format!("{long}\n{long}\n"));
    check(&long, "");
}

#[test]
fn one_writer_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    let (first, _) = Lines::open(&path).unwrap();
    assert!(Lines::open(&path).unwrap_err().to_string().contains("another respool"));
    drop(first);
    assert!(Lines::open(&path).is_ok());
}
