use super::*;

#[test]
fn takes_the_usual_events_and_leaves_the_others() {
    let generate = r#"{"request_id":"generate-tokens-r","usage":null,"output_mode":"tokens","choices":[{"index":0,"finish_reason":null,"stop_reason":null,"token_ids":[19104],"routed_experts":null,"weight_versions":null,"logprobs":{"content":[{"token_id":19104,"logprob":-9.320409774780273,"rank":802,"top_logprobs":[{"token_id":1,"logprob":-0.1}]}]}}]}"#;
    let completions = r#"{"id":"cmpl-1","choices":[{"index":0,"text":"a\n\u00e4","logprobs":{"text_offset":[0],"token_logprobs":[-1.5],"tokens":["token_id:7"],"top_logprobs":[{"a":-0.1}]},"finish_reason":null,"token_ids":[7]}],"usage":null}"#;
    for usual in [generate, completions] {
        assert!(event(usual.as_bytes()).is_some(), "{usual}");
        let ended = usual.replace(r#""finish_reason":null"#, r#""finish_reason":"stop""#);
        assert!(event(ended.as_bytes()).is_none(), "{ended}");
        for cut in 0..usual.len() {
            assert!(event(&usual.as_bytes()[..cut]).is_none(), "{cut} bytes of {usual}");
        }
    }
}
