use super::*;
use crate::random::Random;
use crate::schedule::{Uniform, WALK_STEPS_MAX};

fn failure(setting: Setting, seed: u64) -> Option<Course> {
    let mut course = Course::default();
    let mut play = setting.begin(Recording::Off);
    course.walk(play.as_mut(), &mut Uniform(Random::new(seed)), WALK_STEPS_MAX);
    course.broken.is_some().then_some(course)
}

#[test]
fn a_failure_shrinks_to_the_shortest_schedule() {
    let setting = Setting::find("RACE-04", Some("invocation-unchecked")).unwrap();
    let course = (0..500).find_map(|seed| failure(setting, seed).filter(|c| c.steps.len() > 4));
    let course = course.expect("some walk takes its time");
    let shrunk = shrink(setting, &course.labels()).unwrap();
    assert_eq!(Some(shrunk.broken.rule), course.rule());
    assert!(shrunk.proof.is_minimal());
    let limits = Limits { rule: course.rule(), ..Limits::states(PROOF_STATES_MAX) };
    assert_eq!(shrunk.schedule.len(), setting.search(&limits).schedule.len());
    let again = shrink(shrunk.setting, &shrunk.labels()).unwrap();
    assert_eq!(again.labels(), shrunk.labels());
    assert_eq!(again.setting.budget, shrunk.setting.budget);
}

#[test]
fn what_breaks_nothing_is_not_shrunk() {
    let setting = Setting::find("RACE-04", None).unwrap();
    assert!(shrink(setting, &["client-a send stop_run(run_1)".to_owned()]).is_none());
    assert!(shrink(setting, &[]).is_none());
}

#[test]
fn a_proof_that_needs_too_many_states_stays_open() {
    let setting = Setting::find("RACE-25", Some("row-never-reclaimed")).unwrap();
    let course = (0..500).find_map(|seed| failure(setting, seed)).expect("the walks find it");
    let shrunk = shrink_within(setting, &course.labels(), 10).unwrap();
    assert_eq!((shrunk.proof, shrunk.schedule.len()), (Proof::Open, shrunk.reduced));
}
