//! The page for readers: what the searches of both rings showed.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::fs;
use std::path::{Path, PathBuf};

use runwarden_sim::scenarios::{ALL, Scenario, WOVEN, Woven, list};

/// The families of rules of a run's life.
const FAMILIES: [&str; 14] = [
    "adm", "reg", "stop", "rec", "own", "jrn", "trn", "str", "ask", "life", "lim", "use", "rst",
    "obs",
];

/// Rules that are searched beside the catalogue, and the wrong behaviours that are caught there.
pub(crate) const BESIDE: [(&str, &str); 5] = [
    ("LIM-03", "slots-uncounted"),
    ("LIM-03", "freed-slot-wakes-nobody"),
    ("JRN-08", "second-terminal-taken"),
    ("JRN-15", "cursor-at-end"),
    ("JRN-15", "more-unsaid"),
];

/// What the page says: both tables, and the rules that they do not show.
pub(crate) fn text() -> String {
    let mut lines = explored();
    lines.extend(woven());
    lines.extend(beside());
    lines.push(String::new());
    lines.push("## Rules without a faulty variant".to_owned());
    lines.push(String::new());
    lines.push("Rules of a run's life that are tagged `explore` or `sim` and that neither a scenario above nor one of its".to_owned());
    lines.push("variants names. Some wait for parts that are not delivered yet, some are proved without a wrong machine.".to_owned());
    lines.push(String::new());
    lines.push(unnamed_rules().join(", "));
    lines.join("\n") + "\n"
}

fn explored() -> Vec<String> {
    let table = explore_table();
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
    lines
}

fn woven() -> Vec<String> {
    let mut lines = vec![
        String::new(),
        "## Ring weave".to_owned(),
        String::new(),
        "The drivers of the server with real WebSocket framing, on a simulated network, store and clock. Each seed is one".to_owned(),
        "schedule. *Held* is the number of schedules in which the real machines were checked by `cargo test`; `runwarden-sim hunt".to_owned(),
        "--ring weave` runs as many as there is time for. *Found in* is the number of schedules until the variant was caught, *choices*".to_owned(),
        "how many departures from the calm course the shrunk schedule has: none means that the variant is wrong in any order.".to_owned(),
        "The numbers are those of the day they were written, since any change of the drivers makes other schedules of the same".to_owned(),
        "seeds; a test keeps rules and variants equal. `RUNWARDEN_BLESS=1 cargo test -p runwarden-sim --test woven` writes them.".to_owned(),
        String::new(),
        "| Scenario | Faulty variant | Breaks | Found in | Choices | Held |".to_owned(),
        "|---|---|---|---|---|---|".to_owned(),
    ];
    let mut held = String::new();
    for line in woven_table().lines().skip(1) {
        let cells: Vec<_> = line.split(" | ").collect();
        let [id, machines, schedules, broken, choices] = cells[..] else {
            panic!("a row has five cells: {line}");
        };
        if machines == "real" {
            held = schedules.to_owned();
            continue;
        }
        let name = Woven::find(id).map_or("", |woven| woven.name);
        lines.push(format!(
            "| {id} {name} | `{machines}` | {broken} | {schedules} | {choices} | {held} |"
        ));
    }
    lines
}

fn beside() -> Vec<String> {
    let mut lines = vec![
        String::new(),
        "## Beside the catalogue".to_owned(),
        String::new(),
        "Rules that no race of the catalogue names, each with a wrong behaviour that a search of a small world of".to_owned(),
        "its own catches (`sim/tests/explore/beside.rs`).".to_owned(),
        String::new(),
    ];
    lines.extend(BESIDE.iter().map(|(rule, name)| format!("- {rule}: `{name}`")));
    lines
}

/// Rules that a search should show broken, and that no scenario with a variant lists.
fn unnamed_rules() -> Vec<String> {
    let mut named: Vec<String> = BESIDE.iter().map(|(rule, _)| (*rule).to_owned()).collect();
    let catalogue = include_str!("../../../docs/spec/scenarios.toml");
    named.extend(ALL.iter().flat_map(|s| s.variants).map(|variant| variant.rule.to_owned()));
    named.extend(WOVEN.iter().flat_map(|s| s.variants).map(|variant| variant.rule.to_owned()));
    for scenario in list() {
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

pub(crate) fn explore_table() -> String {
    fs::read_to_string(explore_table_path()).expect("the table can be read")
}

pub(crate) fn explore_table_path() -> PathBuf {
    root().join("snapshots/sim_explore.txt")
}

pub(crate) fn woven_table() -> String {
    fs::read_to_string(woven_table_path()).expect("the table can be read")
}

pub(crate) fn woven_table_path() -> PathBuf {
    root().join("snapshots/sim_weave.txt")
}

pub(crate) fn path() -> PathBuf {
    root().join("docs/races.md")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
