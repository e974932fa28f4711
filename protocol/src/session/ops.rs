//! What one commit changed, as the ops of a `session_delta` (SES-15, SES-48).

use super::project::{int, json_bytes, pending_row, prefix, row, usage};
use super::record::{SessionHead, StoredRow};
use crate::ids::{MessageId, RunId, SessionId, TurnId};
use crate::wire::frames::{Frame, SessionDelta};
use crate::wire::limits::DELTA_BYTES_MAX;
use crate::wire::structures::{
    EntityStatus, Op, QueueEntry, RunOutcome, SessionFields, SessionStatus,
};

/// One commit: the head it found and the head it left, and what only its maker knows.
#[derive(Clone, Copy, Debug)]
pub struct CommitMade<'a> {
    /// The head before.
    pub before: &'a SessionHead,
    /// The head after, one revision later.
    pub after: &'a SessionHead,
    /// The status now; each delta tells it, for it also changes without a commit.
    pub status: SessionStatus,
    /// Rows it added at the end, or, where it added none, rows it changed.
    pub rows: &'a [StoredRow],
    /// The first row it removed from the end.
    pub removed_from: Option<MessageId>,
    /// The run that ended with it.
    pub ended: Option<Ended>,
    /// The entry of the queue that came or went.
    pub queue: Option<&'a QueueEdit>,
}

/// A run that ended with a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The run.
    pub run_id: RunId,
    /// How.
    pub outcome: RunOutcome,
    /// Whether its start was undone: its turn is not in the transcript (REC-08).
    pub is_undone: bool,
}

/// A change of the queue's entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueEdit {
    /// An entry came.
    Added(QueueEntry),
    /// An entry went.
    Removed(TurnId),
}

/// The delta of a commit. Its frame is at most 3,584 bytes: where the rows are larger, `rows_invalidated` from the
/// first row concerned stands for all of them, and clients read the newest page (SES-15). Everything else stays, for
/// no page tells it.
pub fn delta(commit: &CommitMade<'_>) -> SessionDelta {
    let session_id = commit.after.session_id;
    let rows = row_ops(commit);
    let others = other_ops(commit);
    let whole = frame(session_id, commit, rows.iter().chain(&others).cloned().collect());
    if fits(&whole) {
        return whole;
    }
    let from_row = rows.first().and_then(|first| first_row(first).map(str::to_owned));
    let invalidated = (!rows.is_empty()).then_some(Op::RowsInvalidated { from_row });
    let mut short = frame(session_id, commit, invalidated.into_iter().chain(others).collect());
    while !fits(&short) && shorten(&mut short) {}
    short
}

/// A run outcome as the status of its entity.
pub const fn entity_status(outcome: RunOutcome) -> EntityStatus {
    match outcome {
        RunOutcome::Completed => EntityStatus::Completed,
        RunOutcome::Cancelled => EntityStatus::Cancelled,
        RunOutcome::Failed => EntityStatus::Failed,
        RunOutcome::Interrupted => EntityStatus::Interrupted,
        RunOutcome::Superseded => EntityStatus::Superseded,
    }
}

fn frame(session_id: SessionId, commit: &CommitMade<'_>, ops: Vec<Op>) -> SessionDelta {
    SessionDelta {
        session_id: session_id.to_string(),
        from_revision: int(commit.before.revision.get()),
        to_revision: int(commit.after.revision.get()),
        ops,
    }
}

fn fits(delta: &SessionDelta) -> bool {
    json_bytes(&Frame::SessionDelta(delta.clone())) <= DELTA_BYTES_MAX
}

/// Halves the summary of an entry of the queue; `false` when nothing is left to shorten.
fn shorten(delta: &mut SessionDelta) -> bool {
    for op in &mut delta.ops {
        if let Op::QueuedAdded { entry } = op
            && !entry.summary.is_empty()
        {
            entry.summary = prefix(&entry.summary, entry.summary.len() / 2).to_owned();
            return true;
        }
    }
    false
}

fn row_ops(commit: &CommitMade<'_>) -> Vec<Op> {
    let CommitMade { before, after, .. } = commit;
    if after.transcript_generation < before.transcript_generation {
        // The rows that a turn replaced are back: no client has them any more (ADM-15).
        return vec![Op::RowsInvalidated { from_row: None }];
    }
    let mut ops = Vec::new();
    if let Some(first) = commit.removed_from {
        ops.push(Op::RowsInvalidated { from_row: Some(first.to_string()) });
    }
    let turn = before.pending.as_ref().map(|pending| pending.turn_id);
    match (&before.pending, &after.pending) {
        (Some(pending), None) => ops.extend(unsaid_turn(commit, pending.turn_id)),
        (None, Some(pending)) => ops.push(added(Box::new(pending_row(pending, after)))),
        (None, None) | (Some(_), Some(_)) => {}
    }
    let grows = after.message_count > before.message_count;
    for stored in commit.rows {
        let row = Box::new(row(stored, after));
        let is_known = !grows || Some(stored.message_id) == turn;
        ops.push(if is_known { Op::RowChanged { row } } else { added(row) });
    }
    ops
}

const fn added(row: Box<crate::wire::structures::Row>) -> Op {
    Op::RowAdded { row }
}

/// What becomes of the row of a pending turn that the commit's rows do not hold: it goes with an undone start; else it
/// stood in the transcript before (STOP-12), where a page shows it.
fn unsaid_turn(commit: &CommitMade<'_>, turn_id: TurnId) -> Option<Op> {
    if commit.rows.iter().any(|row| row.message_id == turn_id) {
        return None;
    }
    let message_id = turn_id.to_string();
    Some(if commit.ended.is_some_and(|ended| ended.is_undone) {
        Op::RowRemoved { message_id }
    } else {
        Op::RowsInvalidated { from_row: Some(message_id) }
    })
}

fn other_ops(commit: &CommitMade<'_>) -> Vec<Op> {
    let CommitMade { before, after, .. } = commit;
    let mut ops = Vec::new();
    if (after.head_id, after.message_count) != (before.head_id, before.message_count)
        && let Some(head_id) = after.head_id
    {
        let chain_length = int(after.message_count);
        ops.push(Op::HeadMoved { head_id: head_id.to_string(), chain_length });
    }
    match commit.queue {
        Some(QueueEdit::Added(entry)) => ops.push(Op::QueuedAdded { entry: entry.clone() }),
        Some(QueueEdit::Removed(turn_id)) => {
            ops.push(Op::QueuedRemoved { message_id: turn_id.to_string() });
        }
        None => {}
    }
    if after.queue_held != before.queue_held {
        ops.push(Op::QueueHeld { code: after.queue_held });
    }
    ops.push(Op::Fields(Box::new(fields(commit))));
    let running = |head: &SessionHead| head.pending.as_ref().map(|pending| pending.run_id);
    if let Some(run_id) = running(after).filter(|run_id| running(before) != Some(*run_id)) {
        ops.push(Op::EntityStarted { entity_id: run_id.to_string() });
    }
    if let Some(Ended { run_id, outcome, .. }) = commit.ended {
        let status = entity_status(outcome);
        ops.push(Op::EntityEnded { entity_id: run_id.to_string(), status });
    }
    ops
}

/// The fields that changed. Agent and model are told together: a model that is not told with an agent is its default.
fn fields(commit: &CommitMade<'_>) -> SessionFields {
    let CommitMade { before, after, .. } = commit;
    let choice = (&before.agent, &before.model) != (&after.agent, &after.model);
    let counts = before.message_count != after.message_count;
    SessionFields {
        title: changed(&before.title, &after.title),
        status: Some(commit.status),
        counts: counts.then(|| [("messages".to_owned(), int(after.message_count))].into()),
        features: None,
        archived: changed(&before.archived, &after.archived),
        agent: choice.then(|| after.agent.clone()),
        model: after.model.clone().filter(|_| choice),
        usage: usage(after.usage).filter(|_| before.usage != after.usage),
        transcript_generation: changed(&before.transcript_generation, &after.transcript_generation)
            .map(int),
        transcript_generation_baseline: changed(
            &before.transcript_generation_baseline,
            &after.transcript_generation_baseline,
        )
        .map(int),
    }
}

fn changed<T: Clone + PartialEq>(before: &T, after: &T) -> Option<T> {
    (before != after).then(|| after.clone())
}

fn first_row(op: &Op) -> Option<&str> {
    match op {
        Op::RowAdded { row } | Op::RowChanged { row } => Some(&row.message_id),
        Op::RowRemoved { message_id } => Some(message_id),
        Op::RowsInvalidated { from_row } => from_row.as_deref(),
        Op::HeadMoved { .. }
        | Op::Fields(_)
        | Op::GraphChanged { .. }
        | Op::QuestionOpened { .. }
        | Op::QuestionClosed { .. }
        | Op::EntityStarted { .. }
        | Op::EntityEnded { .. }
        | Op::QueuedAdded { .. }
        | Op::QueuedRemoved { .. }
        | Op::QueueHeld { .. } => None,
    }
}

#[cfg(test)]
#[path = "ops_tests.rs"]
mod tests;
