use super::state::{Lineage, RunEntry};
use crate::ids::{RunId, Seq};
use crate::instant::{Duration, Instant};
use crate::run::Phase;
use crate::run::guards::Guards;
use crate::run::limits::{EFFECT_DEADLINE, START_SLOW_AFTER, STOP_FREE};

/// A run as its status is reported (OBS-02).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenRun {
    /// The run.
    pub run_id: RunId,
    /// Its phase; none of one that has no row any more.
    pub phase: Option<Phase>,
    /// When that began.
    pub since: Instant,
    /// The number of its last durable row.
    pub last_seq: Seq,
    /// Whether a row of it is missing in its journal (JRN-06).
    pub is_degraded: bool,
    /// Questions that wait for an answer.
    pub open_questions: usize,
    /// Whether its settlement could not be stored yet (RST-11).
    pub is_unsettled: bool,
    /// Whether it is longer in its phase than that may take: somebody has to look.
    pub is_wedged: bool,
}

impl<G: Guards> Lineage<G> {
    /// The runs this machine holds, in the order they began.
    pub fn seen_runs(&self, now: Instant) -> impl Iterator<Item = SeenRun> + '_ {
        self.runs.iter().map(move |entry| entry.seen(now))
    }
}

impl<G: Guards> RunEntry<G> {
    fn seen(&self, now: Instant) -> SeenRun {
        let phase = self.row.phase();
        let since = self.row.since();
        SeenRun {
            run_id: self.run_id,
            phase,
            since,
            last_seq: self.journal.last_seq(),
            is_degraded: self.journal.is_degraded(),
            open_questions: self.questions.open().count(),
            is_unsettled: self.is_unsettled(),
            is_wedged: slow_after(phase).is_some_and(|longest| now.age_of(since) >= longest),
        }
    }
}

/// How long a run may be in a phase before it is called wedged. A running one is watched by LIM-01 and LIM-02. One
/// without a row is held for a worker that has not ended, as a cancelled one is.
const fn slow_after(phase: Option<Phase>) -> Option<Duration> {
    match phase {
        Some(Phase::Starting) => Some(START_SLOW_AFTER),
        Some(Phase::Running) => None,
        Some(Phase::Finalizing) => Some(EFFECT_DEADLINE),
        Some(Phase::Cancelling) | None => Some(STOP_FREE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_slow_from_its_bound_on_and_running_never_is() {
        for (phase, seconds) in
            [(Some(Phase::Starting), 300), (Some(Phase::Finalizing), 20), (None, 12)]
        {
            assert_eq!(slow_after(phase), Some(Duration::from_secs(seconds)));
        }
        assert_eq!(slow_after(Some(Phase::Cancelling)), slow_after(None));
        assert_eq!(slow_after(Some(Phase::Running)), None);
    }
}
