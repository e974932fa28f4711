//! The replay of a race file that holds choices: by name, in the world of its scenario, and on under its
//! seed.

use runwarden_protocol::invariants::Violation;
use runwarden_protocol::record::{DIGEST_START, Record};

use super::{ReplayError, Replayed, is_met};
use crate::explore::Recording;
use crate::race::{Choice, Race};
use crate::random::Random;
use crate::schedule::{Course, Uniform, WALK_STEPS_MAX};
use crate::setting::Setting;

pub(super) fn replay(race: &Race, mut each: impl FnMut(&Record)) -> Result<Replayed, ReplayError> {
    let mut play = Setting::of(race)?.begin(Recording::On);
    let names: Vec<_> = race.choices.iter().map(Choice::name).collect();
    let mut course = Course::follow(play.as_mut(), &names);
    let followed = course.steps.len();
    course.walk(play.as_mut(), &mut Uniform(Random::new(race.seed)), WALK_STEPS_MAX);
    let records = play.records();
    records.iter().for_each(&mut each);
    let last = records.last();
    let violation = course.broken.as_ref().map(|broken| Violation {
        invariant: broken.rule,
        n: last.map_or(0, |record| record.n),
        machine: last.map(|record| record.machine.clone()).unwrap_or_default(),
        detail: broken.detail.clone(),
    });
    Ok(Replayed {
        steps: course.steps.len(),
        walked: course.steps.len() - followed,
        times: course.steps.iter().map(|step| step.now).collect(),
        skipped: course.skipped.iter().map(|index| race.line_of(*index)).collect(),
        rejects: records.iter().filter(|record| record.reject.is_some()).count(),
        broke_at: violation.is_some().then_some(course.steps.len()),
        is_met: is_met(&race.expect, violation.as_ref()),
        violation,
        digest: last.map_or(DIGEST_START, |record| record.digest),
    })
}
