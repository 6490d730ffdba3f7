//! The date that `strftime_now` sees.

use respool_dialect::Clock;

use crate::report::Verdict;

/// Reads the date and time at the start of a text such as `2026-01-02T03:04:05Z at first`.
///
/// # Errors
/// If there is none.
pub(crate) fn read(text: &str) -> Result<Clock, Verdict> {
    let parts: Vec<&str> = text.splitn(7, |character: char| !character.is_ascii_digit()).collect();
    let part = |at: usize| parts.get(at)?.parse::<u32>().ok();
    let clock = || Clock::new(part(0)?.try_into().ok()?, part(1)?, part(2)?, part(3)?, part(4)?, part(5)?);
    clock().ok_or_else(|| Verdict::NotUnderstood(format!("clock: {text:?} begins with no date and time")))
}

/// The same; without a text it is [`unset`].
///
/// # Errors
/// If the text begins with no date and time.
pub(crate) fn read_or_unset(text: Option<&str>) -> Result<Clock, Verdict> {
    text.map_or_else(|| Ok(unset()), read)
}

/// What a template sees where the test data says nothing.
pub(crate) fn unset() -> Clock {
    Clock::from_unix_seconds(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_from_the_start() {
        let clock = read("2025-03-01T23:59:58Z at first rendering").expect("clock");
        assert_eq!(clock.strftime("%d %b %Y %H:%M:%S"), "01 Mar 2025 23:59:58");
        assert!(read("2026-01-02T03:04:05").is_ok());
        for wrong in ["", "today", "2025-02-30T00:00:00", "2025-03-01"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
