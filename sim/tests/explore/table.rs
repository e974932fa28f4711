//! The table of what was searched, how much, and what it showed; and its page for readers.

use std::fs;
use std::path::{Path, PathBuf};

use runwarden_sim::explore::{Found, STATES_MAX};
use runwarden_sim::scenarios::{ALL, Scenario, Variant};

const HEAD: &str = "scenario | machines | scope | states | transitions | broken | choices";

/// Choices behind its begin that a race of start-up or completion takes at most, by the catalogue's promise.
const CHOICES_MAX: usize = 8;

pub(crate) fn row(scenario: &Scenario, variant: Option<&Variant>, found: &Found) -> String {
    let machines = variant.map_or("real", |variant| variant.name);
    let (broken, choices) = match &found.broken {
        Some(broken) => (broken.rule, found.schedule.len().to_string()),
        None => ("-", "-".to_owned()),
    };
    let Found { states, transitions, .. } = found;
    let scope = scenario.budget.scope();
    format!(
        "{} | {machines} | {scope} | {states} | {transitions} | {broken} | {choices}",
        scenario.id
    )
}

pub(crate) fn assert_listed(id: &str, rows: &[String]) {
    let table = table();
    let begin = format!("{id} | ");
    let listed: Vec<_> = table.lines().filter(|line| line.starts_with(&begin)).collect();
    assert_eq!(listed, rows, "RUNWARDEN_BLESS=1 cargo test -p runwarden-sim --test explore table");
}

/// With `RUNWARDEN_BLESS` set it is written anew, and so is the page.
#[test]
fn the_table_has_every_scenario_with_every_variant_once() {
    if std::env::var_os("RUNWARDEN_BLESS").is_some() {
        bless();
    }
    let mut expected = vec![HEAD.to_owned()];
    for scenario in ALL {
        expected.push(format!("{} | real | ", scenario.id));
        let variants = scenario.variants.iter();
        expected.extend(variants.map(|variant| format!("{} | {} | ", scenario.id, variant.name)));
    }
    let table = table();
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), expected.len());
    for (line, begin) in lines.iter().zip(&expected) {
        assert!(line.starts_with(begin.as_str()), "{line:?} must begin with {begin:?}");
    }
}

#[test]
fn the_page_says_what_the_table_says() {
    let page = fs::read_to_string(page_path()).expect("docs/races.md can be read");
    assert!(page == page_of(&table()), "RUNWARDEN_BLESS=1 writes docs/races.md anew");
}

#[test]
fn a_race_of_start_up_or_completion_takes_few_choices() {
    for line in table().lines().skip(1) {
        let cells: Vec<_> = line.split(" | ").collect();
        let choices: Option<usize> = cells[6].parse().ok();
        let is_short = choices.is_none_or(|choices| choices <= CHOICES_MAX);
        assert!(is_short || cells[0] > "RACE-16", "{line}");
    }
}

#[test]
fn the_catalogue_names_the_same_variants() {
    let catalogue = include_str!("../../../docs/spec/scenarios.toml");
    for scenario in ALL {
        let names: Vec<_> = scenario.variants.iter().map(|v| format!("{:?}", v.name)).collect();
        let begin = format!("id = {:?}\nslug = {:?}\n", scenario.id, scenario.name);
        let entry = catalogue.split("[[scenario]]").find(|entry| entry.contains(&begin));
        let entry = entry.unwrap_or_else(|| panic!("{} is in the catalogue", scenario.id));
        let variants = format!("variants = [{}]", names.join(", "));
        assert!(entry.contains(&variants), "{}: {variants}", scenario.id);
    }
}

fn bless() {
    let mut rows = vec![HEAD.to_owned()];
    for scenario in ALL {
        let machines = std::iter::once(None).chain(scenario.variants.iter().map(Some));
        rows.extend(machines.map(|variant| {
            let found = scenario.explore(variant, scenario.budget, STATES_MAX);
            row(scenario, variant, &found)
        }));
    }
    let table = rows.join("\n") + "\n";
    fs::write(page_path(), page_of(&table)).expect("docs/races.md can be written");
    fs::write(table_path(), table).expect("the table can be written");
}

fn page_of(table: &str) -> String {
    let mut lines = vec![
        "# Races found and shut".to_owned(),
        String::new(),
        "Each scenario of [the catalogue](spec/races.md) that runs in ring explore, searched breadth first over the".to_owned(),
        "production machines. *Held* is the number of states in which the real machines were checked, all that the scope has.".to_owned(),
        "Each faulty variant gets one decision wrong; *found in* says after how many states the search caught it, *choices* how".to_owned(),
        "long the shortest schedule behind the scenario's begin is. `runwarden-sim explore RACE-01 --variant begin-unchecked` shows it.".to_owned(),
        String::new(),
        "Written by `RUNWARDEN_BLESS=1 cargo test -p runwarden-sim --test explore table`; a test keeps it equal to the search.".to_owned(),
        String::new(),
        "| Scenario | Faulty variant | Breaks | Found in | Choices | Held | Scope |".to_owned(),
        "|---|---|---|---|---|---|---|".to_owned(),
    ];
    let mut held = String::new();
    for line in table.lines().skip(1) {
        let cells: Vec<_> = line.split(" | ").collect();
        let [id, machines, scope, states, _, broken, choices] = cells[..] else {
            panic!("a row has seven cells: {line}");
        };
        if machines == "real" {
            held = states.to_owned();
            continue;
        }
        let name = Scenario::find(id).map_or("", |scenario| scenario.name);
        lines.push(format!(
            "| {id} {name} | `{machines}` | {broken} | {states} | {choices} | {held} | {scope} |"
        ));
    }
    lines.join("\n") + "\n"
}

fn table() -> String {
    fs::read_to_string(table_path()).expect("the table can be read")
}

fn table_path() -> PathBuf {
    root().join("snapshots/sim_explore.txt")
}

fn page_path() -> PathBuf {
    root().join("docs/races.md")
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
