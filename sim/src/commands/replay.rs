//! `replay FILE`: takes the steps of a race file and checks what it expects.

use std::path::Path;

use runwarden_sim::machines::Registry;
use runwarden_sim::race::{Expectation, Race};
use runwarden_sim::replay::{Replayed, replay};
use serde_json::{Value, json};

use super::{CommandError, Outcome, print, print_json, read_varied};

pub(super) fn run(
    file: &Path,
    variant: Option<&str>,
    is_json: bool,
) -> Result<Outcome, CommandError> {
    let race = read_varied(file, variant)?;
    let replayed = replay(&race, &Registry::product(), |_| {})
        .map_err(|source| CommandError::Replay { path: file.to_owned(), source })?;
    if is_json {
        print_json(&object(file, &race, &replayed))?;
    } else {
        print(&report(&race, &replayed))?;
    }
    Ok(if replayed.is_met { Outcome::Held } else { Outcome::Violated })
}

fn object(file: &Path, race: &Race, replayed: &Replayed) -> Value {
    let violation = replayed.violation.as_ref().map(|violation| {
        json!({
            "rule": violation.invariant,
            "step": replayed.broke_at,
            "machine": violation.machine,
            "detail": violation.detail,
        })
    });
    json!({
        "file": file.display().to_string(),
        "scenario": race.scenario.as_str(),
        "ring": race.ring.as_str(),
        "variant": race.variant.as_ref().map(|variant| variant.as_str()),
        "steps": replayed.steps,
        "under_seed": replayed.walked,
        "rejected": replayed.rejects,
        "skipped": replayed.skipped.len(),
        "skipped_lines": replayed.skipped,
        "expect": expectation(race),
        "violation": violation,
        "met": replayed.is_met,
        "digest": {
            "stated": race.digest.to_string(),
            "found": replayed.digest.to_string(),
            "equal": race.digest == replayed.digest,
        },
    })
}

fn report(race: &Race, replayed: &Replayed) -> String {
    let Replayed { steps, walked, rejects, digest, .. } = replayed;
    let mut lines = vec![format!("{steps} steps, {rejects} inputs turned away, digest {digest}")];
    if *walked > 0 {
        lines.push(format!("{walked} of them behind the file's choices, under seed {}", race.seed));
    }
    for line in &replayed.skipped {
        lines.push(format!("line {line} skipped: its choice is not enabled here"));
    }
    if race.digest != *digest {
        lines.push(format!(
            "the file states digest {}: the code takes another path than when it was written",
            race.digest
        ));
    }
    match (&replayed.violation, replayed.broke_at) {
        (Some(violation), Some(step)) => lines.push(format!("step {step}: {violation}")),
        (Some(violation), None) => lines.push(violation.to_string()),
        (None, _) => lines.push("no invariant broken".to_owned()),
    }
    let met = if replayed.is_met { "met" } else { "NOT met" };
    lines.push(format!("expected {}: {met}", expectation(race)));
    lines.join("\n") + "\n"
}

fn expectation(race: &Race) -> &str {
    match &race.expect {
        Expectation::Ok => "ok",
        Expectation::Violation(id) => id.as_str(),
    }
}
