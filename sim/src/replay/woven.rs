//! The replay of a race file of ring weave: its departures, and the calm course where it names none.

use runwarden_protocol::invariants::Violation;
use runwarden_protocol::record::Record;

use super::{ReplayError, Replayed, is_met};
use crate::explore::Recording;
use crate::race::Race;
use crate::woven::{WovenSetting, departures_of};

pub(super) fn replay(race: &Race, each: impl FnMut(&Record)) -> Result<Replayed, ReplayError> {
    let setting = WovenSetting::of(race)?;
    let read = departures_of(race);
    let given: Vec<_> = read.iter().flatten().cloned().collect();
    let schedule = setting.given(race.seed, given, Recording::On);
    schedule.records.iter().for_each(each);
    let is_taken = |departure: &crate::weave::Departure| {
        schedule.departures.iter().any(|taken| taken.is_of(departure))
    };
    let skipped = (0..).zip(&read).filter(|(_, read)| !read.as_ref().is_some_and(is_taken));
    let last = schedule.records.last();
    let violation = schedule.broken.map(|broken| Violation {
        invariant: broken.rule,
        n: last.map_or(0, |record| record.n),
        machine: last.map(|record| record.machine.clone()).unwrap_or_default(),
        detail: broken.detail,
    });
    Ok(Replayed {
        steps: schedule.departures.len(),
        walked: 0,
        times: schedule.departures.iter().map(|departure| departure.now).collect(),
        skipped: skipped.map(|(index, _)| race.line_of(index)).collect(),
        rejects: schedule.records.iter().filter(|record| record.reject.is_some()).count(),
        broke_at: violation.is_some().then_some(schedule.departures.len()),
        is_met: is_met(&race.expect, violation.as_ref()),
        violation,
        digest: schedule.digest,
    })
}
