//! Records of random schedules, judged by the auditor that also judges the traces of servers.

use runwarden_protocol::invariants::Auditor;
use runwarden_sim::explore::{Limits, NotTaken, Play, Recording, STATES_MAX};
use runwarden_sim::scenarios::ALL;

/// Schedules of each scenario, and the most choices of one.
const SCHEDULES: u64 = 12;
const CHOICES_MAX: usize = 120;

/// A linear congruential generator is enough to take another way each time.
struct Ways(u64);

impl Ways {
    fn next(&mut self, below: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits fit") % below
    }
}

#[test]
fn no_random_schedule_of_the_real_machines_breaks_an_invariant_of_records() {
    let mut terminals = 0;
    for scenario in ALL {
        for seed in 0..SCHEDULES {
            let mut play = scenario.begin(None, scenario.budget, Recording::On);
            let mut ways = Ways(seed);
            for _ in 0..CHOICES_MAX {
                let enabled = play.enabled();
                if enabled.is_empty() {
                    break;
                }
                let label = &enabled[ways.next(enabled.len())];
                let taken = play.take(label);
                assert_eq!(taken, Ok(()), "{} seed {seed}: {label}", scenario.id);
            }
            terminals += audit(scenario.id, play.as_ref(), &[]);
        }
    }
    assert!(terminals > SCHEDULES, "the schedules reach ends of runs");
}

/// What the search catches at the ports of a session stands in its Records too, where they show it.
#[test]
fn the_auditor_finds_broken_rules_in_the_records_of_variants() {
    let mut found = Vec::new();
    for (id, name) in [
        ("RACE-02", "registration-unchecked"),
        ("RACE-04", "uninvoked-interrupted"),
        ("RACE-17", "repeat-interrupts"),
        ("RACE-95", "open-behind-stop"),
        ("RACE-95", "open-behind-end"),
        ("RACE-95", "answered-stays-open"),
        ("RACE-72", "only-success-settles"),
        ("RACE-97", "overtakes-queue"),
    ] {
        let scenario = ALL.iter().find(|scenario| scenario.id == id).expect("it is in the list");
        let variant = scenario.variant(name).expect("it is one of its variants");
        let limits = Limits::states(STATES_MAX);
        let schedule = scenario.search(Some(variant), scenario.budget, &limits).schedule;
        let mut play = scenario.begin(Some(variant), scenario.budget, Recording::On);
        let broken = schedule.iter().find_map(|step| play.take(&step.label).err());
        let rule = broken.as_ref().and_then(NotTaken::rule);
        assert_eq!(rule, Some(variant.rule));
        audit(id, play.as_ref(), &[variant.rule]);
        found.push(variant.rule);
    }
    assert_eq!(found.len(), 8);
}

/// Judges the records; with `expected` rules, these must be found. Returns the ends of runs.
fn audit(id: &str, play: &dyn Play, expected: &[&str]) -> u64 {
    let mut auditor = Auditor::default();
    let mut violations = Vec::new();
    for record in play.records() {
        violations.extend(auditor.check(record).expect("records of machines have their shape"));
    }
    let rules: Vec<_> = violations.iter().map(|violation| violation.invariant).collect();
    if expected.is_empty() {
        assert_eq!(rules, Vec::<&str>::new(), "{id}: {violations:#?}");
    }
    for rule in expected {
        assert!(rules.contains(rule), "{id}: {rule} in {violations:#?}");
    }
    auditor.judged().terminals
}
