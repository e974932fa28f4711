//! One schedule of a story: decisions, what they led to, and which rule it broke.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use runwarden_protocol::record::{DIGEST_START, Digest, Record};
use runwarden_protocol::run::guards::Guards;

use super::bed::{Bed, Ground, Records};
use super::choices::{Choices, Departure};
use super::executor::Stuck;
use super::wrong::Wrong;
use crate::explore::{Broken, Recording};
use crate::random::Random;

/// What a story found: nothing, or a rule that did not hold.
pub type Verdict = Result<(), Broken>;

/// A scenario of ring weave: it sets a bed up, plays clients and says what did not hold.
///
/// Whatever it leaves open it asks of [`Bed::choices`], so that a race file can say it. It allows the faults it
/// can bear, heals the bed before it judges, and names the rule that each check shows.
pub trait Story {
    /// Plays it once.
    fn play<G: Guards>(bed: Bed<G>) -> impl Future<Output = Verdict> + Send + 'static;
}

/// What one schedule runs under.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Decides ids, jitter and what a story draws itself, and without departures everything else.
    pub seed: u64,
    /// The departures from the calm course; drawn from the seed without them.
    pub departures: Option<Vec<Departure>>,
    /// Whether Records are kept, and judged.
    pub recording: Recording,
}

/// How one schedule went.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The departures from the calm course that were taken, in order.
    pub departures: Vec<Departure>,
    /// The first rule that was broken.
    pub broken: Option<Broken>,
    /// Tasks polled.
    pub polls: u64,
    /// How often each kind of fault struck.
    pub faults: BTreeMap<&'static str, u64>,
    /// The Records of all session machines, in order, if they were kept.
    pub records: Vec<Record>,
    /// Their digest.
    pub digest: Digest,
}

/// Runs one schedule.
pub type Play = fn(&Plan, Option<Wrong>) -> Schedule;

/// The rule `rule` is broken unless `holds`.
///
/// # Errors
/// [`Broken`] then.
pub fn ensure(holds: bool, rule: &'static str, detail: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(Broken { rule, detail: detail() }) }
}

/// Plays `S` with the session machines of `G` in a world that is `wrong`.
pub fn schedule<S: Story, G: Guards>(plan: &Plan, wrong: Option<Wrong>) -> Schedule {
    let mut seeds = Random::new(plan.seed);
    let drawn = seeds.next();
    let choices = match &plan.departures {
        Some(departures) => Choices::given(departures),
        None => Choices::drawn(drawn),
    };
    let records = match plan.recording {
        Recording::On => Some(Arc::<Records>::default()),
        Recording::Off => None,
    };
    let seed = seeds.next();
    let ground = Ground { seed, choices: choices.clone(), wrong, records: records.clone() };
    let mut polls = 0;
    let ended = catch_unwind(AssertUnwindSafe(|| {
        Bed::<G>::on(ground, |bed| {
            let executor = bed.executor.clone();
            async move { (S::play(bed).await, executor.polls()) }
        })
    }));
    let verdict = match ended {
        Ok(Ok((verdict, polled))) => {
            polls = polled;
            verdict
        }
        Ok(Err(Stuck::Halted)) => Ok(()),
        Ok(Err(stuck @ (Stuck::Idle | Stuck::Late | Stuck::Endless))) => {
            Err(Broken { rule: "INV-LIVE", detail: stuck.to_string() })
        }
        Err(panic) => Err(Broken { rule: "DI-24", detail: words_of(panic.as_ref()) }),
    };
    let (records, digest, broken) =
        records.map_or_else(|| (Vec::new(), DIGEST_START, None), |records| records.take());
    Schedule {
        departures: choices.departures(),
        broken: broken.or(verdict.err()),
        polls,
        faults: choices.faults(),
        records,
        digest,
    }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("a task panicked: {}", text.unwrap_or_else(|| "without words".to_owned()))
}
