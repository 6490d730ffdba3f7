use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use super::plain;
use crate::{SglangDecoder, VllmDecoder};

/// Whether the quick way made a difference for the events of an answer.
#[track_caller]
fn check(events: &[Vec<u8>]) {
    let (mut quick, mut full) = (VllmDecoder::new(), VllmDecoder::new());
    for event in events {
        let found = quick.decode(event);
        assert_eq!(found, full.decode_fully(event), "{}", String::from_utf8_lossy(event));
    }
    assert_eq!(quick.request_id(), full.request_id());
    let (mut quick, mut full) = (SglangDecoder::new(), SglangDecoder::new());
    for event in events {
        let found = quick.decode(event);
        assert_eq!(found, full.decode_fully(event), "{}", String::from_utf8_lossy(event));
    }
    assert_eq!(quick.request_id(), full.request_id());
    assert_eq!(quick.is_cumulative(), full.is_cumulative());
}

#[test]
fn decides_as_serde_does_for_the_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for target in ["sglang_event", "vllm_event"] {
        for file in fs::read_dir(corpus.join(target)).unwrap() {
            let file = fs::read(file.unwrap().path()).unwrap();
            check(&file.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>());
        }
    }
}

const ODD: [&str; 32] = [
    "null",
    "true",
    "0",
    "-0",
    "-0.0",
    "00",
    "1.",
    ".5",
    "+1",
    "-",
    "1e5",
    "1E-3",
    "1e999",
    "-1e39",
    "NaN",
    "Infinity",
    "-Infinity",
    "4294967296",
    "18446744073709551616",
    "-9999.0",
    "1.00000005960464477540",
    r#""""#,
    r#""a\nb\u00e4""#,
    r#""\ud83d""#,
    r#""\x""#,
    "\"\u{1}\"",
    r#""token_id:7""#,
    "[]",
    "{}",
    r#"[[1,{"a":[null,"]}"]}],-2]"#,
    r#"{"error":1,"a\"b":[1]}"#,
    "[1,]",
];

fn odd() -> impl Strategy<Value = String> {
    select(&ODD[..]).prop_map(str::to_owned)
}

fn logprob() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => any::<f32>().prop_map(|value| format!("{:?}", f64::from(value))),
        4 => any::<f64>().prop_map(|value| format!("{value:?}")),
        2 => any::<i64>().prop_map(|value| value.to_string()),
        1 => odd(),
    ]
}

fn list(entry: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::collection::vec(entry, 0..3).prop_map(|entries| format!("[{}]", entries.join(" , ")))
}

/// Some of the fields in any order, seldom one twice, seldom an odd value.
fn object(fields: Vec<(&'static str, BoxedStrategy<String>)>) -> BoxedStrategy<String> {
    let count = fields.len();
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(key, value)| {
            let value = prop_oneof![30 => value, 1 => odd()];
            value.prop_map(move |value| format!("\"{key}\": {value}"))
        })
        .collect();
    let unknown = odd().prop_map(|value| format!("\"unknown\":{value}"));
    let some = subsequence((0..count).collect::<Vec<_>>(), count.saturating_sub(2)..=count);
    let extra = prop_oneof![20 => Just(None), 1 => any::<Index>().prop_map(Some)];
    (fields, some, extra, prop::option::weighted(0.2, unknown))
        .prop_map(|(fields, some, twice, unknown)| {
            let twice = twice.map(|twice| fields[twice.index(fields.len())].clone());
            let some = some.into_iter().map(|at| fields[at].clone());
            some.chain(twice).chain(unknown).collect::<Vec<_>>()
        })
        .prop_shuffle()
        .prop_map(|fields| format!("{{{}}}", fields.join(",\n")))
        .boxed()
}

fn one_of(values: &'static [&'static str]) -> BoxedStrategy<String> {
    select(values).prop_map(str::to_owned).boxed()
}

const TEXTS: &[&str] = &[r#""a""#, r#""""#, r#""a\n\u00e4""#, "\"ä\"", "7", "null"];
const IDS: &[&str] = &["[5]", "[5]", "[5,6]", "[]", "null", "[5.0]", "[-5]"];
const SPANS: &[&str] = &["null", "null", r#"[{"version":"3","start":0,"end":1}]"#];

fn vllm_event() -> BoxedStrategy<String> {
    let entry = object(vec![
        ("token_id", one_of(&["5", "5", "6", "null"])),
        ("token", one_of(&[r#""token_id:5""#, r#""\ud83d x""#])),
        ("logprob", logprob().boxed()),
        ("top_logprobs", odd().boxed()),
    ]);
    let logprobs = object(vec![
        ("content", prop_oneof![list(entry), Just("null".to_owned())].boxed()),
        ("token_logprobs", list(logprob()).boxed()),
        ("tokens", one_of(&[r#"["token_id:5"]"#, r#"["a\n"]"#, "null"])),
    ]);
    let choice = object(vec![
        ("finish_reason", one_of(&["null", "null", r#""stop""#])),
        ("token_ids", one_of(IDS)),
        ("text", one_of(TEXTS)),
        ("logprobs", logprobs),
        ("weight_versions", one_of(SPANS)),
        ("prompt_token_ids", one_of(&["null", "[1,2]"])),
    ]);
    let choices = prop_oneof![
        20 => choice.clone().prop_map(|choice| format!("[{choice}]")),
        1 => (choice.clone(), choice).prop_map(|(one, two)| format!("[{one},{two}]")),
    ];
    object(vec![
        ("request_id", one_of(TEXTS)),
        ("id", one_of(TEXTS)),
        ("choices", choices.boxed()),
        ("error", one_of(&["null", "null", r#"{"message":"m"}"#])),
        ("usage", odd().boxed()),
    ])
}

fn sglang_event() -> BoxedStrategy<String> {
    let triple = (logprob(), select(&["5", "5", "6"][..]), odd());
    let triples = list(triple.prop_map(|(value, id, text)| format!("[{value},{id},{text}]")));
    let meta_info = object(vec![
        ("id", one_of(TEXTS)),
        ("finish_reason", one_of(&["null", "null", r#"{"type":"stop"}"#])),
        ("completion_tokens", one_of(&["1", "2", "3", "1.0", "null"])),
        ("weight_version", one_of(TEXTS)),
        ("weight_versions", one_of(SPANS)),
        ("output_token_logprobs", triples.boxed()),
        ("cached_tokens", odd().boxed()),
    ]);
    object(vec![
        ("text", one_of(TEXTS)),
        ("output_ids", one_of(IDS)),
        ("meta_info", meta_info),
        ("prompt_token_ids", one_of(&["null", "[1,2]"])),
        ("object", one_of(&["null", r#""error""#])),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn decides_as_serde_does_for_vllm(events in prop::collection::vec(vllm_event(), 1..4)) {
        check(&events.into_iter().map(String::into_bytes).collect::<Vec<_>>());
    }

    #[test]
    fn decides_as_serde_does_for_sglang(events in prop::collection::vec(sglang_event(), 1..4)) {
        check(&events.into_iter().map(String::into_bytes).collect::<Vec<_>>());
    }

    /// A byte that is another, or missing.
    #[test]
    fn decides_as_serde_does_for_damaged_events(
        event in prop_oneof![vllm_event(), sglang_event()],
        place: Index,
        byte in prop::option::of(select(&b"{}[],:\"\\ 0-.e\n\xffn"[..])),
    ) {
        let mut event = event.into_bytes();
        let at = place.index(event.len());
        event.splice(at..=at, byte);
        check(&[event]);
    }

    #[test]
    fn finds_what_ends_a_plain_text(
        text in prop::collection::vec(
            prop_oneof![9 => any::<u8>(), 1 => select(&b"\"\\\x1f\x20\x21\x7f\x80\xa2\xdc"[..])],
            0..40,
        ),
    ) {
        let stops = |&byte: &u8| matches!(byte, b'"' | b'\\') || byte < 0x20;
        prop_assert_eq!(plain(&text), text.iter().position(stops).unwrap_or(text.len()));
    }
}
