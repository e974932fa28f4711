//! `hunt`: random schedules of wide scopes on the real machines.

use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use runwarden_sim::failure::{self, Kept};
use runwarden_sim::hunt::{Hunt, JUDGED_SCHEDULES_MIN, PCT_DEPTH, VIOLATIONS_MAX, WIDE};
use runwarden_sim::scenarios::ALL;
use runwarden_sim::setting::Setting;
use serde_json::{Map, Value, json};

use super::{CommandError, Outcome, RingName, print, print_json, woven};

pub(super) const BUDGET: Duration = Duration::from_secs(10);

/// Where to hunt, and for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The scenarios, by slug or id; all of them without one
    pub(super) scenarios: Vec<String>,
    /// The seeds A to B−1, each in every scenario
    #[arg(long, value_parser = seeds, conflicts_with = "budget")]
    pub(super) seeds: Option<Range<u64>>,
    /// How long to hunt with fresh seeds, such as 30s, 500ms or 2m
    #[arg(long, value_parser = duration)]
    pub(super) budget: Option<Duration>,
    /// The ring
    #[arg(long, value_enum, default_value_t = RingName::Explore)]
    ring: RingName,
    /// Where to write race files and pages of violations
    #[arg(long, default_value = failure::FOLDER)]
    pub(super) out: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, CommandError> {
    match arguments.ring {
        RingName::Explore => {}
        RingName::Weave => return woven::hunt(arguments),
        RingName::Turmoil => return Err(CommandError::Ring("turmoil")),
    }
    let settings = settings(&arguments.scenarios)?;
    let started = Instant::now();
    let mut hunt = Hunt { is_whole: arguments.scenarios.is_empty(), ..Hunt::default() };
    let seeds = match &arguments.seeds {
        Some(seeds) => {
            for seed in seeds.clone() {
                settings.iter().for_each(|setting| hunt.take(setting, seed));
            }
            seeds.clone()
        }
        None => {
            let budget = arguments.budget.unwrap_or(BUDGET);
            let first = fresh_seed();
            if !arguments.json {
                print(&format!("seeds from {first} on\n"))?;
            }
            let mut next = first;
            while started.elapsed() < budget {
                settings.iter().for_each(|setting| hunt.take(setting, next));
                next += 1;
            }
            first..next
        }
    };
    let kept: Result<Vec<_>, _> =
        hunt.violations.iter().map(|found| failure::keep(&arguments.out, &found.race)).collect();
    let kept = kept?;
    if arguments.json {
        print_json(&object(&hunt, &seeds, &kept))?;
    } else {
        print(&report(&hunt, &seeds, &kept, started.elapsed()))?;
    }
    Ok(if hunt.holds() { Outcome::Held } else { Outcome::Violated })
}

fn settings(names: &[String]) -> Result<Vec<Setting>, CommandError> {
    if names.is_empty() {
        let setting = |scenario| Setting { scenario, variant: None, budget: WIDE };
        return Ok(ALL.iter().map(setting).collect());
    }
    names.iter().map(|name| Ok(Setting::find(name, None)?.within(WIDE))).collect()
}

fn object(hunt: &Hunt, seeds: &Range<u64>, kept: &[Kept]) -> Value {
    let violations: Vec<_> = hunt
        .violations
        .iter()
        .zip(kept)
        .map(|(found, kept)| {
            json!({
                "race_file": kept.file.display().to_string(),
                "rule": found.shrunk.broken.rule,
                "scenario": found.shrunk.setting.scenario.name,
                "seed": found.seed,
                "shrunk_minimal": found.shrunk.proof.is_minimal(),
            })
        })
        .collect();
    let strategies: Map<_, _> =
        hunt.tally.strategies().map(|(s, count)| (s.as_str().to_owned(), json!(count))).collect();
    json!({
        "schedules": hunt.tally.schedules,
        "transitions": hunt.tally.transitions,
        "violations": violations,
        "broken_schedules": hunt.broken,
        "faults": hunt.tally.faults(),
        "cells": {
            "tried": hunt.tally.cells_tried(),
            "untried": hunt.tally.cells_untried().len(),
        },
        "untried_cells": hunt.tally.cells_untried(),
        "sometimes": hunt.tally.marks(),
        "missing": hunt.tally.missing(),
        "scope": WIDE.scope().to_string(),
        "seeds": format!("{}..{}", seeds.start, seeds.end),
        "strategies": strategies,
        "pct_depth": PCT_DEPTH,
    })
}

fn report(hunt: &Hunt, seeds: &Range<u64>, kept: &[Kept], took: Duration) -> String {
    let tally = &hunt.tally;
    let counts = |counts: std::collections::BTreeMap<String, u64>| {
        let counts: Vec<_> = counts.iter().map(|(name, n)| format!("{name} {n}")).collect();
        counts.join(", ")
    };
    let strategies: Vec<_> =
        tally.strategies().map(|(s, count)| format!("{} {count}", s.as_str())).collect();
    let seconds = took.as_secs_f64().max(0.001);
    let mut text = format!(
        "{} schedules of at most {} steps, {} transitions in {seconds:.1} s ({:.0}/s), seeds {}..{}\n\
         scope {}; strategies: {} (pct depth {PCT_DEPTH})\nfaults: {}\nsometimes: {}\n\
         cells of the session machine: {} tried, {} not\n",
        tally.schedules,
        tally.steps_max,
        tally.transitions,
        tally.transitions as f64 / seconds,
        seeds.start,
        seeds.end,
        WIDE.scope(),
        strategies.join(", "),
        counts(tally.faults()),
        counts(tally.marks()),
        tally.cells_tried(),
        tally.cells_untried().len(),
    );
    for kept in kept {
        text.push('\n');
        text.push_str(&kept.report);
    }
    let missing = tally.missing().join(", ");
    if tally.schedules < JUDGED_SCHEDULES_MIN {
        text.push_str(&format!(
            "short: what was never seen counts from {JUDGED_SCHEDULES_MIN} schedules on\n"
        ));
    } else if hunt.is_whole && !missing.is_empty() {
        text.push_str(&format!("never seen, so this hunt proves nothing about it: {missing}\n"));
    } else if !missing.is_empty() {
        text.push_str(&format!("never seen in these scenarios: {missing}\n"));
    }
    match hunt.broken {
        0 => text.push_str("no rule broken\n"),
        broken => text.push_str(&format!(
            "{broken} schedules broke a rule; one of each scenario and rule is above, at most {VIOLATIONS_MAX}\n"
        )),
    }
    text
}

/// A seed from the time, so that each hunt looks elsewhere; small enough for a JSON number.
pub(super) fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis() % (1 << 40)).expect("it is below 2^40") * 1_000
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let wrong = || "seeds are `A..B` with A below B, such as 0..1000".to_owned();
    let (first, end) = text.split_once("..").ok_or_else(wrong)?;
    let (first, end) = (first.parse().map_err(|_| wrong())?, end.parse().map_err(|_| wrong())?);
    if first < end { Ok(first..end) } else { Err(wrong()) }
}

fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "a budget is a number with its unit, such as 30s, 500ms or 2m".to_owned();
    let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        _ => return Err(wrong()),
    };
    number.checked_mul(millis).map(Duration::from_millis).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_and_budgets_are_read() {
        assert_eq!(seeds("3..9"), Ok(3..9));
        for wrong in ["9..3", "3..3", "3", "a..b", "3..", "-1..2"] {
            assert!(seeds(wrong).is_err(), "{wrong}");
        }
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["30", "s", "1h", "-1s", "99999999999999999999s", "18446744073709551615m"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
