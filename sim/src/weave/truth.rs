//! What holds of everything that is stored, whatever happened before.

use runwarden_protocol::journal::row::{JournalRow, Outcome, RowEvent};
use runwarden_protocol::session::record::{Role, StoredRow};

use super::schedule::{Verdict, ensure};
use super::store::{Data, StoredRun};

/// Judges what is stored: each run that has ended ended once, and its turn is in the transcript once: what was
/// asked, what was said, and then the marker of an interruption (INV-5, INV-TEXT, INV-TERM).
///
/// # Errors
/// The rule that does not hold.
pub fn check_data(data: &Data) -> Verdict {
    for (run_id, run) in &data.runs {
        let terminals = run.journal.iter().filter(|row| row.event.is_terminal()).count();
        let expected = u32::from(run.outcome.is_some());
        ensure(run.settlements == expected && terminals == expected as usize, "INV-TERM", || {
            format!("{run_id} has {terminals} terminals of {} settlements", run.settlements)
        })?;
        let Some(session) = data.sessions.get(&run.session_id) else { continue };
        let rows: Vec<_> = session.rows.iter().filter(|row| row.run_id == *run_id).collect();
        check_turn(run, &rows)?;
    }
    for session in data.sessions.values() {
        let (held, count) = (session.rows.len() as u64, session.head.message_count);
        ensure(held == count, "INV-TEXT", || format!("{held} rows are there, {count} are told"))?;
    }
    Ok(())
}

/// The rows of one turn, unless some were taken out since.
fn check_turn(run: &StoredRun, rows: &[&StoredRow]) -> Verdict {
    let place = |role: &Role| match role {
        Role::User => 0,
        Role::Assistant => 1,
        Role::System => 2,
    };
    let order: Vec<_> = rows.iter().map(|row| place(&row.role)).collect();
    ensure(order.is_sorted_by(|first, second| first < second), "INV-5", || {
        let roles: Vec<_> = rows.iter().map(|row| row.role).collect();
        format!("a turn has the rows {roles:?}")
    })?;
    let is_marked = rows.iter().any(|row| row.marker.is_some());
    ensure(!is_marked || run.outcome.is_some_and(|o| o != Outcome::Completed), "INV-5", || {
        format!("a run that ended {:?} has a marker", run.outcome)
    })?;
    let Some(answer) = rows.iter().find(|row| row.role == Role::Assistant) else { return Ok(()) };
    let said: String = run.journal.iter().filter_map(content).collect();
    ensure(answer.body.as_deref() == Some(&said), "INV-TEXT", || {
        format!("the journal holds {said:?}, the transcript {:?}", answer.body)
    })
}

fn content(row: &JournalRow) -> Option<&str> {
    match row.event {
        RowEvent::Content { .. } => Some(&row.body),
        RowEvent::QuestionAsked { .. }
        | RowEvent::QuestionResolved { .. }
        | RowEvent::SteerAccepted { .. }
        | RowEvent::SteerSettled { .. }
        | RowEvent::Terminal { .. } => None,
    }
}
