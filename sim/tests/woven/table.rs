//! The table of what the schedules of ring weave showed.

use std::fs;
use std::sync::{Mutex, PoisonError};

use runwarden_sim::scenarios::{WOVEN, Woven, WovenVariant, list};

use crate::page;

const HEAD: &str = "scenario | machines | schedules | broken | choices";

pub(crate) fn row(
    woven: &Woven,
    variant: Option<&WovenVariant>,
    schedules: u64,
    broken: Option<(&str, usize)>,
) -> String {
    let machines = variant.map_or("real", |variant| variant.name);
    let (rule, choices) =
        broken.map_or(("-", "-".to_owned()), |(rule, choices)| (rule, choices.to_string()));
    format!("{} | {machines} | {schedules} | {rule} | {choices}", woven.id)
}

/// The table has these rows. Its numbers are those of the day it was written: another order of the same
/// decisions anywhere in the drivers makes other schedules of the same seeds.
pub(crate) fn assert_listed(id: &str, rows: &[String]) {
    let begin = format!("{id} | ");
    if std::env::var_os("RUNWARDEN_BLESS").is_some() {
        bless(&begin, rows);
    }
    let table = page::woven_table();
    let listed = table.lines().filter(|line| line.starts_with(&begin)).map(without_numbers);
    let found = rows.iter().map(|row| without_numbers(row));
    assert!(listed.eq(found), "RUNWARDEN_BLESS=1 cargo test -p runwarden-sim --test woven");
}

#[test]
fn the_table_has_every_scenario_with_every_variant_once() {
    let mut expected = vec![HEAD.to_owned()];
    for woven in WOVEN {
        expected.push(format!("{} | real | ", woven.id));
        let variants = woven.variants.iter();
        expected.extend(variants.map(|variant| format!("{} | {} | ", woven.id, variant.name)));
    }
    let table = page::woven_table();
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), expected.len());
    for (line, begin) in lines.iter().zip(&expected) {
        assert!(line.starts_with(begin.as_str()), "{line:?} must begin with {begin:?}");
    }
}

#[test]
fn the_catalogue_has_the_scenarios_of_all_rings_with_their_variants() {
    let catalogue = include_str!("../../../docs/spec/scenarios.toml");
    for scenario in list() {
        let names: Vec<_> = scenario.variants.iter().map(|v| format!("{v:?}")).collect();
        let begin = format!("id = {:?}\nslug = {:?}\n", scenario.id, scenario.name);
        let entry = catalogue.split("[[scenario]]").find(|entry| entry.contains(&begin));
        let entry = entry.unwrap_or_else(|| panic!("{} is in the catalogue", scenario.id));
        let variants = format!("variants = [{}]", names.join(", "));
        assert!(entry.contains(&variants), "{}: {variants}", scenario.id);
    }
}

fn without_numbers(row: &str) -> [String; 3] {
    let cells: Vec<_> = row.split(" | ").collect();
    [cells[0], cells[1], cells[3]].map(str::to_owned)
}

/// Puts the rows of one scenario in their place, and writes the page anew.
fn bless(begin: &str, rows: &[String]) {
    static WRITING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let table = page::woven_table();
    let kept = table.lines().skip(1).filter(|line| !line.starts_with(begin));
    let mut lines: Vec<_> = kept.map(str::to_owned).chain(rows.iter().cloned()).collect();
    let place = |line: &String| {
        let id = line.split(" | ").next();
        WOVEN.iter().position(|woven| Some(woven.id) == id)
    };
    lines.retain(|line| place(line).is_some());
    lines.sort_by_key(place);
    let table = format!("{HEAD}\n{}\n", lines.join("\n"));
    fs::write(page::woven_table_path(), table).expect("the table can be written");
    fs::write(page::path(), page::text()).expect("docs/races.md can be written");
}
