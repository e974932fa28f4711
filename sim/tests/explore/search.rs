//! The search itself.

use runwarden_sim::explore::{Budget, STATES_MAX};

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

/// The scope that every release must search in a few seconds; how fast it is, `cargo sim explore` prints.
#[test]
fn two_clients_three_rows_one_stop_one_fault_and_one_crash_are_searched_exhaustively() {
    let scenario = scenario("RACE-35");
    let budget = Budget { clients: 2, events: 3, stops: 1, drops: 1, crashes: 1 };
    let found = scenario.explore(None, budget, STATES_MAX);
    assert_eq!(found.broken, None, "{:#?}", found.schedule);
    assert!(found.exhaustive && found.states > 40_000, "{} states", found.states);
    assert!(found.bytes_per_state <= 32, "{} bytes for each state", found.bytes_per_state);
}
