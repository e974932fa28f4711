//! What becomes of a run that is found without a row (RST-02, RST-03).

use serde::{Deserialize, Serialize};

use super::guards::Guards;
use super::limits::PENDING_GRACE;
use super::settlement::Verdict;
use super::store_kind::StoreKind;
use crate::ids::{RunId, Seq, SteerId, TurnId};
use crate::instant::Instant;
use crate::journal::row::Outcome;

/// What the store says of a run that has neither row nor live lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The run.
    pub run_id: RunId,
    /// Its turn.
    pub turn_id: TurnId,
    /// When it was accepted; a turn without that time counts as aged.
    pub pending_started_at: Option<Instant>,
    /// The last row of its journal.
    pub last_seq: Seq,
    /// The outcome of a recorded settlement whose terminal rows are missing somewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Outcome>,
    /// The semantic terminal in its journal, if any.
    pub terminal: Option<Outcome>,
    /// The run that the session's active run id names instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<RunId>,
    /// Steers in its journal that were accepted and not settled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steers: Vec<SteerId>,
}

impl Found {
    /// How the run ends: as a recorded settlement says, else as its journal says, else `superseded` when the
    /// session went on without it, else `interrupted`, which alone leaves a marker (RST-02).
    pub fn verdict<G: Guards>(&self) -> Verdict {
        let journaled = self.terminal.filter(|_| G::believes_journal());
        match (self.settled.or(journaled), self.superseded_by) {
            (Some(outcome), _) => Verdict::as_journaled(outcome),
            (None, Some(_)) => Verdict::as_journaled(Outcome::Superseded),
            (None, None) => Verdict::found_dead(),
        }
    }

    /// Whether the process that accepted the turn may still be about to settle it (RST-03).
    pub fn is_left_alone<G: Guards>(&self, store: StoreKind, now: Instant) -> bool {
        let has_ended = self.settled.or(self.terminal).is_some();
        !has_ended && G::spares_fresh(is_fresh(store, self.pending_started_at, now))
    }
}

/// Whether a pending turn is fresh: in a shared store alone, with a time of less than 30 s ago (table 5.7).
pub fn is_fresh(store: StoreKind, pending_started_at: Option<Instant>, now: Instant) -> bool {
    store.is_shared() && pending_started_at.is_some_and(|at| now.age_of(at) < PENDING_GRACE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::MessageId;
    use crate::run::guards::Rules;
    use crate::session::record::Marker;

    const AT: Instant = Instant::from_millis(500_000);

    fn found() -> Found {
        Found {
            run_id: RunId::new(1),
            turn_id: MessageId::new(1),
            pending_started_at: Some(AT),
            last_seq: Seq::new(3),
            settled: None,
            terminal: None,
            superseded_by: None,
            steers: Vec::new(),
        }
    }

    #[test]
    fn the_first_evidence_decides_and_only_an_interruption_leaves_a_marker() {
        let superseded = Found { superseded_by: Some(RunId::new(2)), ..found() };
        let journaled = Found { terminal: Some(Outcome::Completed), ..superseded.clone() };
        let settled = Found { settled: Some(Outcome::Cancelled), ..journaled.clone() };
        for (found, outcome, marker) in [
            (found(), Outcome::Interrupted, Some(Marker::Interrupted)),
            (superseded, Outcome::Superseded, None),
            (journaled, Outcome::Completed, None),
            (settled, Outcome::Cancelled, None),
        ] {
            let verdict = found.verdict::<Rules>();
            assert_eq!((verdict.outcome, verdict.marker), (outcome, marker), "{found:?}");
        }
    }

    /// RST-03 [unit]: a run is left alone in a shared store alone, while its turn is younger than 30 s and its journal
    /// has no terminal.
    #[test]
    fn a_fresh_turn_of_a_shared_store_is_left_alone() {
        let grace = PENDING_GRACE.as_micros();
        let after = |micros| Instant::from_micros(AT.as_micros() + micros);
        let alone = |store, found: &Found, now| found.is_left_alone::<Rules>(store, now);
        for (now, is_fresh) in
            [(Instant::ZERO, true), (AT, true), (after(grace - 1), true), (after(grace), false)]
        {
            assert_eq!(alone(StoreKind::Shared, &found(), now), is_fresh, "{now:?}");
            assert!(!alone(StoreKind::Exclusive, &found(), now));
            assert!(!alone(StoreKind::Split, &found(), now));
            let ended = Found { terminal: Some(Outcome::Completed), ..found() };
            assert!(!alone(StoreKind::Shared, &ended, now));
            let untimed = Found { pending_started_at: None, ..found() };
            assert!(!alone(StoreKind::Shared, &untimed, now));
        }
    }
}
