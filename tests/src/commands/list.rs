//! `list`: the rules and how much of them is claimed.

use std::collections::BTreeMap;

use runwarden_conformance::claims::{Catalogue, Count, Delivered, Report, check};
use runwarden_conformance::workspace::{Tree, root};
use serde_json::{Value, json};

use super::{CommandError, Outcome, print};

pub(super) fn run(is_json: bool) -> Result<Outcome, CommandError> {
    let path = root();
    let tree =
        Tree::read(&path).map_err(|source| CommandError::Read { path: path.clone(), source })?;
    let delivered = tree.text("docs/spec/delivered.toml").ok_or(CommandError::NoRules { path })?;
    let catalogue = Catalogue::read(&tree);
    let report = check(&tree, &catalogue, &Delivered::parse(delivered)?);
    if is_json {
        print(&format!("{}\n", object(&catalogue, &report)))?;
    } else {
        print(&report.to_string())?;
    }
    Ok(if report.problems.is_empty() { Outcome::Held } else { Outcome::Violated })
}

fn object(catalogue: &Catalogue, report: &Report) -> Value {
    let rules: Vec<_> = catalogue
        .rules
        .values()
        .map(|rule| {
            let evidence: Vec<_> = rule.evidence.iter().map(ToString::to_string).collect();
            json!({"id": rule.id.to_string(), "evidence": evidence})
        })
        .collect();
    let problems: Vec<_> = report.problems.iter().map(ToString::to_string).collect();
    json!({
        "families": counts(&report.rules),
        "apart": counts(&report.apart),
        "rules": rules,
        "problems": problems,
    })
}

fn counts(counts: &BTreeMap<String, Count>) -> Vec<Value> {
    let entry = |(family, count): (&String, &Count)| json!({"family": family, "claimed": count.claimed, "total": count.total});
    counts.iter().map(entry).collect()
}
