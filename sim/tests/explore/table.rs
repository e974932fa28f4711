//! The table of what was searched, how much, and what it showed; and its page for readers.

use std::fs;
use std::sync::{Mutex, PoisonError};

use runwarden_sim::explore::Found;
use runwarden_sim::scenarios::{ALL, Scenario, Variant};

use crate::page;

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
    let begin = format!("{id} | ");
    if std::env::var_os("RUNWARDEN_BLESS").is_some() {
        bless(&begin, rows);
    }
    let table = page::explore_table();
    let listed: Vec<_> = table.lines().filter(|line| line.starts_with(&begin)).collect();
    assert_eq!(listed, rows, "RUNWARDEN_BLESS=1 cargo test -p runwarden-sim --test explore");
}

#[test]
fn the_table_has_every_scenario_with_every_variant_once() {
    let mut expected = vec![HEAD.to_owned()];
    for scenario in ALL {
        expected.push(format!("{} | real | ", scenario.id));
        let variants = scenario.variants.iter();
        expected.extend(variants.map(|variant| format!("{} | {} | ", scenario.id, variant.name)));
    }
    let table = page::explore_table();
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), expected.len());
    for (line, begin) in lines.iter().zip(&expected) {
        assert!(line.starts_with(begin.as_str()), "{line:?} must begin with {begin:?}");
    }
}

#[test]
fn the_page_says_what_the_table_says() {
    let page = fs::read_to_string(page::path()).expect("docs/races.md can be read");
    assert!(page == page::text(), "RUNWARDEN_BLESS=1 writes docs/races.md anew");
}

#[test]
fn a_race_of_start_up_or_completion_takes_few_choices() {
    for line in page::explore_table().lines().skip(1) {
        let cells: Vec<_> = line.split(" | ").collect();
        let choices: Option<usize> = cells[6].parse().ok();
        let is_short = choices.is_none_or(|choices| choices <= CHOICES_MAX);
        assert!(is_short || cells[0] > "RACE-16", "{line}");
    }
}

/// Puts the rows of one scenario in their place, and writes the page anew.
fn bless(begin: &str, rows: &[String]) {
    static WRITING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let table = page::explore_table();
    let kept = table.lines().skip(1).filter(|line| !line.starts_with(begin));
    let mut lines: Vec<_> = kept.map(str::to_owned).chain(rows.iter().cloned()).collect();
    let place = |line: &String| {
        let id = line.split(" | ").next();
        ALL.iter().position(|scenario| Some(scenario.id) == id)
    };
    lines.retain(|line| place(line).is_some());
    lines.sort_by_key(place);
    let table = format!("{HEAD}\n{}\n", lines.join("\n"));
    fs::write(page::explore_table_path(), table).expect("the table can be written");
    fs::write(page::path(), page::text()).expect("docs/races.md can be written");
}
