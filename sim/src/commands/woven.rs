//! The commands in ring weave.

use std::path::Path;
use std::thread;
use std::time::Instant;

use runwarden_sim::explore::Recording;
use runwarden_sim::failure::{self, Kept};
use runwarden_sim::race::Race;
use runwarden_sim::replay::ReplayError;
use runwarden_sim::scenarios::WOVEN;
use runwarden_sim::woven::{
    JUDGED_SCHEDULES_MIN, VIOLATIONS_MAX, WovenFound, WovenHunt, WovenSetting, WovenShrunk,
    departures_of, shrink as shrink_departures,
};
use serde_json::{Value, json};

use super::hunt::{Arguments as HuntArguments, BUDGET, fresh_seed};
use super::{CommandError, Outcome, output, print, print_json};

/// Schedules that `explore` runs unless it is told how many.
const SCHEDULES_MAX: usize = 2_000;

/// One schedule, the same one each time.
pub(super) fn run(
    (scenario, variant): (&str, Option<&str>),
    seed: u64,
    trace: Option<&Path>,
    out: &Path,
    is_json: bool,
) -> Result<Outcome, CommandError> {
    let setting = WovenSetting::find(scenario, variant)?;
    let schedule = setting.drawn(seed, Recording::On);
    if let Some(path) = trace {
        let lines: String = schedule.records.iter().map(|r| r.to_line() + "\n").collect();
        output::write(path, &lines)?;
    }
    let kept = match shrink_departures(setting, seed, schedule.departures.clone()) {
        Some(shrunk) => Some(failure::keep(out, &setting.race(seed, &shrunk.schedule))?),
        None => None,
    };
    if is_json {
        print_json(&json!({
            "scenario": setting.woven.name,
            "variant": setting.variant.map(|variant| variant.name),
            "ring": "weave",
            "seed": seed,
            "steps": schedule.polls,
            "choices": schedule.departures.len(),
            "faults": schedule.faults,
            "records": schedule.records.len(),
            "digest": schedule.digest.to_string(),
            "violation": violation(&schedule.broken, schedule.departures.len()),
            "race_file": kept.as_ref().map(|kept| kept.file.display().to_string()),
        }))?;
    } else {
        let mut text = String::new();
        for (number, departure) in (1..).zip(&schedule.departures) {
            text.push_str(&format!("{number} {} {departure}\n", departure.now.as_micros()));
        }
        text.push_str(&format!(
            "seed {seed}, {} polls, {} choices, {} records, digest {}\n",
            schedule.polls,
            schedule.departures.len(),
            schedule.records.len(),
            schedule.digest
        ));
        match (&schedule.broken, &kept) {
            (Some(broken), Some(kept)) => text.push_str(&format!("{broken}\n\n{}", kept.report)),
            _ => text.push_str("no rule broken\n"),
        }
        print(&text)?;
    }
    Ok(if schedule.broken.is_some() { Outcome::Violated } else { Outcome::Held })
}

/// The schedules of one seed after another, from 0 on, until one breaks a rule.
pub(super) fn explore(
    scenario: &str,
    variant: Option<&str>,
    schedules_max: Option<usize>,
    out: &Path,
    is_json: bool,
) -> Result<Outcome, CommandError> {
    let setting = WovenSetting::find(scenario, variant)?;
    let schedules_max = schedules_max.unwrap_or(SCHEDULES_MAX);
    let found = setting.search(0..schedules_max as u64);
    let shrunk = found.broken.as_ref().and_then(|(seed, schedule)| {
        shrink_departures(setting, *seed, schedule.departures.clone()).map(|small| (*seed, small))
    });
    let kept = match &shrunk {
        Some((seed, shrunk)) => Some(failure::keep(out, &setting.race(*seed, &shrunk.schedule))?),
        None => None,
    };
    if is_json {
        print_json(&explored(setting, &found, shrunk.as_ref(), kept.as_ref()))?;
    } else {
        let machines = setting.variant.map_or("the real machines", |variant| variant.name);
        let mut text = format!(
            "{} {}: {machines}, ring weave, {} schedules, {} polls\n",
            setting.woven.id, setting.woven.name, found.schedules, found.polls
        );
        match &kept {
            Some(kept) => text.push_str(&kept.report),
            None => text.push_str("no rule broken as far as the search went\n"),
        }
        print(&text)?;
    }
    Ok(if found.broken.is_some() { Outcome::Violated } else { Outcome::Held })
}

fn explored(
    setting: WovenSetting,
    found: &WovenFound,
    shrunk: Option<&(u64, WovenShrunk)>,
    kept: Option<&Kept>,
) -> Value {
    let schedule = shrunk.map(|(_, shrunk)| &shrunk.schedule);
    let departures = schedule.map_or(&[][..], |schedule| &schedule.departures);
    let labels: Vec<_> = departures.iter().map(ToString::to_string).collect();
    json!({
        "scenario": setting.woven.name,
        "variant": setting.variant.map(|variant| variant.name),
        "ring": "weave",
        "scope": format!("seeds:{}", found.schedules),
        "exhaustive": false,
        "states": found.schedules,
        "transitions": found.polls,
        "violation": schedule.and_then(|schedule| violation(&schedule.broken, labels.len())),
        "schedule": labels,
        "seed": shrunk.map(|(seed, _)| seed),
        "shrunk_minimal": false,
        "race_file": kept.map(|kept| kept.file.display().to_string()),
    })
}

fn violation(broken: &Option<runwarden_sim::explore::Broken>, step: usize) -> Option<Value> {
    let broken = broken.as_ref()?;
    Some(json!({"rule": broken.rule, "step": step, "detail": broken.detail}))
}

/// The fewest departures that break the rule which the file breaks.
pub(super) fn shrink(file: &Path, race: &Race, target: &Path) -> Result<Outcome, CommandError> {
    let replay = |source| CommandError::Replay { path: file.to_owned(), source };
    let setting = WovenSetting::of(race).map_err(|source| replay(ReplayError::Setting(source)))?;
    let departures: Vec<_> = departures_of(race).into_iter().flatten().collect();
    let before = departures.len();
    let shrunk = shrink_departures(setting, race.seed, departures)
        .ok_or_else(|| CommandError::NothingToShrink { path: file.to_owned() })?;
    let small = setting.race(race.seed, &shrunk.schedule);
    output::write(target, &small.to_string())?;
    print(&format!(
        "{before} choices became {}, none of which can be left out; {} schedules tried\n{}",
        shrunk.schedule.departures.len(),
        shrunk.tries,
        failure::report(&small, target, None).map_err(replay)?,
    ))?;
    Ok(Outcome::Held)
}

/// Random schedules of the real machines, on every core.
pub(super) fn hunt(arguments: &HuntArguments) -> Result<Outcome, CommandError> {
    let settings = if arguments.scenarios.is_empty() {
        WOVEN.iter().map(|woven| WovenSetting { woven, variant: None }).collect()
    } else {
        let find = |name: &String| WovenSetting::find(name, None);
        arguments.scenarios.iter().map(find).collect::<Result<Vec<_>, _>>()?
    };
    let started = Instant::now();
    let first = arguments.seeds.as_ref().map_or_else(fresh_seed, |seeds| seeds.start);
    if arguments.seeds.is_none() && !arguments.json {
        print(&format!("seeds from {first} on\n"))?;
    }
    let cores = thread::available_parallelism().map_or(1, usize::from) as u64;
    let budget = arguments.budget.unwrap_or(BUDGET);
    let goes_on = |seed: u64| match &arguments.seeds {
        Some(seeds) => seed < seeds.end,
        None => started.elapsed() < budget,
    };
    let hunt_from = |core: u64| {
        let mut hunt = WovenHunt::default();
        let mut seed = first + core;
        while goes_on(seed) {
            settings.iter().for_each(|setting| hunt.take(*setting, seed));
            seed += cores;
        }
        hunt
    };
    let is_whole = arguments.scenarios.is_empty();
    let hunt = thread::scope(|scope| {
        let hunts: Vec<_> = (0..cores).map(|core| scope.spawn(move || hunt_from(core))).collect();
        let mut whole = WovenHunt { is_whole, ..WovenHunt::default() };
        for hunt in hunts {
            whole.add(hunt.join().expect("a schedule that panics is a violation"));
        }
        whole
    });
    let kept: Result<Vec<_>, _> =
        hunt.violations.iter().map(|found| failure::keep(&arguments.out, &found.race)).collect();
    let kept = kept?;
    if arguments.json {
        print_json(&hunted(&hunt, first, &kept))?;
    } else {
        print(&report(&hunt, first, &kept, started.elapsed().as_secs_f64().max(0.001)))?;
    }
    Ok(if hunt.holds() { Outcome::Held } else { Outcome::Violated })
}

fn hunted(hunt: &WovenHunt, first: u64, kept: &[Kept]) -> Value {
    let violations: Vec<_> = hunt
        .violations
        .iter()
        .zip(kept)
        .map(|(found, kept)| {
            json!({
                "race_file": kept.file.display().to_string(),
                "rule": found.broken.rule,
                "scenario": found.setting.woven.name,
                "seed": found.seed,
                "shrunk_minimal": false,
            })
        })
        .collect();
    json!({
        "ring": "weave",
        "schedules": hunt.schedules,
        "transitions": hunt.polls,
        "violations": violations,
        "broken_schedules": hunt.broken,
        "faults": hunt.faults(),
        "cells": {"tried": 0, "untried": 0},
        "missing": hunt.missing(),
        "seeds": format!("{first}.."),
    })
}

fn report(hunt: &WovenHunt, first: u64, kept: &[Kept], seconds: f64) -> String {
    let faults: Vec<_> = hunt.faults().iter().map(|(kind, n)| format!("{kind} {n}")).collect();
    let mut text = format!(
        "{} schedules of ring weave in {seconds:.1} s ({:.0}/s), {} polls, seeds from {first} on\nfaults: {}\n",
        hunt.schedules,
        hunt.schedules as f64 / seconds,
        hunt.polls,
        faults.join(", "),
    );
    for kept in kept {
        text.push('\n');
        text.push_str(&kept.report);
    }
    let missing = hunt.missing().join(", ");
    if hunt.schedules < JUDGED_SCHEDULES_MIN {
        text.push_str(&format!(
            "short: what never struck counts from {JUDGED_SCHEDULES_MIN} schedules on\n"
        ));
    } else if !missing.is_empty() {
        text.push_str(&format!("never struck, so this hunt proves nothing about it: {missing}\n"));
    }
    match hunt.broken {
        0 => text.push_str("no rule broken\n"),
        broken => text.push_str(&format!(
            "{broken} schedules broke a rule; one of each scenario and rule is above, at most {VIOLATIONS_MAX}\n"
        )),
    }
    text
}
