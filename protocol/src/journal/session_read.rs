//! The rows of all runs of a session as one sequence (JRN-16).

use crate::ids::{RunId, Seq};
use crate::instant::Instant;

/// A place in the rows of a session: behind this row of this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionCursor {
    /// The run.
    pub run_id: RunId,
    /// Its row.
    pub seq: Seq,
}

/// The runs of a session in the order in which its rows are read: by the time of their first row, then by id.
pub fn in_order(runs: impl IntoIterator<Item = (RunId, Instant)>) -> Vec<RunId> {
    let mut runs: Vec<_> = runs.into_iter().map(|(run_id, first)| (first, run_id)).collect();
    runs.sort_unstable();
    runs.into_iter().map(|(_, run_id)| run_id).collect()
}

/// What is to be read behind a cursor: runs in order, each with the row behind which its rows count. Without a
/// cursor that is everything; none when the cursor names a run that is not there.
pub fn behind(order: &[RunId], cursor: Option<SessionCursor>) -> Option<Vec<(RunId, Seq)>> {
    let Some(SessionCursor { run_id, seq }) = cursor else {
        return Some(order.iter().map(|run_id| (*run_id, Seq::ZERO)).collect());
    };
    let at = order.iter().position(|known| *known == run_id)?;
    let later = order[at + 1..].iter().map(|run_id| (*run_id, Seq::ZERO));
    Some(std::iter::once((run_id, seq)).chain(later).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: RunId = RunId::new(1);
    const B: RunId = RunId::new(2);
    const C: RunId = RunId::new(3);
    const D: RunId = RunId::new(4);

    /// JRN-16 [unit]: runs stand in order of their first row, then of their id, and behind a cursor comes every row of the
    /// later runs, whatever the number in it.
    #[test]
    fn a_session_is_read_run_by_run() {
        let at = Instant::from_millis;
        let order = in_order([(C, at(5)), (D, at(2)), (B, at(5)), (A, at(9))]);
        assert_eq!(order, [D, B, C, A]);
        let cursor = |run_id, seq| Some(SessionCursor { run_id, seq: Seq::new(seq) });
        let (none, ninth) = (Seq::ZERO, Seq::new(9));
        assert_eq!(behind(&order, None).unwrap(), [(D, none), (B, none), (C, none), (A, none)]);
        assert_eq!(behind(&order, cursor(B, 9)).unwrap(), [(B, ninth), (C, none), (A, none)]);
        assert_eq!(behind(&order, cursor(A, 9)).unwrap(), [(A, ninth)]);
        assert_eq!(behind(&order, cursor(RunId::new(9), 0)), None);
        assert_eq!(behind(&[], None).unwrap(), []);
    }
}
