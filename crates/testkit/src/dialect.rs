//! A dialect of bare token ids.

use respool_core::{
    Chat, Continuation, Dialect, DialectError, Encoded, Fingerprint, Message, ParsedTurn, Role, Token,
    ToolSpec,
};

use crate::{
    parse::{parse, parse_plain},
    token::{GENERATE, RESULT, STOP, push_bytes, tool_number, word},
};

/// A dialect of bare token ids: text is ids, written in decimal and separated by spaces.
///
/// Words that are no number become a token of their own. The first chat is its text and nothing
/// else; what comes after a turn ends with the generation prompt. [`token`](crate::token) names
/// the tokens.
#[derive(Clone, Debug)]
pub struct TokenDialect {
    results: ResultTokens,
    stop: Vec<Token>,
    is_plain: bool,
}

/// What the results of a turn become.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ResultTokens {
    /// `8xx` for each result of tool `txx`, then the generation prompt.
    #[default]
    Named,
    /// As `Named`, each followed by the words of its text: the policy sees what a tool said.
    Worded,
    /// These, whatever the results are, with the generation prompt if it is to be there.
    Fixed(Vec<Token>),
}

impl TokenDialect {
    /// One with [`ResultTokens::Named`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_results(ResultTokens::Named)
    }

    /// One whose results become those tokens.
    #[must_use]
    pub fn with_results(results: ResultTokens) -> Self {
        Self { results, stop: vec![STOP], is_plain: false }
    }

    /// One in which only `2` (the end of a turn) and `7xx` (a call) mean anything.
    #[must_use]
    pub fn plain(results: ResultTokens) -> Self {
        Self { is_plain: true, ..Self::with_results(results) }
    }

    fn push_new(&self, messages: &[Message], out: &mut Vec<Token>) {
        if let ResultTokens::Fixed(tokens) = &self.results
            && messages.iter().all(|message| message.role == Role::Tool)
        {
            return out.extend(tokens);
        }
        for message in messages {
            if message.role == Role::Tool {
                out.push(RESULT + tool_number(message.name.as_deref().unwrap_or_default()));
            }
            if message.role != Role::Tool || self.results == ResultTokens::Worded {
                push_text(message, out);
            }
        }
        out.push(GENERATE);
    }
}

impl Default for TokenDialect {
    fn default() -> Self {
        Self::new()
    }
}

impl Dialect for TokenDialect {
    fn fingerprint(&self) -> Fingerprint {
        let mut bytes = [0; 32];
        let name = format!("{} {:?}", self.is_plain, self.results);
        bytes.iter_mut().zip(name.bytes()).for_each(|(byte, of_name)| *byte = of_name);
        Fingerprint(bytes)
    }

    fn stop_tokens(&self) -> &[Token] {
        &self.stop
    }

    fn encode_chat(&self, chat: &Chat<'_>) -> Result<Encoded, DialectError> {
        let mut tokens = Vec::new();
        chat.messages.iter().for_each(|message| push_text(message, &mut tokens));
        Ok(Encoded { tokens, changes: Vec::new() })
    }

    fn encode_continuation(&self, continuation: &Continuation<'_>) -> Result<Encoded, DialectError> {
        let mut tokens = Vec::new();
        if continuation.last_token != Some(STOP) {
            tokens.push(STOP);
        }
        self.push_new(continuation.new_messages, &mut tokens);
        Ok(Encoded { tokens, changes: Vec::new() })
    }

    fn parse_turn(
        &self,
        before: &[Token],
        turn: &[Token],
        _tools: &[ToolSpec],
        _complete: bool,
    ) -> ParsedTurn {
        if self.is_plain { parse_plain(turn) } else { parse(before, turn) }
    }

    fn token_bytes(&self, token: Token, out: &mut Vec<u8>) {
        push_bytes(token, out);
    }
}

fn push_text(message: &Message, out: &mut Vec<Token>) {
    let text = message.content.text();
    out.extend(
        text.split(' ')
            .filter(|word| !word.is_empty())
            .map(|text| text.parse().unwrap_or_else(|_| word(text))),
    );
}
