//! Shrinking a file of recorded inputs: fewer inputs that break the same invariant.

use crate::machines::Registry;
use crate::race::{Choice, Race};
use crate::replay::replay;

/// Replays that are tried at most; a recorder's memory may hold very many inputs.
pub const INPUT_TRIES_MAX: usize = 2_000;

/// Leaves out inputs of `race` as long as what is left breaks the same invariant; `None` when it breaks
/// none. Nothing is proved: what a recorder saw has no scope.
pub fn shrink_inputs(race: &Race, registry: &Registry) -> Option<Race> {
    let first = replay(race, registry, |_| {}).ok()?;
    let rule = first.violation?.invariant;
    let mut best: Vec<Choice> = race.choices[..first.broke_at?].to_vec();
    let mut tries = 0;
    let mut attempt = |choices: Vec<Choice>| {
        tries += 1;
        if tries > INPUT_TRIES_MAX {
            return None;
        }
        let candidate = Race { choices, ..race.clone() };
        let replayed = replay(&candidate, registry, |_| {}).ok()?;
        let is_same = replayed.violation.is_some_and(|violation| violation.invariant == rule);
        let end = replayed.broke_at.filter(|_| is_same)?;
        Some(candidate.choices[..end].to_vec())
    };
    let mut size = (best.len() / 2).max(1);
    loop {
        let before = best.len();
        let mut end = best.len();
        while end > 0 {
            let begin = end.saturating_sub(size);
            if let Some(fewer) = attempt([&best[..begin], &best[end..]].concat()) {
                best = fewer;
            }
            end = begin.min(best.len());
        }
        match size {
            1 if best.len() == before => break,
            1 => {}
            _ => size /= 2,
        }
    }
    let mut small = Race { choices: best, ..race.clone() };
    for (step, choice) in (1..).zip(&mut small.choices) {
        choice.step = step;
    }
    let replayed = replay(&small, registry, |_| {}).ok()?;
    small.expect = crate::race::Expectation::Violation(rule.parse().ok()?);
    small.digest = replayed.digest;
    Some(small)
}
