//! The tokens of [`TokenDialect`](crate::TokenDialect).
//!
//! `0` stands for no byte at all, `10` to `35` for the letters `a` to `z`, `36` for a space; `6xx`
//! is a piece of a tool's name, `7xx` a whole call of tool `txx`, `8xx` its result; `2000` and
//! more are words of users and results.

use respool_core::Token;

/// Stands for no byte.
pub const NOTHING: Token = 0;
/// Ends a turn.
pub const STOP: Token = 2;
/// Opens a call of several tokens: then pieces of the name, then [`CLOSE_CALL`].
pub const OPEN_CALL: Token = 3;
/// Closes a call of several tokens.
pub const CLOSE_CALL: Token = 4;
/// Inside a call: its arguments are no object.
pub const BAD_ARGUMENTS: Token = 5;
/// Opens reasoning.
pub const OPEN_REASONING: Token = 6;
/// Closes reasoning.
pub const CLOSE_REASONING: Token = 7;
/// Inside a call: its arguments can be read only leniently.
pub const LENIENT: Token = 8;
/// The generation prompt.
pub const GENERATE: Token = 9;
/// The letter `a`; the others follow.
pub const LETTER_A: Token = 10;
/// A space.
pub const SPACE: Token = 36;
/// The first byte of `é`.
pub const E_ACUTE_1: Token = 40;
/// The second byte of `é`.
pub const E_ACUTE_2: Token = 41;
/// The first two bytes of `😀`.
pub const SMILE_1: Token = 42;
/// The third byte of `😀`.
pub const SMILE_2: Token = 43;
/// The last byte of `😀`.
pub const SMILE_3: Token = 44;
/// `600 + xx` is the piece `xx` of a name.
pub const NAME: Token = 600;
/// `700 + xx` is a call of tool `txx`.
pub const CALL: Token = 700;
/// `800 + xx` is a result of tool `txx`; `800` of one without such a name.
pub const RESULT: Token = 800;
/// The first of a thousand words.
pub const WORD: Token = 2000;

/// The bytes that a token stands for.
pub(crate) fn push_bytes(token: Token, out: &mut Vec<u8>) {
    match token {
        STOP => out.extend(b"<stop>"),
        OPEN_CALL => out.extend(b"<call>"),
        CLOSE_CALL => out.extend(b"</call>"),
        BAD_ARGUMENTS => out.extend(b"<bad>"),
        LENIENT => out.extend(b"<lenient>"),
        OPEN_REASONING => out.extend(b"<think>"),
        CLOSE_REASONING => out.extend(b"</think>"),
        SPACE => out.push(b' '),
        E_ACUTE_1 => out.push(0xc3),
        E_ACUTE_2 => out.push(0xa9),
        SMILE_1 => out.extend([0xf0, 0x9f]),
        SMILE_2 => out.push(0x98),
        SMILE_3 => out.push(0x80),
        LETTER_A..SPACE => out.push(b'a' + (token - LETTER_A) as u8),
        NAME..CALL => out.extend(format!("{:02}", token - NAME).bytes()),
        CALL..RESULT => out.extend(format!("<t{:02}>", token - CALL).bytes()),
        _ => {}
    }
}

/// The token of a word.
pub(crate) fn word(text: &str) -> Token {
    WORD + text.bytes().fold(7u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte))) % 1000
}

/// The number `xx` of a tool named `txx`, or 0.
pub(crate) fn tool_number(name: &str) -> u32 {
    let digits = name.strip_prefix('t').filter(|digits| digits.len() == 2);
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
