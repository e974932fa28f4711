//! Breadth-first search: the first violation found has the shortest schedule there is.

use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};

use runwarden_protocol::instant::Instant;
use runwarden_protocol::run::guards::Guards;

use super::fingerprint::{Fingerprint, FingerprintSet};
use super::world::{Broken, Choice, World};

/// States a search visits at most, unless it is told otherwise.
pub const STATES_MAX: usize = 20_000_000;

/// How far a search goes, and what it looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits<'a> {
    /// States visited at most.
    pub states_max: usize,
    /// Choices taken in a row at most.
    pub depth_max: usize,
    /// The rule looked for; a step that breaks another one is a dead end. Any rule without it.
    pub rule: Option<&'a str>,
}

impl Limits<'_> {
    /// A search for any broken rule in at most so many states.
    pub const fn states(states_max: usize) -> Self {
        Self { states_max, depth_max: usize::MAX, rule: None }
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Whether every reachable state was visited.
    pub exhaustive: bool,
    /// Whether the bound on states ended it.
    pub is_cut: bool,
    /// States visited.
    pub states: usize,
    /// Choices taken.
    pub transitions: u64,
    /// The most choices it took to reach a state.
    pub depth: usize,
    /// Bytes kept per visited state: its fingerprint and the way to it.
    pub bytes_per_state: usize,
    /// What was broken first; the last step of the schedule broke it.
    pub broken: Option<Broken>,
    /// The shortest schedule to it; empty if nothing was broken.
    pub schedule: Vec<ScheduledStep>,
}

/// One step of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledStep {
    /// When.
    pub now: Instant,
    /// The choice as a race file writes it: actor, verb, label.
    pub label: String,
}

/// Visits every state reachable from `start` within `limits`.
pub fn search<G: Guards>(start: &World<G>, limits: &Limits<'_>) -> Found {
    let mut search = Search {
        visited: FingerprintSet::default(),
        nodes: vec![Node { parent: 0, choice: 0 }],
        transitions: 0,
        is_cut: false,
        limits,
    };
    search.visited.insert(fingerprint(start));
    let mut frontier = vec![(0, start.clone())];
    let mut depth = 0;
    while !frontier.is_empty() && depth < limits.depth_max {
        match search.level(frontier) {
            Ok(next) => frontier = next,
            Err((node, last, broken)) => {
                let schedule = schedule(start, search.path(node, last));
                return search.found(depth + 1, false, Some((broken, schedule)));
            }
        }
        depth += usize::from(!frontier.is_empty());
    }
    search.found(depth, frontier.is_empty(), None)
}

/// How a state was reached first.
struct Node {
    parent: u32,
    choice: u16,
}

struct Search<'a> {
    visited: FingerprintSet,
    nodes: Vec<Node>,
    transitions: u64,
    is_cut: bool,
    limits: &'a Limits<'a>,
}

type Frontier<G> = Vec<(u32, World<G>)>;

impl Search<'_> {
    /// Takes every choice in every state of one depth.
    fn level<G: Guards>(
        &mut self,
        frontier: Frontier<G>,
    ) -> Result<Frontier<G>, (u32, u16, Broken)> {
        let mut next = Vec::new();
        let mut choices = Vec::new();
        for (node, world) in frontier {
            choices.clear();
            world.choices(&mut choices);
            let mut world = Some(world);
            for (index, choice) in (0_u16..).zip(&choices) {
                // Behind its last choice the world itself is not needed any more.
                let is_last = usize::from(index) + 1 == choices.len();
                let taken = if is_last { world.take() } else { world.clone() };
                let mut after = taken.expect("a world lasts for all its choices");
                self.transitions += 1;
                if let Err(broken) = attempt(&mut after, *choice) {
                    if self.limits.rule.is_none_or(|rule| rule == broken.rule) {
                        return Err((node, index, broken));
                    }
                    continue;
                }
                if !self.visited.insert(fingerprint(&after)) {
                    continue;
                }
                if self.nodes.len() >= self.limits.states_max {
                    self.is_cut = true;
                    return Ok(Vec::new());
                }
                let id = u32::try_from(self.nodes.len()).expect("states_max fits");
                self.nodes.push(Node { parent: node, choice: index });
                next.push((id, after));
            }
        }
        Ok(next)
    }

    fn path(&self, mut node: u32, last: u16) -> Vec<u16> {
        let mut path = vec![last];
        while node != 0 {
            let Node { parent, choice } = self.nodes[node as usize];
            path.push(choice);
            node = parent;
        }
        path.reverse();
        path
    }

    fn found(
        &self,
        depth: usize,
        is_all: bool,
        broken: Option<(Broken, Vec<ScheduledStep>)>,
    ) -> Found {
        let bytes = self.visited.capacity() * (size_of::<u64>() + 1)
            + self.nodes.capacity() * size_of::<Node>();
        let (broken, schedule) =
            broken.map_or((None, Vec::new()), |(broken, schedule)| (Some(broken), schedule));
        Found {
            exhaustive: is_all && !self.is_cut,
            is_cut: self.is_cut,
            states: self.nodes.len(),
            transitions: self.transitions,
            depth,
            bytes_per_state: bytes / self.nodes.len(),
            broken,
            schedule,
        }
    }
}

/// Takes a choice; a machine that panics has broken DI-24.
pub(super) fn attempt<G: Guards>(world: &mut World<G>, choice: Choice) -> Result<(), Broken> {
    // The world is not used again after a panic, so it cannot be seen half changed.
    catch_unwind(AssertUnwindSafe(|| world.take(choice))).unwrap_or_else(|_| {
        Err(Broken { rule: "DI-24", detail: "the machine panicked".to_owned() })
    })
}

pub(super) fn fingerprint<G: Guards>(world: &World<G>) -> u64 {
    let mut hasher = Fingerprint::at(world.now());
    world.hash(&mut hasher);
    hasher.finish()
}

fn schedule<G: Guards>(start: &World<G>, path: Vec<u16>) -> Vec<ScheduledStep> {
    let mut world = start.clone();
    let mut choices = Vec::new();
    let mut steps = Vec::with_capacity(path.len());
    for index in path {
        choices.clear();
        world.choices(&mut choices);
        let choice = choices[usize::from(index)];
        let label = world.label(choice);
        // The last one breaks something, which is known.
        let _ = attempt(&mut world, choice);
        steps.push(ScheduledStep { now: world.now(), label });
    }
    steps
}
