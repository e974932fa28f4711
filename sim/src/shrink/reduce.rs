//! Delta debugging over choices: leave out ever smaller parts, until no single choice and no two can go.

use super::Trial;

/// Schedules of at most so many choices are tried without each two of them.
const PAIRS_CHOICES_MAX: usize = 24;

/// Leaves out whatever can go.
pub(super) fn reduce(trial: &mut Trial, best: &mut Vec<String>) {
    parts(trial, best);
    while without_one(trial, best) || without_two(trial, best) {}
}

/// Halves, quarters and so on.
fn parts(trial: &mut Trial, best: &mut Vec<String>) {
    let mut size = best.len() / 2;
    while size > 1 {
        let mut end = best.len();
        while end > 0 {
            let begin = end.saturating_sub(size);
            let without = [&best[..begin], &best[end..]].concat();
            trial.improve(best, &without);
            end = begin.min(best.len());
        }
        size = (size / 2).min(best.len() / 2);
    }
}

fn without_one(trial: &mut Trial, best: &mut Vec<String>) -> bool {
    let before = best.len();
    let mut index = best.len();
    while index > 0 {
        index -= 1;
        if index < best.len() {
            let mut without = best.clone();
            without.remove(index);
            trial.improve(best, &without);
        }
    }
    best.len() < before
}

fn without_two(trial: &mut Trial, best: &mut Vec<String>) -> bool {
    if best.len() > PAIRS_CHOICES_MAX {
        return false;
    }
    for second in (1..best.len()).rev() {
        for first in (0..second).rev() {
            let mut without = best.clone();
            without.remove(second);
            without.remove(first);
            if trial.improve(best, &without) {
                return true;
            }
        }
    }
    false
}
