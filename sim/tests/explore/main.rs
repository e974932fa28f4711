//! Every scenario: the search finds each faulty variant, and the real machines hold in the whole scope.

mod beside;
mod endings;
mod futures;
mod machines;
mod page;
mod queues;
mod records;
mod search;
mod start_up;
mod steers;
mod stops;
mod successors;
mod table;

use std::path::Path;

use runwarden_sim::explore::STATES_MAX;
use runwarden_sim::failure::message;
use runwarden_sim::scenarios::Scenario;
use runwarden_sim::setting::Setting;

fn scenario(id: &str) -> &'static Scenario {
    Scenario::find(id).expect("the scenario is in the list")
}

/// The real machines hold, each variant is caught by the rule it names, and the table says so.
fn holds_and_catches(id: &str) {
    let scenario = scenario(id);
    let held = scenario.explore(None, scenario.budget, STATES_MAX);
    if held.broken.is_some() {
        let setting = Setting { scenario, variant: None, budget: scenario.budget };
        let labels: Vec<_> = held.schedule.iter().map(|step| step.label.clone()).collect();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/races");
        panic!("{}", message(&folder, setting, &labels));
    }
    assert!(held.exhaustive);
    let mut rows = vec![table::row(scenario, None, &held)];
    for variant in scenario.variants {
        let found = scenario.explore(Some(variant), scenario.budget, STATES_MAX);
        let rule = found.broken.as_ref().map(|broken| broken.rule);
        assert_eq!(rule, Some(variant.rule), "{}: {found:#?}", variant.name);
        rows.push(table::row(scenario, Some(variant), &found));
    }
    table::assert_listed(id, &rows);
}
