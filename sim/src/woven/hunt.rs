//! Random schedules of ring weave on the real machines.

use std::collections::BTreeMap;

use super::{WovenSetting, shrink};
use crate::explore::{Broken, Recording};
use crate::race::Race;
use crate::weave::FAULTS;

/// Schedules from which on a kind of fault that never struck fails a hunt.
pub const JUDGED_SCHEDULES_MIN: u64 = 2_000;

/// Violations a hunt shrinks and keeps at most; more are counted.
pub const VIOLATIONS_MAX: usize = 20;

/// One of so many schedules keeps its Records and has them judged.
const RECORDED_EVERY: u64 = 4;

/// A violation that a hunt found.
#[derive(Clone, Debug)]
pub struct WovenViolation {
    /// The scenario.
    pub setting: WovenSetting,
    /// The seed that found it.
    pub seed: u64,
    /// What its shrunk schedule breaks.
    pub broken: Broken,
    /// The file of that.
    pub race: Race,
}

/// A hunt in some scenarios of ring weave.
#[derive(Clone, Debug, Default)]
pub struct WovenHunt {
    /// Schedules run.
    pub schedules: u64,
    /// Tasks polled.
    pub polls: u64,
    /// How often each kind of fault struck.
    pub struck: BTreeMap<&'static str, u64>,
    /// One violation of each scenario and rule.
    pub violations: Vec<WovenViolation>,
    /// Schedules that broke something.
    pub broken: u64,
    /// Whether every scenario is hunted in, so that every fault must strike.
    pub is_whole: bool,
}

impl WovenHunt {
    /// Runs the schedule of `seed` in `setting`.
    pub fn take(&mut self, setting: WovenSetting, seed: u64) {
        // Records are dear.
        let is_recorded = seed.is_multiple_of(RECORDED_EVERY);
        let recording = if is_recorded { Recording::On } else { Recording::Off };
        let schedule = setting.drawn(seed, recording);
        self.schedules += 1;
        self.polls += schedule.polls;
        for (kind, count) in schedule.faults {
            *self.struck.entry(kind).or_default() += count;
        }
        let Some(broken) = schedule.broken else { return };
        self.broken += 1;
        let is_known = self.violations.iter().any(|known| {
            known.broken.rule == broken.rule && known.setting.woven.id == setting.woven.id
        });
        if is_known || self.violations.len() >= VIOLATIONS_MAX {
            return;
        }
        let shrunk = shrink(setting, seed, schedule.departures)
            .expect("the same decisions break the same rule");
        let race = setting.race(seed, &shrunk.schedule);
        let broken = shrunk.schedule.broken.expect("each step kept the violation");
        self.violations.push(WovenViolation { setting, seed, broken, race });
    }

    /// Adds what another hunt, with other seeds, saw.
    pub fn add(&mut self, other: Self) {
        self.schedules += other.schedules;
        self.polls += other.polls;
        self.broken += other.broken;
        for (kind, count) in other.struck {
            *self.struck.entry(kind).or_default() += count;
        }
        for violation in other.violations {
            let is_known = self.violations.iter().any(|known| {
                known.broken.rule == violation.broken.rule
                    && known.setting.woven.id == violation.setting.woven.id
            });
            if !is_known && self.violations.len() < VIOLATIONS_MAX {
                self.violations.push(violation);
            }
        }
    }

    /// How often each kind of fault struck, those that never did included.
    pub fn faults(&self) -> BTreeMap<&'static str, u64> {
        FAULTS.iter().map(|kind| (*kind, self.struck.get(kind).copied().unwrap_or(0))).collect()
    }

    /// Kinds of faults that never struck, if the hunt is long enough to be judged.
    pub fn missing(&self) -> Vec<&'static str> {
        if self.schedules < JUDGED_SCHEDULES_MIN {
            return Vec::new();
        }
        self.faults().into_iter().filter(|(_, count)| *count == 0).map(|(kind, _)| kind).collect()
    }

    /// Whether nothing was broken and no kind of fault is missing that a hunt of this length must have seen.
    pub fn holds(&self) -> bool {
        self.violations.is_empty() && (!self.is_whole || self.missing().is_empty())
    }
}
