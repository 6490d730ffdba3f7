//! How items end, and the lines that say so.

use std::io::{self, Write};

/// How one item ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// As expected.
    Pass,
    /// Otherwise; says what differed.
    Fail(String),
    /// It tests something that does not exist yet.
    NotBuilt,
    /// It has another form than the runner knows; says where.
    NotUnderstood(String),
    /// It cannot be run here; says why.
    Skipped(String),
}

/// Writes one line an item as they end, and counts.
#[derive(Debug)]
pub(crate) struct Report<W> {
    kind: &'static str,
    out: W,
    passed: u32,
    failed: u32,
    not_built: u32,
    not_understood: u32,
    skipped: u32,
}

impl<W: Write> Report<W> {
    /// Nothing has ended yet.
    pub(crate) fn new(kind: &'static str, out: W) -> Self {
        Self { kind, out, passed: 0, failed: 0, not_built: 0, not_understood: 0, skipped: 0 }
    }

    /// Writes an item's line.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn item(&mut self, id: &str, verdict: &Verdict) -> io::Result<()> {
        match verdict {
            Verdict::Pass => {
                self.passed += 1;
                writeln!(self.out, "{id} pass")
            }
            Verdict::Fail(what) => {
                self.failed += 1;
                writeln!(self.out, "{id} FAIL: {}", one_line(what))
            }
            Verdict::NotBuilt => {
                self.not_built += 1;
                writeln!(self.out, "{id} not built")
            }
            Verdict::NotUnderstood(_) => {
                self.not_understood += 1;
                writeln!(self.out, "{id} not understood")
            }
            Verdict::Skipped(why) => {
                self.skipped += 1;
                writeln!(self.out, "{id} skipped ({})", one_line(why))
            }
        }
    }

    /// Writes the last line; tells whether the run is good.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn end(mut self, strict: bool) -> io::Result<bool> {
        let Self { kind, passed, failed, not_built, not_understood, skipped, .. } = self;
        writeln!(
            self.out,
            "{kind}: {passed} passed, {failed} failed, {not_built} not built, \
             {not_understood} not understood, {skipped} skipped"
        )?;
        Ok(failed == 0 && (not_understood == 0 || !strict))
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(verdicts: &[Verdict], strict: bool) -> (String, bool) {
        let mut out = Vec::new();
        let mut report = Report::new("cases", &mut out);
        for verdict in verdicts {
            report.item("A-1", verdict).expect("written");
        }
        let good = report.end(strict).expect("written");
        (String::from_utf8(out).expect("text"), good)
    }

    #[test]
    fn every_item_has_one_line() {
        let verdicts = [
            Verdict::Pass,
            Verdict::Fail("a\nb".to_owned()),
            Verdict::NotBuilt,
            Verdict::NotUnderstood("input.x is unknown".to_owned()),
            Verdict::Skipped("no tokenizer".to_owned()),
        ];
        let (text, good) = report(&verdicts, false);
        assert_eq!(
            text,
            "A-1 pass\nA-1 FAIL: a b\nA-1 not built\nA-1 not understood\nA-1 skipped (no tokenizer)\n\
             cases: 1 passed, 1 failed, 1 not built, 1 not understood, 1 skipped\n"
        );
        assert!(!good);
    }

    #[test]
    fn only_strict_minds_what_is_not_understood() {
        let verdicts = [Verdict::NotUnderstood(String::new()), Verdict::NotBuilt];
        assert!(report(&verdicts, false).1);
        assert!(!report(&verdicts, true).1);
    }
}
