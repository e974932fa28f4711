//! `list`: the scenarios.

use runwarden_sim::scenarios::{self, Listed};
use serde_json::{Value, json};

use super::{CommandError, Outcome, print};

pub(super) fn run(is_json: bool) -> Result<Outcome, CommandError> {
    if is_json {
        let entries: Vec<_> = scenarios::list().iter().map(entry).collect();
        print(&format!("{}\n", json!({ "scenarios": entries })))?;
    } else {
        let lines: Vec<_> = scenarios::list().iter().map(line).collect();
        print(&lines.concat())?;
    }
    Ok(Outcome::Held)
}

fn entry(scenario: &Listed) -> Value {
    let rings: Vec<_> = scenario.rings.iter().map(|ring| ring.as_str()).collect();
    json!({
        "name": scenario.name, "id": scenario.id, "rings": rings, "variants": scenario.variants,
    })
}

fn line(scenario: &Listed) -> String {
    let rings: Vec<_> = scenario.rings.iter().map(|ring| ring.as_str()).collect();
    format!("{:<10} {} ({})\n", scenario.id, scenario.name, rings.join(", "))
}
