//! Reading a turn of bare tokens.

use respool_core::{JsonText, ParsedCall, ParsedTurn, Token, ToolCall};

use crate::token::{
    BAD_ARGUMENTS, CALL, CLOSE_CALL, CLOSE_REASONING, LENIENT, NAME, OPEN_CALL, OPEN_REASONING, RESULT, STOP,
    push_bytes,
};

/// What has been read so far.
#[derive(Default)]
struct Reading {
    content: Vec<u8>,
    reasoning: Option<Vec<u8>>,
    calls: Vec<ParsedCall>,
    lenient: Vec<u32>,
}

pub(crate) fn parse(before: &[Token], turn: &[Token]) -> ParsedTurn {
    let mut reading = Reading::default();
    let turn = turn.strip_suffix(&[STOP]).unwrap_or(turn);
    let opened = before.last() == Some(&OPEN_REASONING);
    let mut rest = if opened { reading.reasoning(turn) } else { turn };
    while let Some((&token, after)) = rest.split_first() {
        rest = match token {
            OPEN_CALL => reading.call(after),
            OPEN_REASONING => reading.reasoning(after),
            CALL..RESULT => {
                reading.calls.push(call(format!("t{:02}", token - CALL)));
                after
            }
            text => {
                push_bytes(text, &mut reading.content);
                after
            }
        };
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    ParsedTurn {
        content: text(&reading.content),
        reasoning: reading.reasoning.as_deref().map(text),
        calls: reading.calls,
        lenient: reading.lenient,
    }
}

/// Reads a turn in which nothing but a whole call means anything.
pub(crate) fn parse_plain(turn: &[Token]) -> ParsedTurn {
    let mut reading = Reading::default();
    for token in turn.strip_suffix(&[STOP]).unwrap_or(turn) {
        match token {
            CALL..RESULT => reading.calls.push(call(format!("t{:02}", token - CALL))),
            text => push_bytes(*text, &mut reading.content),
        }
    }
    let content = String::from_utf8_lossy(&reading.content).trim().to_owned();
    ParsedTurn { content, calls: reading.calls, ..ParsedTurn::default() }
}

impl Reading {
    /// Reads up to the end of the reasoning, and gives what follows.
    fn reasoning<'a>(&mut self, tokens: &'a [Token]) -> &'a [Token] {
        let len = tokens.iter().position(|token| *token == CLOSE_REASONING).unwrap_or(tokens.len());
        let bytes = self.reasoning.get_or_insert_default();
        tokens[..len].iter().for_each(|token| push_bytes(*token, bytes));
        tokens.get(len + 1..).unwrap_or_default()
    }

    /// Reads a call behind its opening token, and gives what follows.
    fn call<'a>(&mut self, tokens: &'a [Token]) -> &'a [Token] {
        let Some(len) = tokens.iter().position(|token| *token == CLOSE_CALL) else {
            self.malformed("it is not closed", tokens);
            return &[];
        };
        let (body, rest) = (&tokens[..len], &tokens[len + 1..]);
        let (name, arguments, is_lenient) = match body.split_last() {
            Some((&BAD_ARGUMENTS, name)) => (name, false, false),
            Some((&LENIENT, name)) => (name, true, true),
            _ => (body, true, false),
        };
        if name.is_empty() || name.iter().any(|token| !(NAME..CALL).contains(token)) {
            self.malformed("it has no name", body);
        } else {
            let digits = name.iter().map(|token| format!("{:02}", token - NAME));
            let name: String = std::iter::once("t".to_owned()).chain(digits).collect();
            let slot = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
            self.lenient.extend(is_lenient.then_some(slot));
            let reason = || "the arguments are no object".to_owned();
            let read = if arguments { call(name) } else { ParsedCall::Wrong { name, reason: reason() } };
            self.calls.push(read);
        }
        rest
    }

    fn malformed(&mut self, reason: &str, body: &[Token]) {
        let mut bytes = Vec::new();
        push_bytes(OPEN_CALL, &mut bytes);
        body.iter().for_each(|token| push_bytes(*token, &mut bytes));
        let text = String::from_utf8_lossy(&bytes).into_owned();
        self.calls.push(ParsedCall::Malformed { reason: reason.to_owned(), text });
    }
}

/// The engine names and counts the calls.
fn call(name: String) -> ParsedCall {
    ParsedCall::Call(ToolCall { id: String::new(), slot: 0, name, arguments: JsonText::empty_object() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(turn: &[Token], content: &str, calls: &[&str]) {
        let parsed = parse(&[1, 5], turn);
        assert_eq!(parsed.content, content);
        let shown = parsed.calls.iter().map(|call| match call {
            ParsedCall::Call(call) => call.name.clone(),
            ParsedCall::Wrong { name, reason } => format!("{name}: {reason}"),
            ParsedCall::Malformed { reason, text } => format!("{text}: {reason}"),
        });
        assert_eq!(shown.collect::<Vec<_>>(), calls);
    }

    #[test]
    fn calls_are_read_in_order_and_text_around_them_is_kept() {
        check(&[10, 701, 11, 3, 602, 4, 2], "ab", &["t01", "t02"]);
        check(&[3, 602, 603, 4], "", &["t0203"]);
        check(&[3, 601, 5, 4, 2], "", &["t01: the arguments are no object"]);
        check(&[3, 4, 701], "", &["<call>: it has no name", "t01"]);
        check(&[3, 10, 4], "", &["<call>a: it has no name"]);
        check(&[10, 3, 601], "a", &["<call>01: it is not closed"]);
    }

    #[test]
    fn a_plain_turn_has_whole_calls_only() {
        let parsed = parse_plain(&[3, 10, 701, 6, 4, 702, 2]);
        assert_eq!((parsed.calls.len(), parsed.content.as_str()), (2, "<call>a<think></call>"));
    }

    #[test]
    fn characters_and_reasoning_may_take_several_tokens() {
        check(&[40, 41, 42, 43, 44], "é😀", &[]);
        check(&[40], "\u{fffd}", &[]);
        let parsed = parse(&[1, 6], &[10, 701, 7, 11, 2]);
        assert_eq!((parsed.reasoning.as_deref(), parsed.content.as_str()), (Some("a<t01>"), "b"));
        assert!(parsed.calls.is_empty());
    }
}
