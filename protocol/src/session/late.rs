//! Output of a run that comes back after recovery settled it `interrupted` (OWN-08, RST-08).

use super::record::{Marker, Role, StoredRow, Usage};
use super::settle::Answer;
use crate::ids::{Revision, RunId, TurnId};

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub struct LateAnswer {
    /// The run.
    pub run_id: RunId,
    /// The turn it executed.
    pub turn_id: TurnId,
    /// What of its output no row of the transcript shows.
    pub answer: Answer,
    /// Agent of the run.
    pub agent: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// What it used.
    pub usage: Usage,
}

/// The position of the marker whose place the output of this turn takes: that of its own run, at the end of the
/// transcript. `None` where the turn is another one, or a newer one follows, pending or settled.
pub fn place(
    rows: &[StoredRow],
    has_pending: bool,
    run_id: RunId,
    turn_id: TurnId,
) -> Option<usize> {
    let last = rows.last()?;
    let is_its_marker = last.run_id == run_id && last.marker == Some(Marker::Interrupted);
    let is_its_turn = |row: &StoredRow| {
        row.role == Role::User && row.run_id == run_id && row.message_id == turn_id
    };
    (is_its_marker && !has_pending && rows.iter().any(is_its_turn)).then(|| rows.len() - 1)
}

/// The marker as the output in its place: the same row of the chain, and still `interrupted`.
pub fn placed(marker: StoredRow, late: LateAnswer, revision: Revision) -> StoredRow {
    StoredRow {
        role: Role::Assistant,
        body: Some(late.answer.body),
        items: late.answer.items,
        agent: late.agent,
        model: late.model,
        usage: Some(late.usage),
        marker: None,
        session_revision: revision,
        ..marker
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::MessageId;
    use crate::instant::Instant;
    use crate::journal::row::Outcome;
    use proptest::prelude::*;

    const REVISION: Revision = Revision::new(99);

    fn row(number: u64, run: u64, role: Role, status: Outcome) -> StoredRow {
        StoredRow {
            message_id: MessageId::new(number),
            role,
            status,
            predecessor: None,
            created_at: Instant::from_millis(number),
            body: (role != Role::System).then(|| format!("row {number}")),
            run_id: RunId::new(run),
            agent: None,
            model: None,
            usage: None,
            items: Vec::new(),
            marker: (role == Role::System).then_some(match status {
                Outcome::Cancelled => Marker::Cancelled,
                _ => Marker::Interrupted,
            }),
            reason: None,
            session_revision: Revision::new(number),
        }
    }

    /// Turns 100, 200, … of runs 1, 2, …: completed, interrupted with or without a partial row, cancelled.
    fn transcript(kinds: &[u8]) -> Vec<StoredRow> {
        let mut rows = Vec::new();
        for (run, kind) in (1_u64..).zip(kinds) {
            rows.push(row(run * 100, run, Role::User, Outcome::Completed));
            let end = match kind {
                0 => Outcome::Completed,
                1 | 2 => Outcome::Interrupted,
                _ => Outcome::Cancelled,
            };
            if *kind != 2 {
                rows.push(row(run * 100 + 1, run, Role::Assistant, end));
            }
            if *kind != 0 {
                rows.push(row(run * 100 + 2, run, Role::System, end));
            }
        }
        let mut head = None;
        for row in &mut rows {
            row.predecessor = head.replace(row.message_id);
        }
        rows
    }

    fn late(run: u64, turn: u64) -> LateAnswer {
        let answer = Answer { body: "late".to_owned(), items: Vec::new() };
        let (run_id, turn_id) = (RunId::new(run), MessageId::new(turn));
        LateAnswer { run_id, turn_id, answer, agent: None, model: None, usage: Usage::UNKNOWN }
    }

    proptest! {
        /// OWN-08 [property]: a late result takes the place of the marker of its own run if and only if its turn is the
        /// last one; no other row changes, the chain stays, and the outcome is `interrupted` in both cases.
        #[test]
        fn a_late_result_takes_the_place_of_its_own_marker(
            kinds in prop::collection::vec(0..4_u8, 0..5),
            run in 1..6_u64, turn_of in 1..6_u64, has_pending: bool,
        ) {
            let before = transcript(&kinds);
            let late = late(run, turn_of * 100);
            let mut rows = before.clone();
            let place = place(&rows, has_pending, late.run_id, late.turn_id);
            if let Some(at) = place {
                rows[at] = placed(rows[at].clone(), late, REVISION);
            }
            let is_last = run == kinds.len() as u64 && turn_of == run;
            let is_interrupted = kinds.last().is_some_and(|kind| matches!(kind, 1 | 2));
            let is_due = is_last && is_interrupted && !has_pending;
            prop_assert_eq!(place.is_some(), is_due);
            prop_assert_eq!(rows.len(), before.len());
            for (at, (row, old)) in rows.iter().zip(&before).enumerate() {
                prop_assert_eq!((row.message_id, row.predecessor), (old.message_id, old.predecessor));
                prop_assert_eq!((row.run_id, row.status), (old.run_id, old.status));
                if Some(at) != place {
                    prop_assert_eq!(row, old);
                } else {
                    prop_assert_eq!((row.role, row.marker), (Role::Assistant, None));
                    prop_assert_eq!(row.body.as_deref(), Some("late"));
                    prop_assert_eq!(row.status, Outcome::Interrupted);
                    prop_assert_eq!(row.session_revision, REVISION);
                }
            }
        }
    }
}
