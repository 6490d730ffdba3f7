//! Reading and computing an expression in one pass, by recursive descent.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

use super::MAX_EXPRESSION_CHARS;

/// Deeper parentheses are refused, so that no expression can overflow the stack.
const MAX_DEPTH: usize = 64;

/// Where and why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at character {at}: {reason}")]
pub struct ExpressionError {
    /// Position in characters, from 1.
    pub at: usize,
    /// What was found, what was expected.
    pub reason: String,
}

pub(super) fn evaluate(text: &str) -> Result<BigRational, ExpressionError> {
    // Counted before anything is copied: the text may have any length.
    if text.chars().nth(MAX_EXPRESSION_CHARS).is_some() {
        let reason =
            format!("the expression is too long, expected at most {MAX_EXPRESSION_CHARS} characters");
        return Err(ExpressionError { at: MAX_EXPRESSION_CHARS + 1, reason });
    }
    let mut reader = Reader { chars: text.chars().map(plain).collect(), at: 0, depth: 0 };
    let value = reader.sum()?;
    if reader.peek().is_some() {
        return Err(reader.expected("an operator or the end"));
    }
    Ok(value)
}

/// Typographic operators are read as the plain ones.
const fn plain(c: char) -> char {
    match c {
        '×' => '*',
        '÷' => '/',
        '−' => '-',
        other => other,
    }
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    depth: usize,
}

impl Reader {
    fn sum(&mut self) -> Result<BigRational, ExpressionError> {
        let mut value = self.product()?;
        while let Some(operator @ ('+' | '-')) = self.peek() {
            self.at += 1;
            let right = self.product()?;
            value = if operator == '+' { value + right } else { value - right };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<BigRational, ExpressionError> {
        let mut value = self.signed()?;
        while let Some(operator @ ('*' | '/' | '%')) = self.peek() {
            let operator_at = self.at;
            self.at += 1;
            let right = self.signed()?;
            if operator != '*' && right.is_zero() {
                return Err(error(operator_at, "division by zero"));
            }
            value = match operator {
                '*' => value * right,
                '/' => value / right,
                _ => &value - &right * (&value / &right).floor(),
            };
        }
        Ok(value)
    }

    fn signed(&mut self) -> Result<BigRational, ExpressionError> {
        let mut negative = false;
        while let Some(sign @ ('+' | '-')) = self.peek() {
            self.at += 1;
            negative ^= sign == '-';
        }
        let value = self.with_percent()?;
        Ok(if negative { -value } else { value })
    }

    fn with_percent(&mut self) -> Result<BigRational, ExpressionError> {
        let value = self.atom()?;
        let mut percents = 0;
        while self.peek() == Some('%') && !self.is_remainder() {
            self.at += 1;
            percents += 1;
        }
        Ok(divided_by_ten_to(2 * percents, value))
    }

    /// Whether the `%` here has a right side.
    fn is_remainder(&self) -> bool {
        let next = self.chars[self.at + 1..].iter().find(|c| !c.is_whitespace());
        matches!(next, Some('0'..='9' | '.' | '('))
    }

    fn atom(&mut self) -> Result<BigRational, ExpressionError> {
        match self.peek() {
            Some('0'..='9' | '.') => self.number(),
            Some('(') if self.depth == MAX_DEPTH => {
                Err(self.expected(&format!("at most {MAX_DEPTH} parentheses inside each other")))
            }
            Some('(') => {
                self.at += 1;
                self.depth += 1;
                let value = self.sum()?;
                if self.peek() != Some(')') {
                    return Err(self.expected("an operator or ')'"));
                }
                self.at += 1;
                self.depth -= 1;
                Ok(value)
            }
            _ => Err(self.expected("a number or '('")),
        }
    }

    fn number(&mut self) -> Result<BigRational, ExpressionError> {
        let mut digits = self.digits();
        while self.here() == Some(',') {
            let group_at = self.at;
            self.at += 1;
            let group = self.digits();
            if group.len() != 3 || digits.is_empty() {
                return Err(error(group_at, "expected a comma only before each group of three digits"));
            }
            digits += &group;
        }
        let mut places = 0;
        if self.here() == Some('.') {
            self.at += 1;
            let fraction = self.digits();
            places = fraction.len();
            digits += &fraction;
        }
        let Ok(numerator) = digits.parse::<BigInt>() else { return Err(self.expected("a digit")) };
        Ok(divided_by_ten_to(places, BigRational::from_integer(numerator)))
    }

    fn digits(&mut self) -> String {
        let digits: String = self.chars[self.at..].iter().take_while(|c| c.is_ascii_digit()).collect();
        self.at += digits.len();
        digits
    }

    /// The next character.
    fn here(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    /// The next character after white space.
    fn peek(&mut self) -> Option<char> {
        while self.here().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        self.here()
    }

    fn expected(&mut self, expected: &str) -> ExpressionError {
        let found = self.peek().map_or_else(|| "the end".to_owned(), |c| format!("'{c}'"));
        error(self.at, &format!("expected {expected}, found {found}"))
    }
}

fn divided_by_ten_to(places: usize, value: BigRational) -> BigRational {
    match places {
        0 => value,
        places => value / num_traits::pow(BigInt::from(10), places),
    }
}

fn error(at: usize, reason: &str) -> ExpressionError {
    ExpressionError { at: at + 1, reason: reason.to_owned() }
}
