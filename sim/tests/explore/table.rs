//! The table of what was searched, how much, and what it showed; and its page for readers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use runwarden_sim::explore::Found;
use runwarden_sim::scenarios::{ALL, Scenario, Variant};

const HEAD: &str = "scenario | machines | scope | states | transitions | broken | choices";

/// The families of rules of a run's life.
const FAMILIES: [&str; 14] = [
    "adm", "reg", "stop", "rec", "own", "jrn", "trn", "str", "ask", "life", "lim", "use", "rst",
    "obs",
];

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
    let table = table();
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

/// Puts the rows of one scenario in their place, and writes the page anew.
fn bless(begin: &str, rows: &[String]) {
    static WRITING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let table = table();
    let kept = table.lines().skip(1).filter(|line| !line.starts_with(begin));
    let mut lines: Vec<_> = kept.map(str::to_owned).chain(rows.iter().cloned()).collect();
    let place = |line: &String| {
        let id = line.split(" | ").next();
        ALL.iter().position(|scenario| Some(scenario.id) == id)
    };
    lines.retain(|line| place(line).is_some());
    lines.sort_by_key(place);
    let table = format!("{HEAD}\n{}\n", lines.join("\n"));
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
        "Histories that lead to the same futures are one state: times count from now, and of a run that is over only what can".to_owned(),
        "still be asked of it counts. A test compares what may follow on the histories that are taken for one.".to_owned(),
        String::new(),
        "Written by `RUNWARDEN_BLESS=1 cargo test -p runwarden-sim --test explore`; a test keeps it equal to the search.".to_owned(),
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
    lines.push(String::new());
    lines.push("## Rules without a faulty variant".to_owned());
    lines.push(String::new());
    lines.push("Rules of a run's life that are tagged `explore` or `sim` and that neither a scenario above nor one of its".to_owned());
    lines.push("variants names. Some wait for parts that are not delivered yet, some are proved without a wrong machine.".to_owned());
    lines.push(String::new());
    lines.push(unnamed_rules().join(", "));
    lines.join("\n") + "\n"
}

/// Rules that a search should show broken, and that no scenario with a variant lists.
fn unnamed_rules() -> Vec<String> {
    let mut named: Vec<String> = Vec::new();
    let catalogue = include_str!("../../../docs/spec/scenarios.toml");
    for scenario in ALL {
        named.extend(scenario.variants.iter().map(|variant| variant.rule.to_owned()));
        let id = format!("id = {:?}\n", scenario.id);
        let entry = catalogue.split("[[scenario]]").find(|entry| entry.contains(&id));
        let rules = entry.and_then(|entry| entry.split("rules = [").nth(1)?.split(']').next());
        let rules = rules.unwrap_or_default().split(", ").map(|rule| rule.trim_matches('"'));
        named.extend(rules.map(str::to_owned));
    }
    let pages = FAMILIES.iter().map(|family| {
        let path = root().join(format!("docs/spec/run/{family}.md"));
        fs::read_to_string(path).expect("the rules can be read")
    });
    let rules: Vec<_> = pages.flat_map(|page| searched_rules(&page)).collect();
    assert!(rules.len() > 60, "{rules:?}");
    rules.into_iter().filter(|rule| !named.contains(rule)).collect()
}

/// The rules of a page whose evidence is a search or a simulation.
fn searched_rules(page: &str) -> Vec<String> {
    let rule = |line: &str| {
        let (id, text) = line.strip_prefix("- **")?.split_once("**")?;
        let tags = text.rsplit_once('[')?.1.trim_end().trim_end_matches(']');
        let is_searched = tags.split(", ").any(|tag| tag == "explore" || tag == "sim");
        is_searched.then(|| id.to_owned())
    };
    page.lines().filter_map(rule).collect()
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
