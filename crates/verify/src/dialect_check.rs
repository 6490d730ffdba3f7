//! The seam of a dialect: total, deterministic, and continuing what was sampled.

use std::sync::Arc;

use proptest::{collection::vec, prelude::*, sample::select, test_runner::Config};
use respool_core::{
    CallOutcome, Chat, Continuation, Dialect, Encoded, JsonText, Message, ParsedCall, Role, Token, ToolCall,
    ToolSpec,
};

use crate::{CheckError, Violation, search::search, violation::Property};

/// How a dialect is checked.
#[derive(Clone, Debug)]
pub struct DialectConfig {
    /// How many cases, and where failures are kept.
    pub cases: Config,
    /// One more than the largest token id that a model may sample.
    pub vocabulary_size: Token,
    /// Tokens that are to occur often: those of calls and reasoning.
    pub favourites: Vec<Token>,
    /// The tools that prompts show.
    pub tools: Vec<ToolSpec>,
    /// Whether the prompt's text has to hold the text of every message.
    pub keeps_text: bool,
}

#[derive(Clone, Debug)]
struct Case {
    text: String,
    answer: String,
    before: Vec<Token>,
    turn: Vec<Token>,
    complete: bool,
}

/// Runs random chats and random turns through the dialect.
///
/// - `parse_turn` reads every row of tokens without panic, twice the same; every call has a name
///   and an object of arguments.
/// - `decode` says what `token_bytes` says.
/// - Chats and continuations come out twice the same, or are refused with a reason.
/// - After a turn without its stop token the continuation is that after one with it, with
///   something before (R13).
///
/// # Errors
/// [`CheckError::Broken`] with the smallest case that shows otherwise.
pub fn check_dialect(dialect: &Arc<dyn Dialect>, config: DialectConfig) -> Result<(), CheckError> {
    let strategy = cases(&config);
    let check = |case: Case| {
        same(dialect.fingerprint(), dialect.fingerprint(), "the fingerprint")?;
        check_decode(dialect.as_ref(), &case)?;
        check_parse(dialect.as_ref(), &case)?;
        check_chat(dialect.as_ref(), &config, &case)?;
        check_continuation(dialect.as_ref(), &config, &case)
    };
    search(config.cases.clone(), &strategy, check, |case| format!("{case:?}"))
}

fn cases(config: &DialectConfig) -> impl Strategy<Value = Case> + use<> {
    let favourites = if config.favourites.is_empty() { vec![0] } else { config.favourites.clone() };
    let token =
        prop_oneof![1 => 0..config.vocabulary_size.max(1), 1 => select(favourites), 1 => any::<Token>()];
    let token = token.boxed();
    let words = vec!["", " ", "a", "京😀", "<|im_end|>", "</tool_call>", "{\"name\": 1}", "<think>", "\n"];
    let text = vec(select(words), 0..6).prop_map(|words| words.concat()).boxed();
    (text.clone(), text, vec(token.clone(), 0..4), vec(token, 0..24), any::<bool>())
        .prop_map(|(text, answer, before, turn, complete)| Case { text, answer, before, turn, complete })
}

fn broken(what: impl Into<String>) -> Violation {
    Violation::new(Property::Answers, what)
}

fn same<T: PartialEq + std::fmt::Debug>(first: T, second: T, what: &str) -> Result<(), Violation> {
    if first == second {
        return Ok(());
    }
    Err(broken(format!("{what} is not the same twice: {first:?}, then {second:?}")))
}

fn check_decode(dialect: &dyn Dialect, case: &Case) -> Result<(), Violation> {
    let mut bytes = Vec::new();
    case.turn.iter().for_each(|token| dialect.token_bytes(*token, &mut bytes));
    let (decoded, spelled) = (dialect.decode(&case.turn), String::from_utf8_lossy(&bytes));
    if decoded == spelled {
        return Ok(());
    }
    Err(broken(format!("decode gives {decoded:?}, token_bytes gives {spelled:?}")))
}

fn check_parse(dialect: &dyn Dialect, case: &Case) -> Result<(), Violation> {
    let parsed = dialect.parse_turn(&case.before, &case.turn, &[], case.complete);
    same(&parsed, &dialect.parse_turn(&case.before, &case.turn, &[], case.complete), "a parsed turn")?;
    for call in &parsed.calls {
        match call {
            ParsedCall::Call(ToolCall { name, arguments, .. })
                if name.is_empty() || !arguments.is_object() =>
            {
                return Err(broken(format!("{call:?} has no name, or arguments that are no object")));
            }
            ParsedCall::Wrong { reason, .. } | ParsedCall::Malformed { reason, .. } if reason.is_empty() => {
                return Err(broken(format!("{call:?} does not say what is wrong")));
            }
            ParsedCall::Call(_) | ParsedCall::Wrong { .. } | ParsedCall::Malformed { .. } => {}
        }
    }
    Ok(())
}

fn check_chat(dialect: &dyn Dialect, config: &DialectConfig, case: &Case) -> Result<(), Violation> {
    let messages = [Message::new(Role::User, case.text.as_str())];
    let chat = Chat { messages: &messages, tools: &config.tools, template_args: &JsonText::empty_object() };
    let encoded = dialect.encode_chat(&chat);
    same(&encoded, &dialect.encode_chat(&chat), "an encoded chat")?;
    match encoded {
        Err(error) if error.message.is_empty() => Err(broken("a chat is refused without a reason")),
        Err(_) => Ok(()),
        Ok(Encoded { tokens, .. }) => {
            let prompt = dialect.decode(&tokens);
            if config.keeps_text && !prompt.contains(case.text.trim()) {
                return Err(broken(format!(
                    "the prompt {prompt:?} does not hold the message {:?}",
                    case.text
                )));
            }
            Ok(())
        }
    }
}

fn check_continuation(dialect: &dyn Dialect, config: &DialectConfig, case: &Case) -> Result<(), Violation> {
    let mut reply = Message::new(Role::Tool, case.answer.as_str());
    reply.name = Some(config.tools.first().map_or_else(|| "tool".to_owned(), |tool| tool.name.clone()));
    reply.tool_call_id = Some("c00000000".to_owned());
    reply.outcome = Some(CallOutcome::Ok);
    let mut turn = Message::new(Role::Assistant, "ok");
    turn.tool_calls.push(ToolCall {
        id: "c00000000".to_owned(),
        slot: 0,
        name: reply.name.clone().unwrap_or_default(),
        arguments: JsonText::empty_object(),
    });
    let messages = [Message::new(Role::User, case.text.as_str()), turn];
    let chat = Chat { messages: &messages, tools: &config.tools, template_args: &JsonText::empty_object() };
    let new_messages = [reply];
    let after = |last_token| {
        let continuation = Continuation { chat, new_messages: &new_messages, last_token };
        let encoded = dialect.encode_continuation(&continuation);
        same(&encoded, &dialect.encode_continuation(&continuation), "a continuation").map(|()| encoded)
    };
    for stop in dialect.stop_tokens() {
        match (after(Some(*stop))?, after(None)?) {
            (Ok(with), Ok(without)) if without.tokens.ends_with(&with.tokens) => {}
            (Ok(with), Ok(without)) => {
                let what = format!(
                    "after stop token {stop} comes {:?}, without it {:?}, which does not end with that",
                    with.tokens, without.tokens
                );
                return Err(broken(what));
            }
            (with, without) => {
                let silent = [with.err(), without.err()];
                if silent.iter().flatten().any(|error| error.message.is_empty()) {
                    return Err(broken("a continuation is refused without a reason"));
                }
            }
        }
    }
    Ok(())
}
