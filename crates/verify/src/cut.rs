//! Where a rollout is cut.

use std::fmt;

/// A place where a rollout can be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CutKind {
    /// Between any two steps.
    Anywhere,
    /// Something is wanted and not launched yet.
    BeforeLaunch,
    /// Something was launched and nothing came back.
    NothingBack,
    /// Some tokens of an attempt arrived.
    BetweenDeltas,
    /// The last token opened a tool call.
    InsideCall,
    /// The last token is a piece of a character.
    InsideCharacter,
    /// The turn's last token is a stop token, and the stream has not ended.
    AfterStopToken,
    /// The next token would be the first of a newer policy.
    VersionChange,
    /// Some parallel calls have returned, others have not.
    BetweenResults,
    /// A `once` call is on record as started.
    AfterStarted,
    /// All results are in, and not encoded.
    ResultsIn,
    /// The interaction is asked.
    Interacting,
    /// The interaction's reply is in, and not encoded.
    ReplyIn,
    /// The rollout is over and was not handed over.
    Done,
    /// A second cut, with no progress since the first.
    NoProgress,
}

impl CutKind {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Anywhere,
        Self::BeforeLaunch,
        Self::NothingBack,
        Self::BetweenDeltas,
        Self::InsideCall,
        Self::InsideCharacter,
        Self::AfterStopToken,
        Self::VersionChange,
        Self::BetweenResults,
        Self::AfterStarted,
        Self::ResultsIn,
        Self::Interacting,
        Self::ReplyIn,
        Self::Done,
        Self::NoProgress,
    ];
}

impl fmt::Display for CutKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anywhere => "between two steps",
            Self::BeforeLaunch => "before a launch",
            Self::NothingBack => "launched, nothing back",
            Self::BetweenDeltas => "between deltas",
            Self::InsideCall => "inside a tool call",
            Self::InsideCharacter => "inside a UTF-8 character",
            Self::AfterStopToken => "after the stop token",
            Self::VersionChange => "at a version change",
            Self::BetweenResults => "between two parallel results",
            Self::AfterStarted => "after `started` of a `once` call",
            Self::ResultsIn => "all results in",
            Self::Interacting => "interacting",
            Self::ReplyIn => "reply in",
            Self::Done => "done, not handed over",
            Self::NoProgress => "again without progress",
        })
    }
}

/// One cut: where, and what happens there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// At which kind of place.
    pub kind: CutKind,
    /// At which place of that kind, from 0.
    pub nth: u16,
    /// Whether the rollout is told (an interrupt); if not, the process dies.
    pub announced: bool,
    /// Whether it goes through the bytes of a snapshot.
    pub through_bytes: bool,
    /// Whether it is cut again at once.
    pub twice: bool,
    /// By how much the policy version rises meanwhile.
    pub bump: u8,
    /// Whether what was running still answers after the resume.
    pub late_answers: bool,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}, place {}",
            if self.announced { "interrupt" } else { "crash" },
            self.kind,
            self.nth
        )?;
        let further = [
            (self.through_bytes, "through bytes"),
            (self.twice, "twice"),
            (self.bump > 0, "with a new version"),
            (self.late_answers, "with late answers"),
        ];
        further.iter().filter(|(holds, _)| *holds).try_for_each(|(_, text)| write!(f, ", {text}"))
    }
}

/// How many places of each kind there were.
#[derive(Debug, Default)]
pub(crate) struct Places([u16; CutKind::ALL.len()]);

impl Places {
    /// How many there were before this one, which is counted.
    pub(crate) fn count(&mut self, kind: CutKind) -> u16 {
        let count = &mut self.0[kind as usize];
        let before = *count;
        *count = before.saturating_add(1);
        before
    }
}
