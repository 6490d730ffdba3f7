use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(expression: &str, expected: &str) {
    assert_eq!(calculate(expression).unwrap(), expected, "{expression}");
}

#[track_caller]
fn check_error(expression: &str, expected: &str) {
    assert_eq!(calculate(expression).unwrap_err().to_string(), expected, "{expression}");
}

#[test]
fn computes_as_on_paper() {
    check("16-3-4", "9");
    check(".5*100", "50");
    check("200*5/100", "10");
    check("2 + 3 * 4", "14");
    check("(2 + 3) * 4", "20");
    check("2*(5-(1+1))/3", "2");
    check("--3 + -(-2)", "5");
    check("1,000 + 1,234,567.5", "1235567.5");
    check("5. / 2", "2.5");
    check("0.1 + 0.2", "0.3");
    check("3 × 4 ÷ 2 − 1", "5");
    check(" 3\t/ 4\n", "0.75");
    check("99999999999999999999 * 99999999999999999999", "9999999999999999999800000000000000000001");
}

#[test]
fn percent_is_a_remainder_only_with_a_right_side() {
    check("20%", "0.2");
    check("20% * 50", "10");
    check("100 - 20%", "99.8");
    check("50%+1", "1.5");
    check("7 % 3", "1");
    check("-7 % 3", "2");
    check("7.5%(2)", "1.5");
    check("(1)%%", "0.0001");
}

#[test]
fn writes_exactly_or_rounded() {
    check("1/3", "0.333333333333");
    check("-2/3", "-0.666666666667");
    check("200/3", "66.6666666667");
    check("1/8", "0.125");
    check("1/4096", "0.000244140625");
    check("1/8192", "0.0001220703125");
    check("123456789012345.25", "123456789012345.25");
    check("123456789012345 + 1/3", "123456789012345");
    check("99999999.99 + 1/3000", "99999999.9903");
    check("0.00000000000000012", "0.00000000000000012");
    check("1/3/1000000", "0.000000333333333333");
}

#[test]
fn says_where_and_why() {
    check_error("", "at character 1: expected a number or '(', found the end");
    check_error("2 +", "at character 4: expected a number or '(', found the end");
    check_error("2 3", "at character 3: expected an operator or the end, found '3'");
    check_error("2 ** 3", "at character 4: expected a number or '(', found '*'");
    check_error("(2 + 3", "at character 7: expected an operator or ')', found the end");
    check_error("2 + x", "at character 5: expected a number or '(', found 'x'");
    check_error("é + 1", "at character 1: expected a number or '(', found 'é'");
    check_error("1/0", "at character 2: division by zero");
    check_error("5 % (2 - 2)", "at character 3: division by zero");
    check_error(".", "at character 2: expected a digit, found the end");
    check_error("1,00", "at character 2: expected a comma only before each group of three digits");
    check_error("1.2.3", "at character 4: expected an operator or the end, found '.'");
    check_error("1e9", "at character 2: expected an operator or the end, found 'e'");
    let long = "1".repeat(MAX_EXPRESSION_CHARS + 1);
    check_error(&long, "at character 1001: the expression is too long, expected at most 1000 characters");
    let deep = "(".repeat(65);
    check_error(&deep, "at character 65: expected at most 64 parentheses inside each other, found '('");
}

#[test]
fn the_longest_values_are_computed() {
    let quotients = format!("1{}", "/7".repeat(499));
    assert!(calculate(&quotients).unwrap().len() < 600);
    assert_eq!(calculate(&"9".repeat(MAX_EXPRESSION_CHARS)).unwrap().len(), MAX_EXPRESSION_CHARS);
    let sum: Vec<_> = (2..250).map(|n| format!("1/{n}")).collect();
    assert!(calculate(&sum.join("+").chars().take(999).collect::<String>()).is_ok());
}

proptest! {
    #[test]
    fn no_text_panics(text in ".*") {
        let _ = calculate(&text);
    }

    #[test]
    fn no_expression_like_text_panics(text in "[0-9+*/%().,  -]{0,60}") {
        let _ = calculate(&text);
    }

    #[test]
    fn integers_agree_with_the_machine(a in -10_000i64..10_000, b in -10_000i64..10_000, c in 1i64..100) {
        prop_assert_eq!(calculate(&format!("{a} + {b} * {c}")).unwrap(), (a + b * c).to_string());
        prop_assert_eq!(calculate(&format!("({a} - {b}) * {c} / {c}")).unwrap(), (a - b).to_string());
        prop_assert_eq!(calculate(&format!("{a} % {c}")).unwrap(), a.rem_euclid(c).to_string());
    }

    #[test]
    fn quotients_are_close_to_the_machine(a in -1_000_000i64..1_000_000, b in 1i64..1_000_000) {
        let text = calculate(&format!("{a} / {b}")).unwrap();
        let exact = a as f64 / b as f64;
        prop_assert!((text.parse::<f64>().unwrap() - exact).abs() <= exact.abs() * 1e-11, "{}", text);
    }

    #[test]
    fn a_written_value_reads_as_itself(a in any::<i64>(), b in 1i64..100_000) {
        let text = calculate(&format!("{a} / {b}")).unwrap();
        prop_assert_eq!(calculate(&text).unwrap(), text);
    }
}
