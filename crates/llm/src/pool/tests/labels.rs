//! Which version tokens get that come around a change of the weights.

use super::*;

/// The versions of the deltas, one per token, and whether the stream said that some are a guess.
async fn labels(stream: GenerateStream) -> (Vec<u64>, bool) {
    let (mut labels, mut uncertain) = (Vec::new(), false);
    for item in rest(stream).await {
        match item.unwrap() {
            GenerateEvent::Delta(delta) => labels.extend(delta.tokens.iter().map(|_| delta.version.0)),
            GenerateEvent::Versions { uncertain: guess, .. } => uncertain |= guess,
            GenerateEvent::Ended(_) => {}
        }
    }
    (labels, uncertain)
}

#[tokio::test(start_paused = true)]
async fn tokens_of_a_held_stream_get_the_version_of_their_moment() {
    // When a token comes, the label that the server gives it, and the labels in the end. The first
    // one after the continue may have been on its way before.
    for (between, after, expected) in [
        (false, 0, (vec![0, 0, 1], true)),
        (true, 0, (vec![0, 0, 0, 1], true)),
        (false, 7, (vec![0, 7, 7], false)),
    ] {
        let server = Fake::new("a");
        let pool = pool_with(small(), &[&server]);
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        let mut stream = open(&pool, 1).await.unwrap();
        let mut pass = async |item: Item| {
            server.say_all(&item);
            sender.send(stream.next().await.unwrap()).unwrap();
        };
        pass(delta(0, &[5])).await;
        pool.pause(WeightSync::Keep).await.unwrap();
        if between {
            pass(delta(0, &[6])).await;
        }
        pool.set_version(PolicyVersion(1)).await.unwrap();
        pool.continue_generation().await.unwrap();
        pass(delta(after, &[7])).await;
        pass(delta(after, &[8])).await;
        server.say_all(&ended(GenerateFinish::Stop));
        drop(sender);
        let seen = futures_util::stream::unfold(receiver, async |mut seen| Some((seen.recv().await?, seen)));
        let both: GenerateStream = Box::pin(seen.chain(stream));
        assert_eq!(labels(both).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn spans_of_the_engine_win_and_an_unpaused_change_is_a_guess() {
    let server = Fake::new("a");
    let pool = pool_with(small(), &[&server]);
    let told = GenerateEvent::Versions { spans: Vec::new(), uncertain: false };
    for (spans, is_guess) in [(Some(told), false), (None, true)] {
        let stream = open(&pool, 1).await.unwrap();
        let next = PolicyVersion(pool.version().0 + 1);
        pool.set_version(next).await.unwrap();
        server.say_all(&delta(next.0 - 1, &[5]));
        spans.into_iter().for_each(|spans| server.say_all(&Ok(spans)));
        server.say_all(&ended(GenerateFinish::Stop));
        assert_eq!(labels(stream).await, (vec![next.0 - 1], is_guess));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_read_of_an_aborted_stream_after_the_change_is_old() {
    let server = Fake::new("a");
    let pool = pool_with(small(), &[&server]);
    let stream = open(&pool, 1).await.unwrap();
    for token in [5, 6, 7] {
        server.say_all(&delta(0, &[token]));
    }
    pool.pause(WeightSync::Abort).await.unwrap();
    pool.set_version(PolicyVersion(1)).await.unwrap();
    pool.continue_generation().await.unwrap();
    assert_eq!(labels(stream).await, (vec![0, 0, 0], true));
}
