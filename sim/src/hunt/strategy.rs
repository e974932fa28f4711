//! Ways through a scope that is too large to be searched exhaustively.

use std::collections::BTreeMap;

use super::FAULTS;
use crate::random::Random;
use crate::schedule::{Picker, Uniform, words};

/// Orders of priorities that a PCT schedule explores: a bug that needs at most so many preemptions in given
/// places is found with a chance that falls with the length of the schedule to this power.
pub const PCT_DEPTH: usize = 3;

/// The length of a schedule that PCT assumes when it places its changes.
const PCT_STEPS: usize = 48;

/// A way to pick choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strategy {
    /// Every choice with the same chance.
    Uniform,
    /// Probabilistic concurrency testing: the actor with the highest random priority goes first, and at
    /// [`PCT_DEPTH`] − 1 random steps the one that would go falls behind all others.
    Pct,
    /// Swarm: each schedule draws which kinds of faults it may have and how often each kind of choice is
    /// taken.
    Swarm,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Self; 3] = [Self::Uniform, Self::Pct, Self::Swarm];

    /// The strategy of a seed; half of all seeds swarm.
    pub const fn of(seed: u64) -> Self {
        match seed % 4 {
            0 => Self::Uniform,
            1 => Self::Pct,
            _ => Self::Swarm,
        }
    }

    /// Its name in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Pct => "pct",
            Self::Swarm => "swarm",
        }
    }

    /// A picker for one schedule.
    pub fn picker(self, seed: u64) -> Box<dyn Picker> {
        let random = Random::new(seed);
        match self {
            Self::Uniform => Box::new(Uniform(random)),
            Self::Pct => Box::new(Pct::new(random)),
            Self::Swarm => Box::new(Swarm::new(random, seed)),
        }
    }
}

struct Pct {
    random: Random,
    priorities: BTreeMap<String, u64>,
    /// Steps at which the actor that would go falls behind.
    changes: Vec<usize>,
    step: usize,
    /// Priorities that were given away to the losers; lower than any other.
    lowest: u64,
}

impl Pct {
    fn new(mut random: Random) -> Self {
        let changes = (1..PCT_DEPTH).map(|_| random.below(PCT_STEPS)).collect();
        Self { random, priorities: BTreeMap::new(), changes, step: 0, lowest: PCT_DEPTH as u64 }
    }

    fn priority(&mut self, actor: &str) -> u64 {
        if let Some(priority) = self.priorities.get(actor) {
            return *priority;
        }
        let priority = self.random.next().max(PCT_DEPTH as u64 + 1);
        self.priorities.insert(actor.to_owned(), priority);
        priority
    }

    fn first(&mut self, enabled: &[String]) -> String {
        let mut best = (0, "");
        for label in enabled {
            let actor = words(label).0;
            best = best.max((self.priority(actor), actor));
        }
        best.1.to_owned()
    }
}

impl Picker for Pct {
    fn pick(&mut self, enabled: &[String]) -> Option<usize> {
        let mut actor = self.first(enabled);
        if self.changes.contains(&self.step) {
            self.lowest -= 1;
            self.priorities.insert(actor, self.lowest);
            actor = self.first(enabled);
        }
        self.step += 1;
        let own: Vec<_> = (0..enabled.len()).filter(|i| words(&enabled[*i]).0 == actor).collect();
        Some(own[self.random.below(own.len())])
    }
}

struct Swarm {
    random: Random,
    /// How much a kind of choice weighs; drawn when it is first seen.
    weights: BTreeMap<String, usize>,
    /// A kind of fault that this schedule has in any case.
    focus: &'static str,
}

impl Swarm {
    const HEAVY: usize = 12;

    fn new(random: Random, seed: u64) -> Self {
        let kinds = FAULTS.len() as u64;
        let focus = usize::try_from(seed / 2 % kinds).expect("few kinds");
        Self { random, weights: BTreeMap::new(), focus: FAULTS[focus] }
    }

    fn weight(&mut self, label: &str) -> usize {
        let (_, verb, name) = words(label);
        if let Some(weight) = self.weights.get(name) {
            return *weight;
        }
        let weight = match verb {
            "fault" if name == self.focus => Self::HEAVY,
            "fault" => [0, 0, 1, 4][self.random.below(4)],
            _ => [1, 1, 4, Self::HEAVY][self.random.below(4)],
        };
        self.weights.insert(name.to_owned(), weight);
        weight
    }
}

impl Picker for Swarm {
    fn pick(&mut self, enabled: &[String]) -> Option<usize> {
        let weights: Vec<_> = enabled.iter().map(|label| self.weight(label)).collect();
        let total = weights.iter().sum();
        if total == 0 {
            return None;
        }
        let mut left = self.random.below(total);
        weights.iter().position(|weight| {
            let is_here = left < *weight;
            left = left.saturating_sub(*weight);
            is_here
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn pct_keeps_to_one_actor_until_a_change() {
        let enabled = labels(&["store answer x", "clock fire y", "client-a send z"]);
        for seed in 0..50 {
            let mut picker = Strategy::Pct.picker(seed);
            let picks: Vec<_> = (0..PCT_STEPS).map(|_| picker.pick(&enabled).unwrap()).collect();
            let changes = picks.windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert!(changes < PCT_DEPTH, "{picks:?}");
        }
    }

    #[test]
    fn swarm_leaves_out_kinds_of_faults_and_ends_when_nothing_is_left() {
        let enabled = labels(&["store fault append_failed", "store answer persisted"]);
        let without = (0..200).filter(|seed| {
            let mut picker = Swarm::new(Random::new(*seed), 0);
            (0..50).all(|_| picker.pick(&enabled) == Some(1))
        });
        assert!((50..150).contains(&without.count()));
        let only = labels(&["store fault append_failed"]);
        let ended = (0..200).filter(|seed| Swarm::new(Random::new(*seed), 0).pick(&only).is_none());
        assert!((50..150).contains(&ended.count()));
    }

    #[test]
    fn equal_seeds_pick_equally() {
        let enabled = labels(&["a b c", "d e f", "g fault h"]);
        for strategy in Strategy::ALL {
            let picks = || {
                let mut picker = strategy.picker(9);
                (0..20).map(|_| picker.pick(&enabled)).collect::<Vec<_>>()
            };
            assert_eq!(picks(), picks());
        }
    }
}
