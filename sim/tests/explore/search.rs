//! The search itself.

use runwarden_sim::explore::STATES_MAX;

use crate::scenario;

/// The search depends on nothing but its scenario.
#[test]
fn the_same_search_twice_finds_the_same() {
    let scenario = scenario("RACE-07");
    let search = || scenario.explore(scenario.variants.first(), scenario.budget, STATES_MAX);
    assert_eq!(search(), search());
}

/// A search is exhaustive from the bound on that holds all states.
#[test]
fn a_search_that_was_cut_does_not_call_itself_exhaustive() {
    let scenario = scenario("RACE-16");
    let all = scenario.explore(None, scenario.budget, STATES_MAX).states;
    for (states_max, exhaustive) in [(all - 1, false), (all, true), (all + 1, true)] {
        let found = scenario.explore(None, scenario.budget, states_max);
        assert_eq!((found.exhaustive, found.states), (exhaustive, all.min(states_max)));
    }
}
