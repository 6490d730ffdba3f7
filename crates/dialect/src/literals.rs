//! The texts that a template's source spells out: whatever a template looks for in a message is one
//! of them.

/// The string literals inside `{{ }}` and `{% %}`, escapes resolved, without the white space around
/// them. `None` if the source cannot be read with certainty.
pub(crate) fn literals(source: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['{']) {
        rest = &rest[at + 1..];
        rest = match rest.as_bytes().first() {
            Some(b'#') => rest.split_once("#}")?.1,
            Some(b'{') => in_tag(&rest[1..], "}}", &mut found)?,
            Some(b'%') => in_tag(&rest[1..], "%}", &mut found)?,
            _ => rest,
        };
    }
    found.sort();
    found.dedup();
    Some(found)
}

/// Collects the literals of a tag; gives what comes after it.
fn in_tag<'a>(mut rest: &'a str, end: &str, found: &mut Vec<String>) -> Option<&'a str> {
    loop {
        let close = rest.find(end)?;
        let Some(at) = rest[..close].find(['\'', '"']) else { return Some(&rest[close + end.len()..]) };
        let (literal, after) = literal(&rest[at..])?;
        let literal = literal.trim();
        if !literal.is_empty() {
            found.push(literal.to_owned());
        }
        rest = after;
    }
}

/// The literal that a text begins with, and what comes after its closing quote.
fn literal(text: &str) -> Option<(String, &str)> {
    let mut chars = text.chars();
    let quote = chars.next()?;
    let mut literal = String::new();
    loop {
        match chars.next()? {
            '\\' => literal.push(match chars.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                same @ ('\\' | '\'' | '"') => same,
                _ => return None,
            }),
            end if end == quote => return Some((literal, chars.as_str())),
            other => literal.push(other),
        }
    }
}

/// Whether a literal is so peculiar that messages hardly ever hold it: at least four characters, one
/// of them neither letter, digit nor white space. Messages that do are rendered in context. The
/// others, such as `error` or `{`, are common, so that it has to be tried whether they matter.
pub(crate) fn is_peculiar(literal: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || letter == '_' || letter.is_whitespace();
    literal.chars().count() >= 4 && !literal.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_literals_in_tags_only() {
        let source = r#"it's {# don't #} {{- 'a\n' + "it's \"b\" }}" }} " {% if x == '<think>' and {} %}"#;
        assert_eq!(
            literals(source),
            Some(vec!["<think>".to_owned(), "a".to_owned(), "it's \"b\" }}".to_owned()])
        );
        assert_eq!(literals("{{ '\\x41' }}"), None);
        assert_eq!(literals("{{ 'open }}"), None);
        assert_eq!(literals("{# open"), None);
        assert_eq!(literals("no { tags } %"), Some(Vec::new()));
    }

    #[test]
    fn peculiar_literals_are_rare_in_messages() {
        let peculiar = ["<think>", "[INST]", "/no_think"].map(is_peculiar);
        assert_eq!(peculiar, [true; 3]);
        assert_eq!(["error", "tool_calls", "two words", "{", "\": "].map(is_peculiar), [false; 5]);
    }
}
