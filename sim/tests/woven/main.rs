//! Every scenario of ring weave: its schedules catch each faulty variant, and the real machines hold.

#[path = "../explore/page.rs"]
mod page;
mod scenarios;
mod table;

use std::path::Path;

use runwarden_sim::failure;
use runwarden_sim::scenarios::Woven;
use runwarden_sim::woven::{WovenSetting, shrink};

/// Schedules in which the real machines must hold.
const HELD: u64 = 200;

/// Schedules within which a variant must be caught.
const SEARCHED_MAX: u64 = 1_000;

/// Departures that the shrunk schedule of a variant has at most.
const CHOICES_MAX: usize = 12;

/// The real machines hold, each variant is caught by the rule it names, and the table says so.
fn holds_and_catches(id: &str) {
    let woven = Woven::find(id).expect("the scenario is in the list");
    let mut rows = vec![table::row(woven, None, held(woven), None)];
    for variant in woven.variants {
        let setting = WovenSetting { woven, variant: Some(variant) };
        let found = setting.search(0..SEARCHED_MAX);
        let schedules = found.schedules;
        let (seed, schedule) = found
            .broken
            .unwrap_or_else(|| panic!("{}: {schedules} schedules caught nothing", variant.name));
        let shrunk = shrink(setting, seed, schedule.departures).expect("it breaks the rule again");
        let broken = shrunk.schedule.broken.expect("each step kept the violation");
        assert_eq!(broken.rule, variant.rule, "{}: {}", variant.name, broken.detail);
        let choices = shrunk.schedule.departures.len();
        assert!(choices <= CHOICES_MAX, "{}: {:#?}", variant.name, shrunk.schedule.departures);
        rows.push(table::row(woven, Some(variant), schedules, Some((broken.rule, choices))));
    }
    table::assert_listed(id, &rows);
}

/// Schedules of the real machines; one that breaks a rule is shrunk and drawn.
fn held(woven: &'static Woven) -> u64 {
    let setting = WovenSetting { woven, variant: None };
    let found = setting.search(0..HELD);
    let Some((seed, schedule)) = found.broken else { return found.schedules };
    let shrunk = shrink(setting, seed, schedule.departures).expect("it breaks the rule again");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/races");
    match failure::keep(&folder, &setting.race(seed, &shrunk.schedule)) {
        Ok(kept) => panic!("seed {seed}\n{}", kept.report),
        Err(error) => panic!("seed {seed}: {:?}; {error}", shrunk.schedule.broken),
    }
}
