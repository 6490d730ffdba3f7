//! A deterministic policy: the next token is a function of the prefix and a seed.

use std::collections::BTreeMap;

use respool_core::{GenerateFinish, Logprob, Token};

use crate::{
    PhraseKind, Vocabulary,
    hash::{below, fold},
};

/// What a policy does how often, in percent of the places where it is free to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Habits {
    /// Ends the turn.
    pub stop: u8,
    /// Begins a call.
    pub call: u8,
    /// Begins a character of several tokens.
    pub character: u8,
    /// Begins reasoning.
    pub reasoning: u8,
    /// Leaves a phrase before its end.
    pub derail: u8,
    /// Whether the server returns the stop token (R13).
    pub returns_stop: bool,
}

/// A policy that never looks at anything but the tokens before.
#[derive(Clone, Debug)]
pub struct Policy {
    seed: u64,
    habits: Habits,
    stop: Token,
    starts: BTreeMap<PhraseKind, Vec<Token>>,
    /// What may follow a token inside a phrase.
    inside: BTreeMap<Token, (PhraseKind, Vec<Token>)>,
}

/// All that a policy knows of a prefix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefix {
    hash: u64,
    last: Option<Token>,
}

/// The rest of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What is sampled.
    pub tokens: Vec<Token>,
    /// One for each token.
    pub logprobs: Vec<Logprob>,
    /// How it ends.
    pub finish: GenerateFinish,
}

enum Next {
    Token(Token),
    End(GenerateFinish),
}

impl Prefix {
    fn new(seed: u64, tokens: &[Token]) -> Self {
        tokens.iter().fold(Self { hash: fold(0, seed), last: None }, |prefix, token| prefix.and(*token))
    }

    fn and(self, token: Token) -> Self {
        Self { hash: fold(self.hash, u64::from(token)), last: Some(token) }
    }
}

impl Policy {
    /// A policy with those habits that says what the vocabulary has.
    #[must_use]
    pub fn new(vocabulary: &Vocabulary, habits: Habits, seed: u64) -> Self {
        let mut starts = BTreeMap::<_, Vec<_>>::new();
        let mut inside = BTreeMap::<_, (_, Vec<_>)>::new();
        for phrase in &vocabulary.phrases {
            starts.entry(phrase.kind).or_default().extend(phrase.tokens.first());
            for pair in phrase.tokens.windows(2) {
                inside.entry(pair[0]).or_insert((phrase.kind, Vec::new())).1.push(pair[1]);
            }
        }
        Self { seed, habits, stop: vocabulary.stop, starts, inside }
    }

    /// The kind of phrase that is open after that token, if one is.
    #[must_use]
    pub fn open_phrase(&self, last: Token) -> Option<PhraseKind> {
        self.inside.get(&last).map(|(kind, _)| *kind)
    }

    /// What the policy samples after `prompt`, up to `max_tokens` or one of `stop`.
    #[must_use]
    pub fn answer(&self, prompt: &[Token], max_tokens: u32, stop: &[Token]) -> Answer {
        let mut prefix = Prefix::new(self.seed, prompt);
        let mut answer = Answer { tokens: Vec::new(), logprobs: Vec::new(), finish: GenerateFinish::Length };
        while answer.tokens.len() < max_tokens as usize {
            match self.next(prefix) {
                Next::Token(token) => {
                    answer.tokens.push(token);
                    answer.logprobs.push(logprob(prefix));
                    if stop.contains(&token) {
                        answer.finish = GenerateFinish::Stop;
                        break;
                    }
                    prefix = prefix.and(token);
                }
                Next::End(finish) => {
                    answer.finish = finish;
                    break;
                }
            }
        }
        answer
    }

    fn next(&self, prefix: Prefix) -> Next {
        let percent = |part| below(prefix.hash, part, 100);
        if let Some((_, follow)) = prefix.last.and_then(|last| self.inside.get(&last))
            && percent(1) >= u64::from(self.habits.derail)
        {
            return Next::Token(follow[below(prefix.hash, 2, follow.len() as u64) as usize]);
        }
        if below(prefix.hash, 3, 400) == 0 {
            return Next::End(GenerateFinish::Repetition);
        }
        let choice = percent(4);
        let (stop, call) = (u64::from(self.habits.stop), u64::from(self.habits.call));
        let (character, reasoning) = (u64::from(self.habits.character), u64::from(self.habits.reasoning));
        if choice < stop {
            return if self.habits.returns_stop {
                Next::Token(self.stop)
            } else {
                Next::End(GenerateFinish::Stop)
            };
        }
        let kind = match choice - stop {
            rest if rest < call => PhraseKind::Call,
            rest if rest < call + character => PhraseKind::Character,
            rest if rest < call + character + reasoning => PhraseKind::Reasoning,
            _ => PhraseKind::Text,
        };
        let starts = self.starts.get(&kind).or_else(|| self.starts.values().next());
        match starts {
            Some(starts) => Next::Token(starts[below(prefix.hash, 5, starts.len() as u64) as usize]),
            None => Next::End(GenerateFinish::Stop),
        }
    }
}

/// Some are missing, and both zeros occur: they differ by bits.
fn logprob(prefix: Prefix) -> Logprob {
    match below(prefix.hash, 6, 64) {
        0 => Logprob::MISSING,
        1 => Logprob::new(0.0),
        2 => Logprob::new(-0.0),
        _ => Logprob::new(-(below(prefix.hash, 7, 1 << 20) as f32) / 65_536.0),
    }
}
