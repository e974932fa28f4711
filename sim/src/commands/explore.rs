//! `explore SCENARIO`: every order of everything that can happen in its scope.

use std::path::{Path, PathBuf};

use runwarden_sim::explore::{Budget, Found, STATES_MAX};
use runwarden_sim::failure::{self, Kept};
use runwarden_sim::race::Scope;
use runwarden_sim::scenarios::{Scenario, Variant};
use runwarden_sim::setting::Setting;
use serde_json::{Value, json};

use super::{CommandError, Outcome, RingName, print, print_json, woven};

/// What to explore.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The scenario, by its slug or id
    scenario: String,
    /// How much may happen, such as clients:2,stops:1; what is left out stays as the scenario has it
    #[arg(long)]
    scope: Option<String>,
    /// The faulty variant to run in place of the real machines
    #[arg(long)]
    variant: Option<String>,
    /// The ring: weave runs the schedules of one seed after another; without it, explore where it has the
    /// scenario and the variant
    #[arg(long, value_enum)]
    ring: Option<RingName>,
    /// Give up behind this many states, or schedules of ring weave
    #[arg(long)]
    max_states: Option<usize>,
    /// Where to write the race file and the page of a violation
    #[arg(long, default_value = failure::FOLDER)]
    out: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, CommandError> {
    let variant = arguments.variant.as_deref();
    if RingName::of(arguments.ring, &arguments.scenario, variant)? == RingName::Weave {
        let Arguments { scenario, max_states, out, json, .. } = arguments;
        return woven::explore(scenario, variant, *max_states, out, *json);
    }
    let setting = Setting::find(&arguments.scenario, variant)?;
    let Setting { scenario, variant, .. } = setting;
    let budget = budget_of(scenario, arguments.scope.as_deref())?;
    let started = std::time::Instant::now();
    let states_max = arguments.max_states.unwrap_or(STATES_MAX).clamp(1, STATES_MAX);
    let found = scenario.explore(variant, budget, states_max);
    let seconds = started.elapsed().as_secs_f64();
    let kept = keep(setting.within(budget), &found, &arguments.out)?;
    if arguments.json {
        let file = kept.as_ref().map(|kept| kept.file.display().to_string());
        print_json(&object(scenario, variant, budget, &found, file))?;
    } else {
        let mut text = report(scenario, variant, budget, &found, seconds);
        if let Some(kept) = kept {
            text.push('\n');
            text.push_str(&kept.report);
        }
        print(&text)?;
    }
    Ok(if found.broken.is_some() { Outcome::Violated } else { Outcome::Held })
}

fn budget_of(scenario: &Scenario, scope: Option<&str>) -> Result<Budget, CommandError> {
    let Some(text) = scope else { return Ok(scenario.budget) };
    let scope = Scope::parse(text).map_err(CommandError::Scope)?;
    scenario.budget.with(&scope).map_err(CommandError::Budget)
}

/// Writes the race file of a violation. The search in breadth found no shorter schedule.
fn keep(setting: Setting, found: &Found, folder: &Path) -> Result<Option<Kept>, CommandError> {
    if found.broken.is_none() {
        return Ok(None);
    }
    let labels: Vec<_> = found.schedule.iter().map(|step| step.label.clone()).collect();
    let race = setting.race(0, &labels);
    Ok(Some(failure::keep(folder, &race)?))
}

fn object(
    scenario: &Scenario,
    variant: Option<&Variant>,
    budget: Budget,
    found: &Found,
    race_file: Option<String>,
) -> Value {
    let violation = found.broken.as_ref().map(|broken| {
        json!({"rule": broken.rule, "step": found.schedule.len(), "detail": broken.detail})
    });
    let schedule: Vec<_> = found.schedule.iter().map(|step| &step.label).collect();
    json!({
        "scenario": scenario.name,
        "variant": variant.map(|variant| variant.name),
        "scope": budget.scope().to_string(),
        "exhaustive": found.exhaustive,
        "states": found.states,
        "transitions": found.transitions,
        "bytes_per_state": found.bytes_per_state,
        "violation": violation,
        "schedule": schedule,
        // A search in breadth finds no longer schedule before a shorter one.
        "shrunk_minimal": found.broken.is_some(),
        "race_file": race_file,
    })
}

fn report(
    scenario: &Scenario,
    variant: Option<&Variant>,
    budget: Budget,
    found: &Found,
    seconds: f64,
) -> String {
    let variant = variant.map_or("the real machines", |variant| variant.name);
    let extent = if found.exhaustive { "exhaustive in" } else { "not exhaustive in" };
    let mut lines = vec![
        format!("{} {}: {variant}, {extent} {}", scenario.id, scenario.name, budget.scope()),
        format!(
            "{} states, {} transitions, {:.0} transitions/s, depth {}, {} bytes per visited state",
            found.states,
            found.transitions,
            found.transitions as f64 / seconds.max(0.001),
            found.depth,
            found.bytes_per_state
        ),
    ];
    match &found.broken {
        Some(broken) => {
            lines.push(format!("{broken}; the shortest schedule, behind the scenario's begin:"));
            for (number, step) in (1..).zip(&found.schedule) {
                lines.push(format!("{number} {} {}", step.now.as_micros(), step.label));
            }
        }
        None if found.exhaustive => lines.push("no rule broken".to_owned()),
        None => lines.push("no rule broken as far as the search went".to_owned()),
    }
    lines.join("\n") + "\n"
}
