//! Random failures of planted bugs shrink to what a breadth-first search proves to be minimal.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use runwarden_sim::explore::{Limits, Recording, STATES_MAX};
use runwarden_sim::hunt::schedule;
use runwarden_sim::scenarios::ALL;
use runwarden_sim::schedule::Course;
use runwarden_sim::setting::Setting;
use runwarden_sim::shrink::{Proof, shrink};

/// Random failures of all variants, with fixed seeds; at most so many of one variant that all have their
/// turn.
fn failures(count: usize) -> Vec<(Setting, Course)> {
    let settings: Vec<_> = ALL
        .iter()
        .flat_map(|scenario| {
            let setting = Setting { scenario, variant: None, budget: scenario.budget };
            scenario.variants.iter().map(move |v| Setting { variant: Some(v), ..setting })
        })
        .collect();
    let most_of_one = count.div_ceil(settings.len()) * 2;
    let mut found = Vec::new();
    let mut of_one = vec![0; settings.len()];
    for seed in 0.. {
        for (index, setting) in settings.iter().enumerate() {
            if of_one[index] == most_of_one {
                continue;
            }
            let (course, _) = schedule(setting, seed, Recording::Off);
            if course.broken.is_some() {
                of_one[index] += 1;
                found.push((*setting, course));
            }
            if found.len() == count {
                return found;
            }
        }
    }
    unreachable!("the seeds do not end")
}

#[test]
fn random_failures_shrink_to_the_proved_minimum() {
    let count = 200;
    let mut minima = BTreeMap::new();
    let (mut within, mut within_before_the_proof) = (0, 0);
    let mut times = Vec::new();
    for (setting, course) in failures(count) {
        let rule = course.rule();
        let begun = Instant::now();
        let shrunk = shrink(setting, &course.labels()).expect("it is a failure");
        times.push(begun.elapsed());
        let key = (setting.scenario.id, setting.variant.map(|v| v.name), rule);
        let minimum = *minima.entry(key).or_insert_with(|| {
            let found = setting.search(&Limits { rule, ..Limits::states(STATES_MAX) });
            found.schedule.len()
        });
        assert_eq!(Some(shrunk.broken.rule), rule);
        assert!(shrunk.schedule.len() >= minimum, "{key:?}");
        let is_minimal = shrunk.schedule.len() == minimum;
        assert!(shrunk.proof != Proof::Minimal || is_minimal, "{key:?}");
        within += usize::from(shrunk.schedule.len() * 4 <= minimum * 5);
        within_before_the_proof += usize::from(shrunk.reduced * 4 <= minimum * 5);
        println!(
            "{key:?}: {} choices, {} reduced, {} proved, minimum {minimum}",
            course.steps.len(),
            shrunk.reduced,
            shrunk.schedule.len()
        );
    }
    times.sort();
    let slowest = times[count - 1];
    println!(
        "of {count}: {within_before_the_proof} before the proof, {within} behind it; {slowest:?}"
    );
    assert!(within * 100 >= count * 95, "{within} of {count}");
    assert!(within_before_the_proof * 100 >= count * 80, "{within_before_the_proof} of {count}");
    if !cfg!(debug_assertions) {
        assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    }
}
