//! Whether the rows of a run can be trusted (JRN-11).

use serde::de::IgnoredAny;

use super::row::{JournalRow, RowEvent};
use crate::ids::{RunId, Seq, SessionId};

/// Why a row is not what its run wrote. The run is quarantined from it on; every other run stays readable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsound {
    /// Its number is not the next one.
    #[error("row {} is missing", seq.get())]
    Missing {
        /// The number that should have come.
        seq: Seq,
    },
    /// It names another run.
    #[error("row {}: it belongs to another run", seq.get())]
    OtherRun {
        /// The row.
        seq: Seq,
    },
    /// It names another session.
    #[error("row {}: it belongs to another session", seq.get())]
    OtherSession {
        /// The row.
        seq: Seq,
    },
    /// It does not hold what a row of its kind holds.
    #[error("row {}: {what}", seq.get())]
    Malformed {
        /// The row.
        seq: Seq,
        /// What is wrong with it.
        what: String,
    },
}

/// Looks at the rows of one run in the order in which they are read.
#[derive(Clone, Copy, Debug)]
pub struct RowCheck {
    run_id: RunId,
    session_id: SessionId,
    last: Seq,
}

impl RowCheck {
    /// A check of the rows behind `after`.
    pub const fn behind(run_id: RunId, session_id: SessionId, after: Seq) -> Self {
        Self { run_id, session_id, last: after }
    }

    /// Whether `found` is the number of the next row, before its other fields are read.
    ///
    /// # Errors
    /// [`Unsound::Missing`] names the number that should have come.
    pub fn expect(&self, found: Seq) -> Result<Seq, Unsound> {
        let seq = self.last.plus(1);
        if found == seq { Ok(seq) } else { Err(Unsound::Missing { seq }) }
    }

    /// Takes the next row.
    ///
    /// # Errors
    /// [`Unsound`] says what is wrong with it; the check then stays where it was.
    pub fn take(&mut self, row: &JournalRow) -> Result<(), Unsound> {
        let seq = self.last.plus(1);
        if row.run_id != self.run_id {
            return Err(Unsound::OtherRun { seq });
        }
        self.expect(row.seq)?;
        if row.session_id != self.session_id {
            return Err(Unsound::OtherSession { seq });
        }
        let is_text =
            matches!(row.event, RowEvent::Content { item_kind, .. } if item_kind.is_text());
        if !is_text && serde_json::from_str::<IgnoredAny>(&row.body).is_err() {
            return Err(Unsound::Malformed { seq, what: "its value is not JSON".to_owned() });
        }
        self.last = seq;
        Ok(())
    }

    /// Ends the check of a run whose newest row has the number `last_seq`.
    ///
    /// # Errors
    /// [`Unsound::Missing`] when rows are missing at the end.
    pub fn end(self, last_seq: Seq) -> Result<(), Unsound> {
        let seq = self.last.plus(1);
        if self.last < last_seq { Err(Unsound::Missing { seq }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ItemId;
    use crate::instant::Instant;
    use crate::journal::row::ItemKind;

    const RUN: RunId = RunId::new(7);
    const SESSION: SessionId = SessionId::new(3);

    fn row(seq: u64, item_kind: ItemKind, body: &str) -> JournalRow {
        JournalRow {
            run_id: RUN,
            session_id: SESSION,
            seq: Seq::new(seq),
            created_at: Instant::ZERO,
            event: RowEvent::Content { item_id: ItemId::new(1), item_kind },
            body: body.to_owned(),
        }
    }

    #[test]
    fn each_fault_is_named_and_nothing_behind_it_is_taken() {
        let sound = row(2, ItemKind::Tool, "{}");
        let seq = Seq::new(2);
        for (bad, fault) in [
            (row(1, ItemKind::Text, "b"), Unsound::Missing { seq }),
            (row(3, ItemKind::Text, "b"), Unsound::Missing { seq }),
            (JournalRow { run_id: RunId::new(8), ..sound.clone() }, Unsound::OtherRun { seq }),
            (
                JournalRow { session_id: SessionId::new(4), ..sound.clone() },
                Unsound::OtherSession { seq },
            ),
            (
                row(2, ItemKind::Tool, "{"),
                Unsound::Malformed { seq, what: "its value is not JSON".to_owned() },
            ),
        ] {
            let mut check = RowCheck::behind(RUN, SESSION, Seq::ZERO);
            check.take(&row(1, ItemKind::Text, "{")).unwrap();
            assert_eq!(check.take(&bad), Err(fault));
            assert_eq!(check.end(Seq::new(2)), Err(Unsound::Missing { seq }));
            check.take(&sound).unwrap();
            assert_eq!(check.end(Seq::new(2)), Ok(()));
        }
    }
}
