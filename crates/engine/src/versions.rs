//! R10: version labels that the server reports replace those noted before sending.

use respool_core::{EffectId, Mark, MarkKind, VersionSpan};

use crate::{Engine, engine::Fits};

impl Engine {
    /// Labels fit any attempt of the transcript, also after its turn ended.
    pub(crate) fn on_versions(&mut self, effect: EffectId, spans: &[VersionSpan], uncertain: bool) -> Fits {
        let attempt = self.data.attempts.iter().find(|span| span.effect == effect).copied();
        let attempt = attempt.ok_or("the transcript has no tokens of that attempt")?;
        for span in spans {
            let start = span.start.min(attempt.len);
            let len = span.len.min(attempt.len - start);
            self.data.transcript.relabel(attempt.start + start, len, span.version);
        }
        self.data.version_uncertain |= uncertain;
        self.mark_versions_anew();
        Ok(())
    }

    /// Marks say where the version changes, so they follow the labels. A token comes after
    /// everything else that happened at its place.
    fn mark_versions_anew(&mut self) {
        self.data.marks.retain(|mark| !matches!(mark.kind, MarkKind::Version(_)));
        for (at, version) in self.data.transcript.version_changes() {
            let attempt = self.data.attempts.iter().rev().find(|span| span.start <= at);
            let turn = attempt.map_or(0, |span| span.effect.turn);
            let behind = self.data.marks.partition_point(|mark| mark.at <= at);
            self.data.marks.insert(behind, Mark { at, turn, kind: MarkKind::Version(version) });
        }
    }
}
