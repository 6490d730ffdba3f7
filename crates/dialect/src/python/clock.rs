//! `strftime_now` on a pinned date: a rollout sees one date from its first prompt to its end.

/// A date and time of day, in whatever time zone the caller means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    year: i32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

impl Clock {
    /// That date and time, or `None` if there is no such day or time.
    #[must_use]
    pub fn new(year: i32, month: u32, day: u32, hour: u32, minute: u32, second: u32) -> Option<Self> {
        let valid = (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_in(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60;
        valid.then_some(Self { year, month, day, hour, minute, second })
    }

    /// The UTC date and time of that many seconds after 1970-01-01T00:00:00Z. Dates outside the
    /// years 1 to 9999 become the nearest one inside.
    #[must_use]
    pub fn from_unix_seconds(seconds: i64) -> Self {
        let seconds = seconds.clamp(-62_135_596_800, 253_402_300_799);
        let (mut days, time) = (seconds.div_euclid(86_400) + 719_162, seconds.rem_euclid(86_400));
        // 146,097 days are 400 years; the loop below takes what is left.
        let mut year = 1 + 400 * (days / 146_097);
        days %= 146_097;
        let mut month = 1;
        loop {
            let length = i64::from(365 + u32::from(is_leap(year as i32)));
            if days < length {
                break;
            }
            days -= length;
            year += 1;
        }
        while days >= i64::from(days_in(year as i32, month)) {
            days -= i64::from(days_in(year as i32, month));
            month += 1;
        }
        let part = |value: i64| u32::try_from(value).unwrap_or(0);
        Self {
            year: i32::try_from(year).unwrap_or(1),
            month,
            day: part(days) + 1,
            hour: part(time / 3600),
            minute: part(time / 60 % 60),
            second: part(time % 60),
        }
    }

    fn day_of_year(&self) -> u32 {
        (1..self.month).map(|month| days_in(self.year, month)).sum::<u32>() + self.day
    }

    /// 0 is Sunday; 1 January of the year 1 was a Monday.
    fn weekday(&self) -> u32 {
        let years = self.year - 1;
        let days = i64::from(years) * 365 + i64::from(years / 4 - years / 100 + years / 400);
        u32::try_from((days + i64::from(self.day_of_year())) % 7).unwrap_or(0)
    }

    /// Python's `strftime` in the C locale. A directive that it does not have stays as it is.
    #[must_use]
    pub fn strftime(&self, format: &str) -> String {
        let mut out = String::new();
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            match chars.next() {
                Some('-') => {
                    let directive = chars.next().unwrap_or('%');
                    let padded = self.directive(directive);
                    let short = padded.trim_start_matches(['0', ' ']);
                    out.push_str(if short.is_empty() { "0" } else { short });
                }
                Some(directive) => out.push_str(&self.directive(directive)),
                None => out.push('%'),
            }
        }
        out
    }

    fn directive(&self, directive: char) -> String {
        let month = MONTHS[self.month as usize - 1];
        let day = DAYS[self.weekday() as usize];
        let hour12 = (self.hour + 11) % 12 + 1;
        match directive {
            'Y' => self.year.to_string(),
            'y' => format!("{:02}", self.year % 100),
            'm' => format!("{:02}", self.month),
            'd' => format!("{:02}", self.day),
            'e' => format!("{:2}", self.day),
            'B' => month.to_owned(),
            'b' | 'h' => month[..3].to_owned(),
            'A' => day.to_owned(),
            'a' => day[..3].to_owned(),
            'w' => self.weekday().to_string(),
            'u' => ((self.weekday() + 6) % 7 + 1).to_string(),
            'j' => format!("{:03}", self.day_of_year()),
            'H' => format!("{:02}", self.hour),
            'I' => format!("{hour12:02}"),
            'M' => format!("{:02}", self.minute),
            'S' => format!("{:02}", self.second),
            'f' => "000000".to_owned(),
            'p' => if self.hour < 12 { "AM" } else { "PM" }.to_owned(),
            'F' => self.strftime("%Y-%m-%d"),
            'T' | 'X' => self.strftime("%H:%M:%S"),
            'R' => self.strftime("%H:%M"),
            'D' | 'x' => self.strftime("%m/%d/%y"),
            'c' => self.strftime("%a %b %e %H:%M:%S %Y"),
            'n' => "\n".to_owned(),
            't' => "\t".to_owned(),
            // A pinned date has no time zone, as Python's naive datetime.
            'Z' | 'z' => String::new(),
            '%' => "%".to_owned(),
            other => format!("%{other}"),
        }
    }
}

fn is_leap(year: i32) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

fn days_in(year: i32, month: u32) -> u32 {
    match month {
        2 => 28 + u32::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
