//! What a policy may say in the token dialect.

use std::sync::Arc;

use respool_verify::{Phrase, PhraseKind, Vocabulary};

use crate::token::{
    BAD_ARGUMENTS, CALL, CLOSE_CALL, CLOSE_REASONING, E_ACUTE_1, E_ACUTE_2, LENIENT, LETTER_A, NAME, NOTHING,
    OPEN_CALL, OPEN_REASONING, SMILE_1, SMILE_2, SMILE_3, SPACE, STOP,
};

/// Letters, characters of several tokens, calls of every kind, reasoning.
#[must_use]
pub fn vocabulary() -> Arc<Vocabulary> {
    use PhraseKind::{Call, Character, Reasoning, Text};
    let letters = [LETTER_A, LETTER_A + 1, LETTER_A + 2, SPACE, NOTHING];
    let mut phrases: Vec<_> = letters.iter().map(|letter| Phrase::new(Text, &[*letter])).collect();
    phrases.extend((1..4).map(|tool| Phrase::new(Call, &[CALL + tool])));
    phrases.extend((1..5).map(|tool| Phrase::new(Call, &[OPEN_CALL, NAME + tool, CLOSE_CALL])));
    phrases.extend([
        Phrase::new(Character, &[E_ACUTE_1, E_ACUTE_2]),
        Phrase::new(Character, &[SMILE_1, SMILE_2, SMILE_3]),
        Phrase::new(Call, &[OPEN_CALL, NAME + 1, BAD_ARGUMENTS, CLOSE_CALL]),
        Phrase::new(Call, &[OPEN_CALL, NAME + 1, LENIENT, CLOSE_CALL]),
        Phrase::new(Call, &[OPEN_CALL, NAME + 2, NAME + 3, CLOSE_CALL]),
        Phrase::new(Call, &[OPEN_CALL, CLOSE_CALL]),
        Phrase::new(Reasoning, &[OPEN_REASONING, LETTER_A, CLOSE_REASONING]),
    ]);
    Arc::new(Vocabulary {
        phrases,
        stop: STOP,
        tools: ["t01", "t02", "t03"].map(str::to_owned).to_vec(),
        stop_strings: ["ab", "c a", "aé", "é", "</call>", "b<t01>"].map(str::to_owned).to_vec(),
        prompts: ["1 5", "1", "1 11 12 13", "1 the user asks for 7 things"].map(str::to_owned).to_vec(),
    })
}
