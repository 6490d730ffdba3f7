//! Versions: what a record says of each sampled token against what the server logged for it.

use respool_core::PolicyVersion;
use respool_llm::version_of_label;

use crate::account::{Joined, Names};
use crate::cut::Told;

/// How the labels of all records compare.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    pub(crate) right: u64,
    /// Wrong, in a record that says so.
    pub(crate) flagged: u64,
    /// Wrong, in a record of which a crash lost something; never so that it seems less stale.
    pub(crate) lost: u64,
    /// Of a silent server that was away unnoticed.
    pub(crate) unnoticed: u64,
    /// Of a server whose weights have no label.
    pub(crate) unknown: u64,
    /// Records that are flagged.
    pub(crate) uncertain_records: u64,
}

/// Compares them.
///
/// # Errors
/// The first label that is wrong, and why it may not be.
pub(crate) fn check(joined: &[Joined], told: &[Told]) -> Result<Labels, String> {
    let names = Names::new(joined);
    let mut labels = Labels::default();
    for told in told {
        labels.uncertain_records += u64::from(told.trajectory.data.version_uncertain);
        check_one(joined, &names, told, &mut labels)
            .map_err(|reason| format!("rollout {}: {reason}", told.trajectory.data.spec.id))?;
    }
    Ok(labels)
}

fn check_one(joined: &[Joined], names: &Names, told: &Told, labels: &mut Labels) -> Result<(), String> {
    let data = &told.trajectory.data;
    let (versions, prompt) = (data.transcript.token_versions(), data.transcript.prompt_len());
    let mut oldest: Option<PolicyVersion> = None;
    for span in &data.attempts {
        let one = names.find(data.spec.id, span.effect).map(|index| &joined[index]);
        let one = one.ok_or_else(|| format!("nobody made the call {span:?}"))?;
        let record = one.record().ok_or_else(|| format!("no server sent {span:?}"))?;
        if !one.flavour.can_be_labelled() {
            labels.unknown += u64::from(span.len);
            oldest = None;
            continue;
        }
        if one.flavour.is_silent() && record.life > 0 && record.label(0) == Some("0") && one.call.noted.0 > 0
        {
            // It was started anew so fast that no probe saw it, and nothing in its answers tells.
            labels.unnoticed += u64::from(span.len);
            continue;
        }
        for position in span.start..span.start + span.len {
            let label = position.checked_sub(record.prompt_tokens).and_then(|token| record.label(token));
            let label = label.ok_or_else(|| format!("{record:?} has no token at {position}"))?;
            // Another label names no version: it counts as the one in force when the request was sent.
            let logged = version_of_label(label).unwrap_or(one.call.noted);
            let found = versions[(position - prompt) as usize].ok_or("a sampled token without a version")?;
            oldest = Some(oldest.map_or(logged, |oldest| oldest.min(logged)));
            if found == logged {
                labels.right += 1;
            } else if data.version_uncertain && !(one.call.told_versions && told.crashes == 0) {
                labels.flagged += 1;
            } else if told.crashes > 0 {
                // A crash may lose what the server told last, and that it told nothing.
                labels.lost += 1;
            } else {
                return Err(format!(
                    "token {position} is of version {logged}, the record says {found} (flagged: {}, crashes: {}): \
                     {:?} {:?}, {record:?}, marks {:?}",
                    data.version_uncertain, told.crashes, one.flavour, one.call, data.marks
                ));
            }
        }
    }
    match (oldest, data.transcript.version_min()) {
        (Some(oldest), Some(found)) if found > oldest => Err(format!(
            "its oldest token is of version {oldest}, the record says {found}: staleness would be underestimated"
        )),
        _ => Ok(()),
    }
}
