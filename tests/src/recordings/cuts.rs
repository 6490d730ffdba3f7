//! Ways of cutting a body into pieces.

use respool_llm_mock::Draw;

/// The most bytes of a body that is also fed byte by byte.
const SMALL: usize = 20_000;
/// How many random ways are tried.
const RANDOM: u64 = 8;

/// The body in one piece, as it was recorded, byte by byte if it is small, and in random pieces.
pub(super) fn ways(recorded: &[Vec<u8>]) -> Vec<Vec<Vec<u8>>> {
    let whole = recorded.concat();
    let mut ways = vec![vec![whole.clone()], recorded.to_vec()];
    if whole.len() <= SMALL {
        ways.push(whole.iter().map(|byte| vec![*byte]).collect());
    }
    ways.extend((0..RANDOM).map(|seed| random(&whole, seed)));
    ways
}

/// Pieces of all sizes: some of a few bytes, some of thousands.
fn random(whole: &[u8], seed: u64) -> Vec<Vec<u8>> {
    let mut draw = Draw::new(seed);
    let mut pieces = Vec::new();
    let mut rest = whole;
    while !rest.is_empty() {
        let most = 1 << draw.below(14);
        let (piece, after) = rest.split_at(rest.len().min(1 + draw.below(most)));
        pieces.push(piece.to_vec());
        rest = after;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_the_same_body() {
        let recorded: Vec<Vec<u8>> = (0..50_u8).map(|byte| vec![byte; usize::from(byte)]).collect();
        let ways = ways(&recorded);
        assert_eq!(ways.len(), 11);
        assert!(ways.iter().all(|way| way.concat() == recorded.concat()));
    }
}
