//! Every scenario: the search finds each faulty variant, and the real machines hold in the whole scope.

mod endings;
mod machines;
mod records;
mod search;
mod start_up;
mod stops;
mod successors;
mod table;

use runwarden_sim::explore::STATES_MAX;
use runwarden_sim::scenarios::Scenario;

fn scenario(id: &str) -> &'static Scenario {
    Scenario::find(id).expect("the scenario is in the list")
}

/// The real machines hold, each variant is caught by the rule it names, and the table says so.
fn holds_and_catches(id: &str) {
    let scenario = scenario(id);
    let held = scenario.explore(None, scenario.budget, STATES_MAX);
    assert_eq!(held.broken, None, "{:#?}", held.schedule);
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
