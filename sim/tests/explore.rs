//! Every scenario: the search finds each faulty variant, and the real machines hold in the whole scope.

use runwarden_sim::explore::{Budget, Found, STATES_MAX};
use runwarden_sim::scenarios::{ALL, Scenario};

/// The table of all scenarios: what was searched, how much, and what it showed.
const TABLE: &str = include_str!("../../snapshots/sim_explore.txt");

const HEAD: &str = "scenario | machines | scope | states | transitions | broken | choices";

fn scenario(id: &str) -> &'static Scenario {
    Scenario::find(id).expect("the scenario is in the list")
}

fn row(scenario: &Scenario, machines: &str, budget: Budget, found: &Found) -> String {
    let (broken, choices) = match &found.broken {
        Some(broken) => (broken.rule, found.schedule.len().to_string()),
        None => ("-", "-".to_owned()),
    };
    let Found { states, transitions, .. } = found;
    let scope = budget.scope();
    format!(
        "{} | {machines} | {scope} | {states} | {transitions} | {broken} | {choices}",
        scenario.id
    )
}

/// The real machines hold, each variant is caught by the rule it names, and the table says so.
fn holds_and_catches(id: &str) {
    let scenario = scenario(id);
    let held = scenario.explore(None, scenario.budget, STATES_MAX);
    assert_eq!(held.broken, None, "{:#?}", held.schedule);
    assert!(held.exhaustive);
    let mut rows = vec![row(scenario, "real", scenario.budget, &held)];
    for variant in scenario.variants {
        let found = scenario.explore(Some(variant), scenario.budget, STATES_MAX);
        let rule = found.broken.as_ref().map(|broken| broken.rule);
        assert_eq!(rule, Some(variant.rule), "{}: {:#?}", variant.name, found.schedule);
        rows.push(row(scenario, variant.name, scenario.budget, &found));
    }
    let listed: Vec<_> = TABLE.lines().filter(|line| line.starts_with(id)).collect();
    assert_eq!(listed, rows, "snapshots/sim_explore.txt must say:\n{}\n", rows.join("\n"));
}

#[test]
fn the_table_has_every_scenario_with_every_variant_once() {
    let mut expected = vec![HEAD.to_owned()];
    for scenario in ALL {
        expected.push(format!("{} | real", scenario.id));
        let variants = scenario.variants.iter();
        expected.extend(variants.map(|variant| format!("{} | {}", scenario.id, variant.name)));
    }
    let lines: Vec<_> = TABLE.lines().collect();
    assert_eq!(lines.len(), expected.len());
    for (line, begin) in lines.iter().zip(&expected) {
        assert!(line.starts_with(begin.as_str()), "{line:?} must begin with {begin:?}");
    }
}

#[test]
fn the_catalogue_names_the_same_variants() {
    let catalogue = include_str!("../../docs/spec/scenarios.toml");
    for scenario in ALL {
        let names: Vec<_> = scenario.variants.iter().map(|v| format!("{:?}", v.name)).collect();
        let begin = format!("id = {:?}\nslug = {:?}\n", scenario.id, scenario.name);
        let entry = catalogue.split("[[scenario]]").find(|entry| entry.contains(&begin));
        let entry = entry.unwrap_or_else(|| panic!("{} is in the catalogue", scenario.id));
        let variants = format!("variants = [{}]", names.join(", "));
        assert!(entry.contains(&variants), "{}: {variants}", scenario.id);
    }
}

/// REG-01 [explore]: a worker whose run was stopped does not begin.
#[test]
fn race_01() {
    holds_and_catches("RACE-01");
}

/// REG-03 [explore]: an agent is not registered after the Stop that came during its construction.
#[test]
fn race_02() {
    holds_and_catches("RACE-02");
}

/// REG-04 [explore]: a refused registration publishes nothing.
#[test]
fn race_03() {
    holds_and_catches("RACE-03");
}

/// REG-05 [explore]: an agent is not invoked after the Stop that came during preparation.
#[test]
fn race_04() {
    holds_and_catches("RACE-04");
}

/// REG-03 [explore], REG-05 [explore], REG-09 [explore]: a rebuilt agent passes both gates again; after
/// a Stop it is cleaned up and nobody is called.
#[test]
fn race_05() {
    holds_and_catches("RACE-05");
}

/// REG-09 [explore]: a borrowed agent is let go as it is.
#[test]
fn race_06() {
    holds_and_catches("RACE-06");
}

/// REG-06 [explore]: a refused worker retires nothing that its successor uses.
#[test]
fn race_07() {
    holds_and_catches("RACE-07");
}

/// REG-06 [explore]: without an owner nothing is retired.
#[test]
fn race_08() {
    holds_and_catches("RACE-08");
}

/// STOP-06 [explore]: a Stop behind the settlement is told the outcome and changes nothing.
#[test]
fn race_16() {
    holds_and_catches("RACE-16");
}

#[test]
fn race_17() {
    holds_and_catches("RACE-17");
}

/// STOP-04 [explore]: a Stop is answered when its terminal is stable.
#[test]
fn race_18() {
    holds_and_catches("RACE-18");
}

#[test]
fn race_24() {
    holds_and_catches("RACE-24");
}

#[test]
fn race_25() {
    holds_and_catches("RACE-25");
}

/// ADM-09 [explore]: of two starts at once one is admitted.
#[test]
fn race_35() {
    holds_and_catches("RACE-35");
}

#[test]
fn race_38() {
    holds_and_catches("RACE-38");
}

/// STOP-22 [explore]: the append in flight is answered before the terminal is issued.
#[test]
fn race_87() {
    holds_and_catches("RACE-87");
}

/// STOP-05 [explore]: what waited at the Stop is never issued.
#[test]
fn rows_that_waited_at_the_stop_are_not_stored() {
    let scenario = scenario("RACE-87");
    let budget = Budget { drops: 0, crashes: 0, ..scenario.budget };
    let variant = scenario.variant("waiting-rows-survive-stop");
    let found = scenario.explore(variant, budget, STATES_MAX);
    assert_eq!(found.broken.map(|broken| broken.rule), Some("STOP-05"));
    assert_eq!(scenario.explore(None, budget, STATES_MAX).broken, None);
}

/// OWN-14 [explore]: the row goes in the step that learns of the settlement.
#[test]
fn race_89() {
    holds_and_catches("RACE-89");
}

#[test]
fn race_92() {
    holds_and_catches("RACE-92");
}

/// The search depends on nothing but its scenario.
#[test]
fn the_same_search_twice_finds_the_same() {
    let scenario = scenario("RACE-07");
    let search = || scenario.explore(scenario.variants.first(), scenario.budget, STATES_MAX);
    assert_eq!(search(), search());
}

/// A search is exhaustive from the bound on that holds all states.
#[test]
fn a_search_that_was_cut_does_not_call_itself_exhaustive() {
    let scenario = scenario("RACE-16");
    let all = scenario.explore(None, scenario.budget, STATES_MAX).states;
    for (states_max, exhaustive) in [(all - 1, false), (all, true), (all + 1, true)] {
        let found = scenario.explore(None, scenario.budget, states_max);
        assert_eq!((found.exhaustive, found.states), (exhaustive, all.min(states_max)));
    }
}
