//! `list`: the scenarios.

use runwarden_sim::scenarios::{self, Scenario};
use serde_json::{Value, json};

use super::{CommandError, Outcome, print};

pub(super) fn run(is_json: bool) -> Result<Outcome, CommandError> {
    if is_json {
        let entries: Vec<_> = scenarios::ALL.iter().map(entry).collect();
        print(&format!("{}\n", json!({ "scenarios": entries })))?;
    } else {
        let lines: Vec<_> = scenarios::ALL.iter().map(line).collect();
        print(&lines.concat())?;
    }
    Ok(Outcome::Held)
}

fn entry(scenario: &Scenario) -> Value {
    let rings: Vec<_> = scenario.rings.iter().map(|ring| ring.as_str()).collect();
    let variants: Vec<_> = scenario.variants.iter().map(|variant| variant.name).collect();
    json!({
        "name": scenario.name, "id": scenario.id, "rings": rings, "variants": variants,
    })
}

fn line(scenario: &Scenario) -> String {
    let rings: Vec<_> = scenario.rings.iter().map(|ring| ring.as_str()).collect();
    format!("{:<10} {} ({})\n", scenario.id, scenario.name, rings.join(", "))
}
