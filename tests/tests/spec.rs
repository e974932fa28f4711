//! The rules are complete, and the lists that stand beside them agree with them.

use std::collections::{BTreeMap, BTreeSet};

use runwarden_conformance::claims::{Catalogue, Delivered, Id, Scenario, scenarios};
use runwarden_conformance::workspace::{Tree, root};

/// Every family and the number of its ids, 1 to n. A new rule raises the number; it never falls.
const FAMILIES: [(&str, u32); 52] = [
    ("ADM", 18),
    ("REG", 15),
    ("STOP", 22),
    ("REC", 11),
    ("OWN", 16),
    ("JRN", 22),
    ("TRN", 4),
    ("ATT", 26),
    ("STR", 21),
    ("ASK", 7),
    ("CTX", 22),
    ("ECHO", 4),
    ("CMP", 14),
    ("SDB", 6),
    ("UNR", 16),
    ("RST", 12),
    ("OBS", 8),
    ("LIFE", 7),
    ("LIM", 5),
    ("AGT", 5),
    ("USE", 2),
    ("ENV", 13),
    ("ACT", 23),
    ("REQ", 16),
    ("ERR", 27),
    ("UIX", 20),
    ("JOB", 7),
    ("SES", 49),
    ("HIS", 22),
    ("FRG", 15),
    ("SND", 31),
    ("RCN", 13),
    ("GATE", 9),
    ("NTF", 13),
    ("LOG", 7),
    ("REGY", 6),
    ("LAY", 12),
    ("WEB", 18),
    ("MET", 8),
    ("CAP", 10),
    ("AUTH", 8),
    ("LIST", 8),
    ("RATE", 10),
    ("FILE", 10),
    ("PRIN", 10),
    ("EDGE", 6),
    ("KEEP", 8),
    ("INV", 11),
    ("DI", 31),
    ("ACC", 18),
    ("MEAS", 12),
    ("RACE", 98),
];

/// Number of the scenarios of faults.md.
const FAULTS: u32 = 74;

/// The invariants that have names.
const NAMED_INVARIANTS: [&str; 11] = [
    "INV-REG",
    "INV-OWN",
    "INV-TERM",
    "INV-SEQ",
    "INV-CUR",
    "INV-LIVE",
    "INV-EXCL",
    "INV-TEXT",
    "INV-BND",
    "INV-UNR",
    "INV-STEER",
];

#[test]
fn every_id_is_there_once_and_no_family_has_a_hole() {
    let catalogue = Catalogue::read(&spec());
    assert_eq!(catalogue.faults, Vec::<String>::new());
    for (family, count) in FAMILIES.into_iter().chain([("FAULT", FAULTS)]) {
        assert_eq!(catalogue.numbers(family), (1..=count).collect::<Vec<_>>(), "{family}");
    }
    for name in NAMED_INVARIANTS {
        assert!(catalogue.contains(&name.parse().unwrap()), "{name}");
    }
    let counted: u32 = FAMILIES.iter().map(|(_, count)| count).sum::<u32>() + FAULTS;
    let named = u32::try_from(NAMED_INVARIANTS.len()).unwrap();
    let total = u32::try_from(catalogue.rules.len() + catalogue.others.len()).unwrap();
    assert_eq!(total, counted + named);
}

#[test]
fn every_id_named_on_a_page_exists() {
    let tree = spec();
    let catalogue = Catalogue::read(&tree);
    let families: BTreeSet<_> =
        FAMILIES.iter().map(|(family, _)| *family).chain(["FAULT"]).collect();
    for file in tree.matching("docs/spec/", ".md") {
        for (number, line) in file.text.lines().enumerate() {
            for id in ids_of(line).filter(|id| families.contains(id.family.as_str())) {
                assert!(catalogue.contains(&id), "{}:{}: {id}", file.path, number + 1);
            }
        }
    }
}

#[test]
fn the_scenario_list_covers_exactly_the_catalogues() {
    let tree = spec();
    let catalogue = Catalogue::read(&tree);
    let rows = rows(&tree);
    let listed: Vec<Id> = rows.iter().map(|row| row.id.parse().unwrap()).collect();
    let expected: Vec<Id> = (1..=98)
        .map(|number| Id::numbered("RACE", number))
        .chain((1..=FAULTS).map(|number| Id::numbered("FAULT", number)))
        .collect();
    assert_eq!(listed, expected);
    for (row, id) in rows.iter().zip(&listed) {
        assert_eq!(catalogue.others[id], row.title, "{id}");
    }
}

#[test]
fn the_scenario_list_names_the_rules_of_the_catalogues() {
    let tree = spec();
    let catalogue = Catalogue::read(&tree);
    let mut stated = rules_of_scenarios(&tree);
    for row in rows(&tree) {
        let rules: Vec<Id> = row.rules.iter().map(|rule| rule.parse().unwrap()).collect();
        for rule in &rules {
            assert!(catalogue.rules.contains_key(rule), "{}: {rule} is no rule", row.id);
        }
        assert_eq!(stated.remove(&row.id), Some(rules), "{}", row.id);
    }
}

#[test]
fn scenario_names_are_unique_and_fit_a_command_line() {
    let rows = rows(&spec());
    let slugs: BTreeSet<_> = rows.iter().map(|row| row.slug.as_str()).collect();
    assert_eq!(slugs.len(), rows.len());
    for slug in slugs {
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        assert!(slug.bytes().all(fits) && !slug.starts_with('-'), "{slug}");
    }
}

#[test]
fn a_delivered_scenario_has_a_variant() {
    let tree = spec();
    let delivered = Delivered::parse(tree.text("docs/spec/delivered.toml").unwrap()).unwrap();
    for row in rows(&tree) {
        let is_delivered = row.rules.iter().all(|rule| delivered.contains(&rule.parse().unwrap()));
        assert!(!is_delivered || !row.variants.is_empty(), "{} has no faulty variant", row.id);
    }
}

#[test]
fn the_links_between_the_pages_lead_somewhere() {
    let tree = spec();
    for file in tree.matching("docs/spec/", ".md") {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for link in file.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = format!("{folder}/{link}");
            assert!(tree.text(&target).is_some(), "{} links to {link}", file.path);
        }
    }
}

fn spec() -> Tree {
    Tree::read(&root()).expect("the project can be read")
}

fn rows(tree: &Tree) -> Vec<Scenario> {
    let text = tree.text("docs/spec/scenarios.toml").expect("the list is there");
    scenarios(text).expect("the list can be read")
}

/// The words of `line` that have the form of an id.
fn ids_of(line: &str) -> impl Iterator<Item = Id> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .filter_map(|word| word.parse().ok())
}

/// The rules that races.md and faults.md name for each scenario.
fn rules_of_scenarios(tree: &Tree) -> BTreeMap<String, Vec<Id>> {
    let mut rules = BTreeMap::new();
    let pages =
        tree.matching("docs/spec/races/", ".md").chain(tree.matching("docs/spec/faults/", ".md"));
    for file in pages {
        for part in file.text.split("\n## ").skip(1) {
            let id = part.split(' ').next().unwrap_or_default().to_owned();
            let head = part.split("\n1. ").next().unwrap_or_default();
            let head = head.split("- **Init").next().unwrap_or_default();
            let after = head.split_once("Rules").map_or("", |(_, after)| after);
            let list = after.split('.').next().unwrap_or_default();
            rules.insert(id, list.lines().flat_map(ids_of).collect());
        }
    }
    rules
}
