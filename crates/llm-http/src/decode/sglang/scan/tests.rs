use super::*;

#[test]
fn takes_the_usual_events_and_leaves_the_others() {
    let usual = r#"{"text":"a\n","output_ids":[86405],"meta_info":{"id":"r-2","finish_reason":null,"prompt_tokens":9,"weight_version":"default","total_retractions":0,"input_token_logprobs":[],"output_token_logprobs":[[-3.729748010635376,86405,null]],"completion_tokens":1,"e2e_latency":0.5}}"#;
    let skipping = |skip| event(usual.as_bytes(), Skip { ids: skip, logprobs: skip });
    for skip in 0..3 {
        let ids = skipping(skip).and_then(|event| event.ids).unwrap();
        assert_eq!((ids.total, ids.items.len()), (1, 1_usize.saturating_sub(skip)));
    }
    let ended = usual.replace(r#""finish_reason":null"#, r#""finish_reason":{"type":"stop"}"#);
    assert!(event(ended.as_bytes(), Skip::default()).is_none());
    for cut in 0..usual.len() {
        assert!(event(&usual.as_bytes()[..cut], Skip::default()).is_none(), "{cut} bytes");
    }
}
