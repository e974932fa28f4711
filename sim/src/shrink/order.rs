//! Canonical order: of schedules that differ only in the order of independent choices, the one that changes
//! its actor least often, and then the one that lets clients, workers and agents act early.

use super::Trial;
use crate::schedule::words;

/// Swaps neighbours while that improves the order and the rule is still broken.
pub(super) fn canonical(trial: &mut Trial, best: &mut Vec<String>) {
    // Each swap lowers the cost, which ends it; the bound is for those who read this.
    for _ in 0..best.len() * best.len() {
        if !swap_one(trial, best) {
            return;
        }
    }
}

fn swap_one(trial: &mut Trial, best: &mut Vec<String>) -> bool {
    let cost_before = cost(best);
    for index in 1..best.len() {
        let mut swapped = best.clone();
        swapped.swap(index - 1, index);
        if cost(&swapped) >= cost_before {
            continue;
        }
        if trial.attempt(&swapped).is_some_and(|taken| taken == swapped) {
            *best = swapped;
            return true;
        }
    }
    false
}

/// Changes of the actor, then the actors' ranks with the early ones counting most.
fn cost(labels: &[String]) -> (usize, Vec<u8>) {
    let actors: Vec<_> = labels.iter().map(|label| words(label).0).collect();
    let changes = actors.windows(2).filter(|pair| pair[0] != pair[1]).count();
    (changes, actors.into_iter().map(rank).collect())
}

fn rank(actor: &str) -> u8 {
    match actor.split('-').next().unwrap_or_default() {
        "client" => 0,
        "worker" => 1,
        "agent" => 2,
        "store" => 3,
        "link" => 4,
        "clock" => 5,
        _ => 6,
    }
}
