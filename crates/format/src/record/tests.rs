use proptest::prelude::*;
use respool_core::{Finish, Trajectory};

use super::*;
use crate::{Records, arbitrary};

fn line(record: &TrajectoryRecord) -> Vec<u8> {
    let mut bytes = Vec::new();
    record.write_line(&mut bytes).unwrap();
    bytes
}

proptest! {
    #[test]
    fn derived_lists_agree_and_lines_read_back(data in arbitrary::data()) {
        let missing = data.transcript.logprobs_missing();
        let record = TrajectoryRecord::from(&Trajectory { data, finish: Finish::Answered });
        prop_assert_eq!(record.contradiction(), None);
        prop_assert_eq!(record.logprobs_missing as usize, missing);
        let places = record.response_mask.iter().zip(&record.response_logprobs).zip(&record.token_versions);
        for ((mask, logprob), version) in places {
            prop_assert_eq!(*mask == 1, version.is_some());
            prop_assert!(*mask == 1 || logprob.is_none());
        }
        let bytes = line(&record);
        prop_assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 1);
        let mut read = Records::new(Box::new(std::io::Cursor::new(bytes.clone())), "test");
        let back = read.next().unwrap().unwrap();
        // Equal text is equal bits: each float is printed so that only it reads back.
        prop_assert_eq!(line(&back), bytes);
        crate::record_eq(&record, &back).unwrap();
    }

    #[test]
    fn every_log_probability_reads_back_by_bits(bits in any::<u32>()) {
        let value = f32::from_bits(bits);
        prop_assume!(value.is_finite());
        let text = serde_json::to_string(&value).unwrap();
        prop_assert_eq!(serde_json::from_str::<f32>(&text).unwrap().to_bits(), bits);
    }
}

#[track_caller]
fn check(change: impl FnOnce(String) -> String, expected: &str) {
    let good = line(&TrajectoryRecord::from(&crate::samples::trajectories()[0]));
    let good = String::from_utf8(good).unwrap();
    let file = format!("\n{}{good}", change(good.clone()));
    let mut records = Records::new(Box::new(std::io::Cursor::new(file)), "out/trajectories.jsonl");
    let error = records.next().unwrap().unwrap_err().to_string();
    assert!(error.starts_with(expected), "{error}");
    assert!(records.next().unwrap().is_ok(), "a bad line hides the next");
    assert!(records.next().is_none());
}

#[test]
fn bad_lines_are_named_by_line_and_field() {
    let replace = |from: &'static str, to: &'static str| move |text: String| text.replacen(from, to, 1);
    check(
        replace("\"content\":\"be brief\"", "\"content\":7"),
        "out/trajectories.jsonl:2: messages[0].content: invalid type: integer `7`, \
         expected a string or a list of content parts",
    );
    check(
        replace("\"response_mask\":[1,", "\"response_mask\":[2,"),
        "out/trajectories.jsonl:2: response_mask: found 2, expected 0 or 1",
    );
    check(
        replace("\"response_mask\":[1,", "\"response_mask\":["),
        "out/trajectories.jsonl:2: response_mask: 7 entries for 8 response tokens",
    );
    check(replace("\"finish\":", "\"end\":"), "out/trajectories.jsonl:2: .: missing field `finish`");
    check(|text| format!("{}\n", &text[..100]), "out/trajectories.jsonl:2: ");
}

#[test]
fn the_documented_example_is_a_record_and_every_field_is_documented() {
    let page = include_str!("../../../../docs/trajectory.md");
    let example = page.split("```json").nth(1).unwrap().split("```").next().unwrap();
    let record: TrajectoryRecord = serde_json::from_str(example).unwrap();
    assert_eq!(record.contradiction(), None);
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&line(&record)).unwrap();
    let rows: Vec<_> = page.lines().filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(rows, fields.keys().collect::<Vec<_>>());
}
