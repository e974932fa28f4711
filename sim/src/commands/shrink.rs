//! `shrink FILE -o OUT`: the shortest schedule that breaks the rule which FILE breaks.

use std::path::Path;

use runwarden_sim::explore::Recording;
use runwarden_sim::failure;
use runwarden_sim::machines::Registry;
use runwarden_sim::race::{Race, Ring};
use runwarden_sim::random::Random;
use runwarden_sim::replay::ReplayError;
use runwarden_sim::schedule::{Course, Uniform, WALK_STEPS_MAX};
use runwarden_sim::setting::Setting;
use runwarden_sim::shrink::{Proof, shrink, shrink_inputs};

use super::{CommandError, Outcome, output, print, read_varied, woven};

pub(super) fn run(
    file: &Path,
    variant: Option<&str>,
    target: &Path,
) -> Result<Outcome, CommandError> {
    let race = read_varied(file, variant)?;
    if race.init.is_some() {
        return inputs(file, &race, target);
    }
    if race.ring == Ring::Weave {
        return woven::shrink(file, &race, target);
    }
    let replay = |source| CommandError::Replay { path: file.to_owned(), source };
    let setting = Setting::of(&race).map_err(|source| replay(ReplayError::Setting(source)))?;
    let course = course(&setting, &race);
    let shrunk = shrink(setting, &course.labels())
        .ok_or_else(|| CommandError::NothingToShrink { path: file.to_owned() })?;
    let small = shrunk.setting.race(race.seed, &shrunk.labels());
    output::write(target, &small.to_string())?;
    print(&format!(
        "{} choices became {}, {}; {} schedules tried\n{}",
        course.steps.len(),
        shrunk.schedule.len(),
        proof(shrunk.proof),
        shrunk.tries,
        failure::report(&small, target, None).map_err(replay)?,
    ))?;
    Ok(Outcome::Held)
}

/// Shrinks what a flight recorder saw.
fn inputs(file: &Path, race: &Race, target: &Path) -> Result<Outcome, CommandError> {
    let small = shrink_inputs(race, &Registry::product())
        .ok_or_else(|| CommandError::NothingToShrink { path: file.to_owned() })?;
    output::write(target, &small.to_string())?;
    let report = failure::report(&small, target, None)
        .map_err(|source| CommandError::Replay { path: file.to_owned(), source })?;
    let (before, after) = (race.choices.len(), small.choices.len());
    print(&format!("{before} inputs became {after}\n{report}"))?;
    Ok(Outcome::Held)
}

/// What is known about shorter schedules.
pub(super) fn proof(proof: Proof) -> &'static str {
    match proof {
        Proof::Minimal => "proved minimal",
        Proof::MinimalInItsScope => "proved minimal in the scope of the file",
        Proof::Open => "not proved minimal: the scope has too many states",
    }
}

/// Everything the replay of the file takes, what it takes under its seed included.
fn course(setting: &Setting, race: &Race) -> Course {
    let mut play = setting.begin(Recording::Off);
    let names: Vec<_> = race.choices.iter().map(|choice| choice.name()).collect();
    let mut course = Course::follow(play.as_mut(), &names);
    course.walk(play.as_mut(), &mut Uniform(Random::new(race.seed)), WALK_STEPS_MAX);
    course
}
