use super::*;

fn sample() -> Transcript {
    let mut transcript = Transcript::new();
    transcript.push_given(&[1, 2]);
    transcript.end_prompt();
    transcript.push_sampled(PolicyVersion(1), &[10, 11], &[Logprob::new(-0.5)]);
    transcript.push_sampled(PolicyVersion(1), &[12], &[Logprob::new(-0.25)]);
    transcript.push_given(&[20]);
    transcript.push_sampled(PolicyVersion(2), &[13], &[Logprob::new(-1.0)]);
    transcript
}

#[test]
fn everything_is_derived_from_the_runs() {
    let transcript = sample();
    assert_eq!(transcript.prompt_ids(), [1, 2]);
    assert_eq!(transcript.response_ids(), [10, 11, 12, 20, 13]);
    assert_eq!(transcript.response_mask(), [1, 1, 1, 0, 1]);
    assert_eq!(transcript.runs().len(), 3);
    let values: Vec<_> =
        transcript.response_logprobs().into_iter().map(|logprob| logprob.map(Logprob::get)).collect();
    assert_eq!(values, [Some(Some(-0.5)), Some(None), Some(Some(-0.25)), None, Some(Some(-1.0))]);
    assert_eq!(transcript.logprobs_missing(), 1);
    assert_eq!(
        (transcript.version_start(), transcript.version_end()),
        (Some(PolicyVersion(1)), Some(PolicyVersion(2)))
    );
    assert_eq!(transcript.version_changes(), [(2, PolicyVersion(1)), (6, PolicyVersion(2))]);
    assert_eq!(Transcript::new().version_changes(), []);
}

#[test]
fn a_given_token_right_after_the_prompt_is_response() {
    let mut transcript = Transcript::new();
    transcript.push_given(&[1]);
    transcript.end_prompt();
    transcript.push_given(&[2]);
    assert_eq!((transcript.prompt_ids(), transcript.response_ids()), (&[1][..], &[2][..]));
}

#[test]
fn truncate_cuts_tokens_and_logprobs_but_never_the_prompt() {
    let mut transcript = sample();
    transcript.truncate(4);
    let mut expected = Transcript::new();
    expected.push_given(&[1, 2]);
    expected.end_prompt();
    expected.push_sampled(PolicyVersion(1), &[10, 11], &[Logprob::new(-0.5)]);
    assert_eq!(transcript, expected);
    transcript.truncate(0);
    assert_eq!(transcript.len(), 2);
    assert!(transcript.logprobs().is_empty());
}

#[test]
fn relabel_splits_and_merges_sampled_runs_only() {
    let mut transcript = sample();
    transcript.relabel(3, 4, PolicyVersion(2));
    let versions: Vec<_> = transcript.token_versions().into_iter().map(|v| v.map(|v| v.0)).collect();
    assert_eq!(versions, [Some(1), Some(2), Some(2), None, Some(2)]);
    transcript.relabel(2, 3, PolicyVersion(1));
    assert_eq!(transcript, sample());
    transcript.relabel(100, 5, PolicyVersion(9));
    assert_eq!(transcript, sample());
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let run = |len| Run { kind: RunKind::Given, len };
    assert!(Transcript::from_parts(vec![1, 2], vec![], 1, vec![run(1)], true).is_ok());
    assert!(Transcript::from_parts(vec![1, 2], vec![], 1, vec![run(2)], true).is_err());
    assert!(Transcript::from_parts(vec![1, 2], vec![], 2, vec![run(0)], true).is_err());
    assert!(Transcript::from_parts(vec![1, 2, 3], vec![], 1, vec![run(1), run(1)], true).is_err());
    assert!(Transcript::from_parts(vec![1, 2], vec![Logprob::MISSING], 1, vec![run(1)], true).is_err());
    assert!(Transcript::from_parts(vec![1, 2], vec![], 1, vec![run(1)], false).is_err());
}
