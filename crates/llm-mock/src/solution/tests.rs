use super::*;

#[track_caller]
fn check(solution: &str, steps: &[(&str, &str)], rest: &str) {
    let steps = steps.iter().map(|(text, expression)| Step { text, expression }).collect();
    assert_eq!(Solution::read(solution), Solution { steps, rest });
}

#[test]
fn a_solution_is_taken_apart_at_its_marks() {
    check("", &[], "");
    check("It is 4.\n#### 4", &[], "It is 4.\n#### 4");
    check("2 + 2 = <<2+2=4>>4.\n#### 4", &[("2 + 2 = ", "2+2")], "4.\n#### 4");
    check("a<<1=1>><<.5*2=1>>b", &[("a", "1"), ("", ".5*2")], "b");
    check("<< 2 * 3 >>6", &[("", "2 * 3")], "6");
    check("<<5%=.05=0.05>>", &[("", "5%")], "");
    check("1 << 2", &[], "1 << 2");
    check("<<2+2=4", &[], "<<2+2=4");
    check("a >> <<1=1>> >>", &[("a >> ", "1")], " >>");
}

#[test]
fn without_marks_the_text_is_what_the_author_shows() {
    assert_eq!(Solution::read("2 + 2 = $<<2+2=4>>4.\n#### 4").plain(), "2 + 2 = $4.\n#### 4");
}

#[test]
fn a_wrong_answer_is_another_number() {
    for offset in 0..20 {
        let wrong = with_wrong_answer("He has 7.\n#### 1,290", offset);
        let number = wrong.strip_prefix("He has 7.\n#### 1,29").unwrap();
        assert!(number.len() == 1 && number != "0" && number.parse::<u8>().is_ok(), "{wrong}");
    }
    assert_eq!(with_wrong_answer("so 7", 0), "so 8");
    assert_eq!(with_wrong_answer("7 of them\n#### none", 0), "7 of them\n#### none");
    assert_eq!(with_wrong_answer("", 0), "");
}
