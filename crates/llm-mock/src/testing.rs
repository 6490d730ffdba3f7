//! What the tests share.

use std::sync::Arc;

use respool_core::{EffectId, Fault, GenerateRequest, Logprob, RolloutId, Sampling, Token};

use crate::{Cursor, Encoder, Grammar, HashPolicy, Policy, TurnWriter};

pub(crate) const STOP: Token = 2;

/// One token a byte.
pub(crate) fn encoder() -> Encoder {
    Arc::new(|text| text.bytes().map(|byte| 100 + Token::from(byte)).collect())
}

pub(crate) fn decode(tokens: &[Token]) -> String {
    let bytes = tokens.iter().filter(|token| **token != STOP).map(|token| (token - 100) as u8).collect();
    String::from_utf8(bytes).unwrap()
}

/// Calls in tags, each on a line of its own.
pub(crate) fn turn_writer() -> TurnWriter {
    Arc::new(|said, calls| {
        let calls = calls.iter().map(|(name, arguments)| {
            format!("<call>{{\"name\": \"{name}\", \"arguments\": {arguments}}}</call>")
        });
        let said = (!said.is_empty()).then(|| said.to_owned());
        Some(said.into_iter().chain(calls).collect::<Vec<_>>().join("\n"))
    })
}

pub(crate) fn hash_policy() -> HashPolicy {
    let mut grammar = Grammar::new(&["calculator"], &turn_writer());
    grammar.reasoning = Some(("<think>".to_owned(), "</think>".to_owned()));
    HashPolicy::new(grammar, &encoder(), STOP)
}

pub(crate) fn request(seed: u64, prompt: &[Token], turn: u32) -> GenerateRequest {
    GenerateRequest {
        rollout: RolloutId(7),
        effect: EffectId { turn, slot: 0, attempt: 0 },
        prompt_ids: prompt.to_vec(),
        turn_tokens: 0,
        max_tokens: 4096,
        stop_token_ids: Arc::from([STOP]),
        sampling: Arc::new(Sampling::default()),
        seed,
    }
}

/// The request for the rest of a turn.
pub(crate) fn continued(mut request: GenerateRequest, tokens: &[Token]) -> GenerateRequest {
    request.prompt_ids.extend(tokens);
    request.turn_tokens += tokens.len() as u32;
    request.max_tokens = request.max_tokens.saturating_sub(tokens.len() as u32);
    request.effect.attempt += 1;
    request
}

/// The next tokens, up to a stop token.
pub(crate) fn take(mut cursor: Box<dyn Cursor>, count: usize) -> (Vec<Token>, Vec<Logprob>) {
    let (mut tokens, mut logprobs) = (Vec::new(), Vec::new());
    while tokens.len() < count && tokens.last() != Some(&STOP) {
        let (token, logprob) = cursor.next();
        tokens.push(token);
        logprobs.push(logprob);
    }
    (tokens, logprobs)
}

/// The whole turn.
pub(crate) fn turn(
    policy: &dyn Policy,
    request: &GenerateRequest,
) -> Result<(Vec<Token>, Vec<Logprob>), Fault> {
    Ok(take(policy.start(request)?, request.max_tokens as usize))
}

/// The whole turn, asked for in pieces of these sizes.
pub(crate) fn turn_in_pieces(
    policy: &dyn Policy,
    request: &GenerateRequest,
    sizes: &[usize],
) -> (Vec<Token>, Vec<Logprob>) {
    let (mut tokens, mut logprobs) = (Vec::new(), Vec::new());
    for size in sizes.iter().copied().chain([usize::MAX]) {
        if tokens.last() == Some(&STOP) {
            break;
        }
        let (more, their_logprobs) = take(policy.start(&continued(request.clone(), &tokens)).unwrap(), size);
        tokens.extend(more);
        logprobs.extend(their_logprobs);
    }
    (tokens, logprobs)
}
