//! `run SCENARIO --seed N`: one schedule, the same one each time.

use std::path::PathBuf;

use runwarden_sim::explore::Recording;
use runwarden_sim::failure;
use runwarden_sim::hunt::{self, Strategy, WIDE};
use runwarden_sim::setting::Setting;
use runwarden_sim::shrink::shrink;
use serde_json::json;

use super::{CommandError, Outcome, RingName, output, print, print_json, woven};

/// What to run.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The scenario, by its slug or id
    scenario: String,
    /// The seed that decides everything
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The ring; without it, explore where it has the scenario and the variant, else weave
    #[arg(long, value_enum)]
    ring: Option<RingName>,
    /// The faulty variant to run in place of the real machines
    #[arg(long)]
    variant: Option<String>,
    /// Where to write the records of all steps, one JSON object a line
    #[arg(long)]
    trace: Option<PathBuf>,
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
        let Arguments { scenario, seed, trace, out, json, .. } = arguments;
        return woven::run((scenario, variant), *seed, trace.as_deref(), out, *json);
    }
    let setting = Setting::find(&arguments.scenario, variant)?.within(WIDE);
    let seed = arguments.seed;
    let (course, play) = hunt::schedule(&setting, seed, Recording::On);
    let records = play.records();
    if let Some(path) = &arguments.trace {
        let lines: String = records.iter().map(|record| record.to_line() + "\n").collect();
        output::write(path, &lines)?;
    }
    let digest = records.last().map(|record| record.digest.to_string());
    let kept = match shrink(setting, &course.labels()) {
        None => None,
        Some(shrunk) => {
            let race = shrunk.setting.race(seed, &shrunk.labels());
            Some(failure::keep(&arguments.out, &race)?)
        }
    };
    let violation = course.broken.as_ref().map(
        |broken| json!({"rule": broken.rule, "step": course.steps.len(), "detail": broken.detail}),
    );
    if arguments.json {
        print_json(&json!({
            "scenario": setting.scenario.name,
            "variant": setting.variant.map(|variant| variant.name),
            "ring": "explore",
            "scope": setting.budget.scope().to_string(),
            "seed": seed,
            "strategy": Strategy::of(seed).as_str(),
            "steps": course.steps.len(),
            "records": records.len(),
            "digest": digest,
            "violation": violation,
            "race_file": kept.as_ref().map(|kept| kept.file.display().to_string()),
        }))?;
    } else {
        let mut text = String::new();
        for (number, step) in (1..).zip(&course.steps) {
            text.push_str(&format!("{number} {} {}\n", step.now.as_micros(), step.label));
        }
        text.push_str(&format!(
            "seed {seed} ({}), {} steps, {} records, digest {}\n",
            Strategy::of(seed).as_str(),
            course.steps.len(),
            records.len(),
            digest.unwrap_or_default()
        ));
        match (&course.broken, &kept) {
            (Some(broken), Some(kept)) => text.push_str(&format!("{broken}\n\n{}", kept.report)),
            _ => text.push_str("no rule broken\n"),
        }
        print(&text)?;
    }
    Ok(if course.broken.is_some() { Outcome::Violated } else { Outcome::Held })
}
