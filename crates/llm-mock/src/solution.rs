//! Reference solutions with calculator marks, as GSM8K writes them.

/// A worked solution, taken apart at its `<<expression=value>>` marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Solution<'a> {
    /// Texts that lead up to a mark, with its expression.
    pub(crate) steps: Vec<Step<'a>>,
    /// What comes after the last mark; it holds the answer.
    pub(crate) rest: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step<'a> {
    pub(crate) text: &'a str,
    pub(crate) expression: &'a str,
}

impl<'a> Solution<'a> {
    /// Takes a solution apart. A mark without an end is text; one without `=` is all expression.
    pub(crate) fn read(solution: &'a str) -> Self {
        let mut steps = Vec::new();
        let mut rest = solution;
        while let Some((text, mark, after)) = split_at_mark(rest) {
            let expression = mark.split_once('=').map_or(mark, |(expression, _)| expression).trim();
            steps.push(Step { text, expression });
            rest = after;
        }
        Self { steps, rest }
    }

    /// The whole solution without its marks.
    pub(crate) fn plain(&self) -> String {
        self.steps.iter().map(|step| step.text).chain([self.rest]).collect()
    }
}

/// Text before the first mark, the mark's inside, text after it.
fn split_at_mark(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("<<")?;
    let (mark, after) = rest.split_once(">>")?;
    Some((before, mark, after))
}

/// The text with another digit in place of the last one of its answer (what follows the last
/// `####`, else the whole text): as near a wrong answer as there is. Without a digit it stays.
pub(crate) fn with_wrong_answer(text: &str, offset: usize) -> String {
    let answer_at = text.rfind("####").unwrap_or(0);
    let Some(at) = text[answer_at..].rfind(|c: char| c.is_ascii_digit()).map(|at| answer_at + at) else {
        return text.to_owned();
    };
    let digit = usize::from(text.as_bytes()[at] - b'0');
    let wrong = (digit + 1 + offset % 9) % 10;
    format!("{}{wrong}{}", &text[..at], &text[at + 1..])
}

#[cfg(test)]
mod tests;
