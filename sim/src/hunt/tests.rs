use std::path::Path;

use super::*;
use crate::failure::message;
use crate::scenarios::ALL;

fn wide(scenario: &'static crate::scenarios::Scenario) -> Setting {
    Setting { scenario, variant: None, budget: WIDE }
}

#[test]
fn a_hunt_that_is_long_enough_sees_every_fault_and_mark() {
    let mut hunt = Hunt { is_whole: true, ..Hunt::default() };
    let mut seed = 0;
    while hunt.tally.schedules < JUDGED_SCHEDULES_MIN {
        for scenario in ALL {
            hunt.take(&wide(scenario), seed);
        }
        seed += 1;
    }
    if let Some(found) = hunt.violations.first() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/races");
        let shrunk = &found.shrunk;
        panic!("{}", message(&folder, shrunk.setting, &shrunk.labels()));
    }
    assert_eq!(hunt.tally.missing(), Vec::<String>::new());
    assert!(hunt.holds());
    let (tried, untried) = (hunt.tally.cells_tried(), hunt.tally.cells_untried());
    assert!(tried > untried.len(), "{tried} cells tried, not {untried:?}");
    assert!(!untried.contains(&"running + stop".to_owned()));
}

#[test]
fn a_hunt_that_saw_nothing_does_not_hold() {
    let mut hunt = Hunt { is_whole: true, ..Hunt::default() };
    hunt.tally.schedules = JUDGED_SCHEDULES_MIN - 1;
    assert!(hunt.holds());
    hunt.tally.schedules = JUDGED_SCHEDULES_MIN;
    assert_eq!(hunt.tally.missing().len(), FAULTS.len() + MARKS.len());
    assert!(!hunt.holds());
    hunt.tally.schedules = JUDGED_SCHEDULES_MIN + 1;
    assert!(!hunt.holds());
    hunt.is_whole = false;
    assert!(hunt.holds(), "one scenario alone has not everything");
}

#[test]
fn a_violation_is_kept_once_as_a_shrunk_file() {
    let setting = Setting::find("RACE-16", Some("settled-stop-accepted")).unwrap().within(WIDE);
    let mut hunt = Hunt::default();
    (0..40).for_each(|seed| hunt.take(&setting, seed));
    assert!(hunt.broken > hunt.violations.len() as u64);
    let found = hunt.violations.iter().find(|v| v.shrunk.broken.rule == "STOP-06").unwrap();
    assert!(found.shrunk.proof.is_minimal() && found.race.choices.len() <= 2);
    let replayed = crate::replay::replay(&found.race, &crate::machines::Registry::empty(), |_| {});
    assert!(replayed.unwrap().is_met);
}
