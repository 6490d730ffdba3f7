//! The committed files of version 1 still decode to what they were made from.
//! `UPDATE_FIXTURES=1 cargo test -p respool-format` writes them anew; that is right only before a
//! version is released, or together with a new one.

use std::{fs, path::PathBuf};

use crate::{
    Records, Snapshot, TrajectoryRecord, decode, encode, encode_entry, envelope, read_journal, samples,
};

fn fixture(name: &str, make: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/fixtures").join(name);
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        fs::write(&path, make()).unwrap();
    }
    fs::read(&path).unwrap()
}

/// The file holds one snapshot after the other; each is decoded alone.
fn split(mut bytes: &[u8]) -> Vec<Snapshot> {
    let mut snapshots = Vec::new();
    while !bytes.is_empty() {
        let (first, rest) = bytes.split_at(envelope::open(envelope::Kind::Snapshot, bytes).unwrap().len);
        snapshots.push(decode(first).unwrap());
        bytes = rest;
    }
    snapshots
}

#[test]
fn snapshots_of_version_1() {
    let bytes = fixture("snapshot_v1.bin", || samples::snapshots().iter().flat_map(encode).collect());
    assert_eq!(split(&bytes), samples::snapshots());
}

#[test]
fn journal_of_version_1() {
    let bytes = fixture("journal_v1.bin", || samples::entries().iter().flat_map(encode_entry).collect());
    let journal = read_journal(&bytes);
    assert_eq!(journal.stopped, None);
    assert_eq!(journal.entries, samples::entries());
}

/// Text, so byte for byte: the names and the order of the fields are the format.
#[test]
fn trajectory_records_of_version_1() {
    let made = || {
        let mut bytes = Vec::new();
        for trajectory in samples::trajectories() {
            TrajectoryRecord::from(&trajectory).write_line(&mut bytes).unwrap();
        }
        bytes
    };
    let bytes = fixture("trajectory_v1.jsonl", made);
    assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&made()));
    let records = Records::new(Box::new(std::io::Cursor::new(bytes)), "trajectory_v1.jsonl");
    assert_eq!(records.filter_map(Result::ok).count(), samples::trajectories().len());
}
