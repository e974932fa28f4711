//! The three named predicates (ADM-01). Whatever asks one of these questions calls these.

use super::Phase;
use super::guards::Guards;
use crate::ids::RunId;
use crate::instant::{Duration, Instant};

/// A row of ACTIVE_RUNS as the predicates read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowView {
    /// The run.
    pub run_id: RunId,
    /// Its phase.
    pub phase: Phase,
    /// Cancel time, else start time.
    pub anchor: Instant,
    /// Whether the run has an open channel in STREAMS.
    pub live: bool,
    /// Whether the run is settled.
    pub settled: bool,
}

/// Why a turn may not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// A row blocks (ADM-02 to ADM-04).
    Busy(RowView),
    /// A turn that another process accepted, whose run has no row here, may still be under way (ADM-05).
    Pending(RunId),
    /// The session is unsettled (ADM-06).
    Unsettled,
}

/// May a turn start? `Ok` names the reclaimable row that the start has to reclaim first, if any
/// (ADM-04). `fresh` is the run of a fresh pending turn without a row, which only a shared store has (ADM-05);
/// `unwind` is the one configured window (REC-03).
///
/// # Errors
/// What blocks the start.
pub fn may_start<G: Guards>(
    row: Option<RowView>,
    fresh: Option<RunId>,
    unsettled: bool,
    now: Instant,
    unwind: Duration,
) -> Result<Option<RunId>, Blocked> {
    if unsettled {
        return Err(Blocked::Unsettled);
    }
    let Some(row) = row else { return fresh.map_or(Ok(None), |run| Err(Blocked::Pending(run))) };
    let reclaimable = G::is_reclaimable(row.phase, row.anchor, now, row.live, unwind);
    if G::blocks_start(row.phase, reclaimable) {
        return Err(Blocked::Busy(row));
    }
    Ok(Some(row.run_id))
}

/// May a renderer attach to the run? (ADM-07)
pub fn may_attach<G: Guards>(row: Option<RowView>) -> bool {
    row.is_some_and(|row| G::may_attach(row.phase))
}

/// Is there something to stop? True exactly while the run has a row and no settlement (ADM-16).
pub fn may_stop(row: Option<RowView>) -> bool {
    row.is_some_and(|row| !row.settled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::guards::Rules;
    use crate::run::limits::{PENDING_GRACE, UNWIND};
    use crate::run::recovery::is_fresh as is_fresh_pending;
    use crate::run::store_kind::StoreKind;
    use proptest::prelude::*;

    fn row(phase: Phase, live: bool) -> RowView {
        RowView { run_id: RunId::new(1), phase, anchor: Instant::ZERO, live, settled: false }
    }

    fn any_phase() -> impl Strategy<Value = Phase> {
        prop::sample::select(vec![
            Phase::Starting,
            Phase::Running,
            Phase::Finalizing,
            Phase::Cancelling,
        ])
    }

    proptest! {
        /// ADM-02 [property], ADM-04 [property], REC-01 [property], REC-02 [property]: a row blocks in every
        /// phase and at any age, except a cancelling one without channel from the first reclaimable instant on.
        #[test]
        fn only_an_old_cancelling_row_without_channel_lets_a_turn_start(
            phase in any_phase(), live: bool, age_us in 0..400_000_000_u64,
        ) {
            let now = Instant::from_micros(age_us);
            let free = phase == Phase::Cancelling && !live && age_us >= UNWIND.as_micros();
            prop_assert_eq!(may_start::<Rules>(Some(row(phase, live)), None, false, now, UNWIND).is_ok(), free);
        }

        /// ADM-07 [property]: age plays no part in attaching, and a cancelling row is never attachable.
        #[test]
        fn a_run_is_attachable_in_every_phase_but_cancelling(phase in any_phase(), live: bool) {
            prop_assert_eq!(may_attach::<Rules>(Some(row(phase, live))), phase != Phase::Cancelling);
        }

        /// ADM-16 [property]: stoppable exactly while there is a row and no settlement.
        #[test]
        fn a_run_is_stoppable_until_it_is_settled(phase in any_phase(), settled: bool) {
            prop_assert_eq!(may_stop(Some(RowView { settled, ..row(phase, true) })), !settled);
        }
    }

    #[test]
    fn the_window_ends_exactly_at_its_value() {
        let at = |us| {
            let now = Instant::from_micros(us);
            may_start::<Rules>(Some(row(Phase::Cancelling, false)), None, false, now, UNWIND)
                .is_ok()
        };
        let unwind = UNWIND.as_micros();
        assert!(!at(unwind - 1));
        assert!(at(unwind));
        assert!(at(Duration::from_micros(unwind + 1).as_micros()));
    }

    /// ADM-05 [unit]: a pending turn whose run has no row blocks a start if and only if the store is shared and the turn
    /// carries a time of less than 30 s ago; a time to come counts as now.
    #[test]
    fn a_fresh_pending_turn_of_a_shared_store_blocks_a_start() {
        let at = Instant::from_millis(100_000);
        let grace = PENDING_GRACE.as_micros();
        for store in [StoreKind::Exclusive, StoreKind::Shared, StoreKind::Split] {
            for (started_at, age, is_fresh) in [
                (Some(at), 0, true),
                (Some(at), grace - 1, true),
                (Some(at), grace, false),
                (Some(at), grace + 1, false),
                (Some(at.plus(PENDING_GRACE)), 0, true),
                (None, 0, false),
            ] {
                let now = Instant::from_micros(at.as_micros() + age);
                let fresh = is_fresh_pending(store, started_at, now).then_some(RunId::new(5));
                let blocks = store.is_shared() && is_fresh;
                let answer = may_start::<Rules>(None, fresh, false, now, UNWIND);
                let expected = if blocks { Err(Blocked::Pending(RunId::new(5))) } else { Ok(None) };
                assert_eq!(answer, expected, "{store:?} {started_at:?} {age}");
            }
        }
    }

    /// ADM-06 [unit]: an unsettled session refuses a start without naming a run.
    #[test]
    fn an_unsettled_session_refuses_a_start() {
        assert_eq!(
            may_start::<Rules>(None, None, true, Instant::ZERO, UNWIND),
            Err(Blocked::Unsettled)
        );
    }

    #[test]
    fn without_a_row_there_is_nothing_to_attach_to_or_stop() {
        assert!(!may_attach::<Rules>(None));
        assert!(!may_stop(None));
        assert_eq!(may_start::<Rules>(None, None, false, Instant::ZERO, UNWIND), Ok(None));
    }
}
