//! The built-in calculator: exact arithmetic on decimal numbers.

mod decimal;
mod expression;

use respool_core::{InvalidJson, Replay, ToolSpec};
use serde::Deserialize;
use serde_json::json;

pub use expression::ExpressionError;

use crate::{FunctionTool, ToolError, function_spec, function_tool};

/// The most characters of an expression. Without powers a value grows no faster than its text,
/// so this bounds time and memory.
pub const MAX_EXPRESSION_CHARS: usize = 1000;

#[derive(Deserialize)]
struct Arguments {
    expression: String,
}

/// The tool `calculator`: takes `{"expression": "..."}`, gives the value as [`calculate`] writes
/// it. An expression that cannot be computed is a wrong call whose text says where and why.
///
/// # Errors
/// Never in fact; as [`function_spec`].
pub fn calculator() -> Result<FunctionTool, InvalidJson> {
    let spec = function_spec(
        "calculator",
        "Computes an arithmetic expression exactly.",
        &json!({
            "type": "object",
            "properties": {
                "expression": {
                    "type": "string",
                    "description": "Numbers with + - * / % and parentheses, for example (16 - 3 - 4) * 2",
                },
            },
            "required": ["expression"],
        }),
    )?;
    Ok(function_tool(ToolSpec { replay: Replay::Pure, ..spec }, |arguments: Arguments| async move {
        calculate(&arguments.expression).map_err(ToolError::failed)
    }))
}

/// The value of an arithmetic expression.
///
/// Numbers are decimal: `16`, `.5`, `5.`, `1,234,567.8`. Operators are `+ - * /`, `%`,
/// parentheses and signs; `×`, `÷` and `−` are read as `*`, `/` and `-`. Before a digit, a point
/// or a parenthesis `%` is the remainder, with the sign of the divisor (`-7 % 3` is 2); anywhere
/// else it is percent (`20%` is 0.2). There are no powers, names or exponents.
///
/// All steps are exact. An integral value is written without a point, any other one exactly if
/// it has at most 12 digits after the point, else rounded (half away from zero) to 12
/// significant digits, never fewer than its integral part has.
///
/// # Errors
/// If the text is no expression, divides by zero, or has more than [`MAX_EXPRESSION_CHARS`].
pub fn calculate(expression: &str) -> Result<String, ExpressionError> {
    expression::evaluate(expression).map(|value| decimal::write(&value))
}

#[cfg(test)]
mod tests;
