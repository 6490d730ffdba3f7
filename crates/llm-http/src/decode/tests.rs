use proptest::prelude::*;
use respool_core::PolicyVersion;

use super::*;

fn sglang() -> Decoder {
    Decoder::Sglang(SglangDecoder::new())
}

fn vllm() -> Decoder {
    Decoder::Vllm(VllmDecoder::new())
}

/// What all events of an answer say together.
fn decode(mut decoder: Decoder, events: &[&str]) -> Result<Decoded, Malformed> {
    let mut all = Decoded::default();
    for event in events {
        let decoded = decoder.decode(event.as_bytes())?;
        assert_eq!(decoded.tokens.len(), decoded.logprobs.len());
        all.tokens.extend(decoded.tokens);
        all.logprobs.extend(decoded.logprobs);
        all.label = decoded.label.or(all.label);
        all.spans.extend(decoded.spans);
        all.finish = decoded.finish.or(all.finish);
        all.prompt_ids = decoded.prompt_ids.or(all.prompt_ids);
    }
    Ok(all)
}

const MISSING: f32 = f32::NAN;

#[track_caller]
fn check(decoder: Decoder, events: &[&str], tokens: &[Token], logprobs: &[f32]) -> Decoded {
    let decoded = decode(decoder, events).unwrap();
    assert_eq!(decoded.tokens, tokens);
    let expected: Vec<_> = logprobs.iter().map(|&value| Logprob::new(value)).collect();
    assert_eq!(decoded.logprobs, expected);
    decoded
}

#[track_caller]
fn check_malformed(decoder: Decoder, events: &[&str], kind: ErrorKind, message: &str) {
    let error = decode(decoder, events).unwrap_err();
    assert_eq!(error.kind, kind, "{error}");
    assert!(error.message.contains(message), "{error}");
}

/// An event of SGLang.
fn event(ids: &str, total: &str, logprobs: &str, finish: &str) -> String {
    format!(
        r#"{{"text":"t","output_ids":{ids},"meta_info":{{"id":"r","finish_reason":{finish},"weight_version":"3","output_token_logprobs":{logprobs},"completion_tokens":{total}}}}}"#
    )
}

#[test]
fn a_last_token_that_comes_twice_is_taken_once() {
    let stop = r#"{"type":"stop","matched":7}"#;
    let first = event("[5]", "1", "[[-1,5,null]]", "null");
    // With everything before it, and alone; also where the list of log-probabilities has it once.
    for last in [
        event("[5,6,7,7]", "3", "[[-1,5,null],[-2,6,null],[-3,7,null],[-3,7,null]]", stop),
        event("[6,7,7]", "3", "[[-2,6,null],[-3,7,null],[-3,7,null]]", stop),
        event("[5,6,7,7]", "3", "[[-1,5,null],[-2,6,null],[-3,7,null]]", stop),
    ] {
        check(sglang(), &[&first, &last], &[5, 6, 7], &[-1.0, -2.0, -3.0]);
    }
    check(sglang(), &[&event("[7,7]", "1", "[[-3,7,null],[-3,7,null]]", stop)], &[7], &[-3.0]);
    // The last token of the event before is no new one.
    let overlaps = event("[5,6,7]", "3", "[[-1,5,null],[-2,6,null],[-3,7,null]]", stop);
    let two = event("[4,5]", "2", "[[-4,4,null],[-1,5,null]]", "null");
    let overlaps = overlaps.replace("\"completion_tokens\":3", "\"completion_tokens\":4");
    check(sglang(), &[&two, &overlaps], &[4, 5, 6, 7], &[-4.0, -1.0, -2.0, -3.0]);
    let either = event("[5,6,6]", "4", "[[-1,5,null],[-2,6,null],[-2,6,null]]", stop);
    check_malformed(sglang(), &[&two, &either], ErrorKind::InvalidResponse, "cannot be told");
    let other = event("[5,6,7,8]", "3", "[]", stop);
    check_malformed(sglang(), &[&first, &other], ErrorKind::InvalidResponse, "completion_tokens is 3");
}

#[test]
fn counts_tokens_of_cumulative_and_of_incremental_streams() {
    let first = event("[5]", "1", "[[-0.5,5,null]]", "null");
    let cumulative = event("[5,6,7]", "3", "[[-0.5,5,null],[-1.5,6,null],[-2.5,7,\"x\"]]", "null");
    let more =
        event("[5,6,7,8]", "4", "[[-0.5,5,null],[-1.5,6,null],[-2.5,7,null],[-3,8,null]]", r#""stop""#);
    let all = check(sglang(), &[&first, &cumulative, &more], &[5, 6, 7, 8], &[-0.5, -1.5, -2.5, -3.0]);
    assert_eq!(all.finish, Some(WireFinish::Stop));
    assert_eq!(all.label, Some(Label::Version(PolicyVersion(3))));
    // New ids with all log-probabilities, new ids with theirs, all ids with the new log-probabilities.
    let mixed = event("[6,7]", "3", "[[-0.5,5,null],[-1.5,6,null],[-2.5,7,null]]", "null");
    check(sglang(), &[&first, &mixed, &more], &[5, 6, 7, 8], &[-0.5, -1.5, -2.5, -3.0]);
    let incremental = event("[6,7]", "3", "[[-1.5,6,null],[-2.5,7,null]]", "null");
    check(sglang(), &[&first, &incremental], &[5, 6, 7], &[-0.5, -1.5, -2.5]);
    // A list that repeated everything turns to new tokens only.
    let turned = event("[8]", "4", "[[-3,8,null]]", "null");
    check(sglang(), &[&first, &cumulative, &turned], &[5, 6, 7, 8], &[-0.5, -1.5, -2.5, -3.0]);
}

#[test]
fn takes_every_end_of_an_aborted_request() {
    let first = event("[5,6]", "2", "[[-0.5,5,null],[-1.5,6,null]]", "null");
    let abort = r#"{"type":"abort","message":"Aborted","status_code":null,"err_type":null}"#;
    let repeated = event("[6]", "2", "[[-1.5,6,null]]", abort);
    let queued = event("[]", "2", "[]", abort);
    let counted = event("[]", "3", "[]", abort);
    let forgotten = event("[]", "0", "[]", abort);
    let sparse = format!(r#"{{"text":"","meta_info":{{"id":"r","finish_reason":{abort}}}}}"#);
    for last in [&repeated, &queued, &counted, &forgotten, &sparse] {
        let all = check(sglang(), &[&first, last], &[5, 6], &[-0.5, -1.5]);
        assert_eq!(all.finish, Some(WireFinish::Abort), "{last}");
    }
    for only in [&queued, &counted, &forgotten, &sparse] {
        let all = check(sglang(), &[only], &[], &[]);
        assert_eq!(all.finish, Some(WireFinish::Abort), "{only}");
    }
}

#[test]
fn tells_refusals_and_failures_from_aborts() {
    let refused = r#"{"type":"abort","message":"longer than the model's context length","status_code":400,"err_type":"BadRequestError"}"#;
    let failed = |event: &str| match decode(sglang(), &[event]).unwrap().finish {
        Some(WireFinish::Failed(error)) => error,
        other => panic!("{other:?}"),
    };
    let error = failed(&event("[]", "0", "[]", refused));
    assert!(error.is_context_length() && error.code == Some(400));
    let error = failed(r#"{"error":{"message":"full","type":"ServiceUnavailableError","retryable":true}}"#);
    assert_eq!(error.class(), respool_core::Class::Overloaded { after: None });
    assert_eq!(failed(r#"{"error":"broken"}"#).class(), respool_core::Class::Transient);
    assert_eq!(failed(r#"{"object":"error","message":"m","code":"422"}"#).code, Some(422));
    assert_eq!(failed(r#"{"detail":"Not Found"}"#).message, "Not Found");
}

#[test]
fn takes_ids_from_log_probabilities_but_never_from_text() {
    let triples = r#"{"text":"ab","meta_info":{"output_token_logprobs":[[-1,5,null],[-2,6,null]],"completion_tokens":2}}"#;
    check(sglang(), &[triples], &[5, 6], &[-1.0, -2.0]);
    let text = r#"{"text":"ab","meta_info":{"finish_reason":{"type":"stop"},"completion_tokens":2}}"#;
    check_malformed(sglang(), &[text], ErrorKind::MissingTokenIds, "output_ids");
    let text = r#"{"id":"c","choices":[{"text":"ab","token_ids":null,"logprobs":{"tokens":["a","b"],"token_logprobs":[-1,-2]}}]}"#;
    check_malformed(vllm(), &[text], ErrorKind::MissingTokenIds, "token_ids");
    let text = r#"{"choices":[{"text":"ab","finish_reason":"stop"}]}"#;
    check_malformed(vllm(), &[text], ErrorKind::MissingTokenIds, "token_ids");
}

#[test]
fn flags_values_that_are_no_number() {
    for value in ["null", "NaN", "Infinity", "-Infinity", "-1e39", "-1e999", "\"-inf\"", "\"NaN\""] {
        let triple = format!("[[{value},5,null],[-1,6,\"NaN -Infinity\"]]");
        check(sglang(), &[&event("[5,6]", "2", &triple, "null")], &[5, 6], &[MISSING, -1.0]);
        let body =
            format!(r#"{{"choices":[{{"token_ids":[5,6],"logprobs":{{"token_logprobs":[{value},-1]}}}}]}}"#);
        check(vllm(), &[&body], &[5, 6], &[MISSING, -1.0]);
    }
    check(sglang(), &[&event("[5]", "1", "null", "null")], &[5], &[MISSING]);
    check(sglang(), &[&event("[5]", "1", "[[0,5,null]]", "null")], &[5], &[0.0]);
    check(sglang(), &[&event("[5]", "1", "[[-0.0,5,null]]", "null")], &[5], &[-0.0]);
}

#[test]
fn refuses_what_cannot_be_paired() {
    let invalid = ErrorKind::InvalidResponse;
    let refuse = |ids, total, logprobs, message: &str| {
        check_malformed(sglang(), &[&event(ids, total, logprobs, "null")], invalid, message);
    };
    refuse("[5,6]", "2", "[[-1,5,null]]", "1 log-probabilities for 2");
    refuse("[5,6]", "2", "[]", "0 log-probabilities for 2");
    refuse("[5]", "1", "[[-1,6,null]]", "of 6");
    refuse("[5]", "3", "[[-1,5,null]]", "less entries");
    refuse("[-5]", "1", "null", "-5");
    refuse("[4294967296]", "1", "null", "4294967296");
    refuse("[5]", "1", "[[-1]]", "length");
    refuse("[5", "1", "[]", "");
    check_malformed(sglang(), &["[]"], invalid, "expected an object");
    check_malformed(sglang(), &["{}"], invalid, "expected output_ids");
    let first = event("[5,6]", "2", "null", "null");
    check_malformed(sglang(), &[&first, &event("[7]", "1", "null", "null")], invalid, "is 1 after 2");
    check_malformed(sglang(), &[&first, &event("[7]", "null", "null", "null")], invalid, "completion_tokens");
    let four = r#"{"choices":[{"token_ids":[1,2,3],"logprobs":{"token_logprobs":[-1,-2,-3,-4]}}]}"#;
    check_malformed(vllm(), &[four], invalid, "4 log-probabilities for 3");
    let other =
        r#"{"choices":[{"token_ids":[1],"logprobs":{"content":[{"token":"token_id:2","logprob":-1}]}}]}"#;
    check_malformed(vllm(), &[other], invalid, "of 2");
    check_malformed(vllm(), &[r#"{"choices":[{"token_ids":[1]},{"token_ids":[2]}]}"#], invalid, "one choice");
    check_malformed(vllm(), &[r#"{"choices":[{"token_ids":[-1]}]}"#], invalid, "-1");
    check_malformed(vllm(), &[r#"{"usage":{}}"#], invalid, "expected choices");
}

#[test]
fn reads_every_shape_of_vllm() {
    let new = r#"{"request_id":"generate-tokens-r","choices":[{"index":0,"finish_reason":"length","token_ids":[7,8],"weight_versions":[{"version":"default","start":0,"end":1},{"version":"7","start":1,"end":2},{"version":"7","start":2,"end":2}],"logprobs":{"content":[{"token_id":7,"logprob":-1,"rank":9,"top_logprobs":[{"token_id":1,"logprob":-0.1}]},{"token_id":8,"logprob":-2}]}}]}"#;
    let all = check(vllm(), &[new], &[7, 8], &[-1.0, -2.0]);
    assert_eq!(all.finish, Some(WireFinish::Length));
    assert_eq!(
        all.spans,
        [
            LabelSpan { start: 0, len: 1, label: Label::Other("default".into()) },
            LabelSpan { start: 1, len: 1, label: Label::Version(PolicyVersion(7)) },
        ]
    );
    let old = r#"{"choices":[{"token_ids":[7],"logprobs":{"content":[{"token":"token_id:7","logprob":-1,"bytes":null,"top_logprobs":[{"token":"token_id:1","logprob":-0.1}]}]}}]}"#;
    check(vllm(), &[old], &[7], &[-1.0]);
    let text =
        r#"{"choices":[{"token_ids":[7],"logprobs":{"content":[{"token":"\ud83d x","logprob":-1}]}}]}"#;
    check(vllm(), &[text], &[7], &[-1.0]);
    let as_ids = r#"{"id":"cmpl-1","choices":[{"text":"ab","token_ids":null,"logprobs":{"tokens":["token_id:7","token_id:8"],"token_logprobs":[-1,null],"top_logprobs":[{"token_id:1":-0.1},null]}}]}"#;
    check(vllm(), &[as_ids], &[7, 8], &[-1.0, MISSING]);
    let clamped = r#"{"choices":[{"token_ids":[7,8],"logprobs":{"token_logprobs":[-9999.0,-9998.5]}}]}"#;
    check(vllm(), &[clamped], &[7, 8], &[MISSING, -9998.5]);
    let counted = r#"{"id":"cmpl-1","choices":[],"usage":{"prompt_tokens":1}}"#;
    let aborted = r#"{"choices":[{"finish_reason":"abort","token_ids":[],"logprobs":{"content":[]},"prompt_token_ids":[1,2]}]}"#;
    let all = check(vllm(), &[old, aborted, counted], &[7], &[-1.0]);
    assert_eq!((all.finish, all.prompt_ids), (Some(WireFinish::Abort), Some(vec![1, 2])));
    check(
        vllm(),
        &[r#"{"choices":[{"text":"ab","token_ids":[7,8],"logprobs":null}]}"#],
        &[7, 8],
        &[MISSING; 2],
    );
}

#[test]
fn reads_every_spelling_of_a_finish() {
    let finish = |raw: &str| {
        decode(vllm(), &[&format!(r#"{{"choices":[{{"finish_reason":{raw}}}]}}"#)]).map(|all| all.finish)
    };
    assert_eq!(finish("null"), Ok(None));
    for (raw, expected) in [
        (r#""stop""#, WireFinish::Stop),
        (r#""tool_calls""#, WireFinish::Stop),
        (r#"{"type":"stop","matched":2}"#, WireFinish::Stop),
        (r#"{"type":"length","length":16}"#, WireFinish::Length),
        (r#""abort""#, WireFinish::Abort),
        (r#""repetition""#, WireFinish::Repetition),
        (r#""solar_flare""#, WireFinish::Other("solar_flare".to_owned())),
    ] {
        assert_eq!(finish(raw), Ok(Some(expected)), "{raw}");
    }
    assert!(matches!(finish(r#""error""#), Ok(Some(WireFinish::Failed(_)))));
    assert!(finish("7").is_err() && finish("{}").is_err());
}

#[test]
fn knows_the_name_of_a_request_as_the_server_says_it() {
    let mut decoder = vllm();
    decoder.decode(br#"{"request_id":"generate-tokens-r","choices":[]}"#).unwrap();
    assert_eq!(decoder.request_id(), Some("generate-tokens-r"));
    let mut decoder = sglang();
    decoder.decode(event("[]", "0", "[]", "null").as_bytes()).unwrap();
    assert_eq!(decoder.request_id(), Some("r"));
}

proptest! {
    /// Whatever way a server cuts its answer into events, and in either style, the tokens are the same.
    #[test]
    fn cuts_and_styles_do_not_matter(
        sampled in prop::collection::vec((0_u32..200_000, -20_i32..0), 1..30),
        cuts in prop::collection::vec(0_usize..30, 0..8),
        repeat_ids: bool,
        repeat_logprobs: bool,
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(sampled.len())).collect();
        cuts.extend([0, sampled.len()]);
        cuts.sort_unstable();
        let events: Vec<String> = cuts.windows(2).map(|cut| {
            let list = |repeat: bool| &sampled[if repeat { 0 } else { cut[0] }..cut[1]];
            let ids: Vec<_> = list(repeat_ids).iter().map(|(id, _)| id.to_string()).collect();
            let triples: Vec<_> =
                list(repeat_logprobs).iter().map(|(id, value)| format!("[{value},{id},null]")).collect();
            event(&format!("[{}]", ids.join(",")), &cut[1].to_string(), &format!("[{}]", triples.join(",")), "null")
        }).collect();
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let all = decode(sglang(), &events).unwrap();
        let (tokens, logprobs): (Vec<_>, Vec<_>) =
            sampled.into_iter().map(|(id, value)| (id, Logprob::new(value as f32))).unzip();
        prop_assert_eq!((all.tokens, all.logprobs), (tokens, logprobs));
    }

    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = (sglang().decode(&bytes), vllm().decode(&bytes));
    }
}
