use runwarden_protocol::record::DIGEST_START;

use super::*;
use crate::machines::Registry;
use crate::replay::replay;

fn broken() -> (WovenSetting, u64, Schedule) {
    let setting = WovenSetting::find("RACE-23", Some("partial-below-marker")).unwrap();
    let (seed, schedule) = setting.search(0..200).broken.expect("the variant is caught");
    (setting, seed, schedule)
}

#[test]
fn a_file_of_departures_replays_to_the_same_violation_and_digest() {
    let (setting, seed, schedule) = broken();
    let race = setting.race(seed, &schedule);
    let read = Race::parse(race.to_string().as_bytes()).unwrap();
    assert_eq!(read, race);
    let replayed = replay(&read, &Registry::product(), |_| {}).unwrap();
    assert!(replayed.is_met && replayed.skipped.is_empty(), "{replayed:?}");
    assert_eq!(replayed.digest, schedule.digest);
    assert_ne!(schedule.digest, DIGEST_START);
}

#[test]
fn a_shrunk_schedule_breaks_the_same_rule_and_needs_each_departure() {
    let (setting, seed, schedule) = broken();
    let before = schedule.departures.len();
    let shrunk = shrink(setting, seed, schedule.departures).unwrap().schedule;
    let rule = |schedule: &Schedule| schedule.broken.as_ref().map(|broken| broken.rule);
    assert_eq!(rule(&shrunk), Some("INV-5"));
    assert!(shrunk.departures.len() < before, "{} of {before}", shrunk.departures.len());
    for left_out in 0..shrunk.departures.len() {
        let mut fewer = shrunk.departures.clone();
        fewer.remove(left_out);
        let schedule = setting.given(seed, fewer, Recording::On);
        assert_ne!(rule(&schedule), Some("INV-5"), "{}", shrunk.departures[left_out]);
    }
}

#[test]
fn choices_that_do_not_come_are_skipped_and_reported() {
    let (setting, seed, schedule) = broken();
    let mut race = setting.race(seed, &schedule);
    let now = race.choices[0].now;
    race.choices.insert(0, Choice::named(0, now, "client-z act fly(1)").unwrap());
    race.choices.insert(1, Choice::named(0, now, "nobody does this").unwrap());
    let replayed = replay(&race, &Registry::product(), |_| {}).unwrap();
    assert_eq!(replayed.skipped, [race.line_of(0), race.line_of(1)]);
    assert!(replayed.is_met && replayed.digest == schedule.digest);
}
