//! What a run leaves in the transcript when it ends (OWN-10, STOP-09, STOP-10, RST-04).

use std::collections::BTreeMap;

use serde_json::Value;

use super::record::{Marker, PendingTurn, Role, StoredItem, StoredRow, Usage};
use crate::ids::{ItemId, MessageId, Revision, RunId, Seq, TurnId};
use crate::instant::Instant;
use crate::journal::row::{ItemKind, JournalRow, Outcome, RowEvent};

/// The row has a body that its kind does not allow, so the journal cannot be trusted (JRN-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// The value of an item is not JSON.
    #[error("row {} holds a value that is not JSON", seq.get())]
    NotJson {
        /// The row.
        seq: Seq,
    },
    /// One item has rows of two kinds.
    #[error("row {} gives {item_id} another kind", seq.get())]
    OtherKind {
        /// The row.
        seq: Seq,
        /// Its item.
        item_id: ItemId,
    },
}

/// The content of one answer row: exactly what the run's stored rows hold (STOP-10).
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The text items, one after another in order of their first row.
    pub body: String,
    /// Every item in order of its first row.
    pub items: Vec<StoredItem>,
}

/// Folds the rows of one run's journal, in order, into its answer.
#[derive(Clone, Debug, Default)]
pub struct AnswerFold {
    order: Vec<OpenItem>,
    places: BTreeMap<ItemId, usize>,
}

impl AnswerFold {
    /// A fold that has seen no row.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next row. Rows without content change nothing.
    ///
    /// # Errors
    /// [`FoldError`] when the row cannot be what a run wrote; the fold then stays as it was.
    pub fn push(&mut self, row: &JournalRow) -> Result<(), FoldError> {
        match row.event {
            RowEvent::Content { item_id, item_kind } => {
                self.push_content(row.seq, item_id, item_kind, &row.body)
            }
            RowEvent::QuestionAsked { .. }
            | RowEvent::QuestionResolved { .. }
            | RowEvent::SteerAccepted { .. }
            | RowEvent::SteerSettled { .. }
            | RowEvent::Terminal { .. } => Ok(()),
        }
    }

    /// The answer, or `None` when no row held content.
    pub fn finish(self) -> Option<Answer> {
        if self.order.is_empty() {
            return None;
        }
        let mut body = String::new();
        let mut items = Vec::with_capacity(self.order.len());
        for item in self.order {
            if item.kind == ItemKind::Text {
                body.push_str(&item.text);
            }
            items.push(item.close());
        }
        Some(Answer { body, items })
    }

    fn push_content(
        &mut self,
        seq: Seq,
        item_id: ItemId,
        kind: ItemKind,
        body: &str,
    ) -> Result<(), FoldError> {
        let value = if kind.is_text() {
            None
        } else {
            Some(serde_json::from_str(body).map_err(|_| FoldError::NotJson { seq })?)
        };
        let place = match self.places.get(&item_id) {
            Some(&place) if self.order[place].kind != kind => {
                return Err(FoldError::OtherKind { seq, item_id });
            }
            Some(&place) => place,
            None => {
                self.places.insert(item_id, self.order.len());
                self.order.push(OpenItem::new(item_id, kind, seq));
                self.order.len() - 1
            }
        };
        let item = &mut self.order[place];
        item.last_seq = seq;
        match value {
            Some(value) => item.value = Some(value),
            None => item.text.push_str(body),
        }
        Ok(())
    }
}

/// Everything the rows of a settlement are made of.
#[derive(Clone, Debug)]
pub struct Ending<'a> {
    /// The run that ends.
    pub run_id: RunId,
    /// The turn it executed.
    pub turn_id: TurnId,
    /// How it ended.
    pub outcome: Outcome,
    /// The marker to add.
    pub marker: Option<Marker>,
    /// The session's pending turn, if it is this run's.
    pub pending: Option<&'a PendingTurn>,
    /// Whether the transcript already has the user row, by turn id (STOP-12, RST-04).
    pub user_row_stored: bool,
    /// What the run's journal holds.
    pub answer: Option<Answer>,
    /// Ids for the answer and the marker.
    pub row_ids: [MessageId; 2],
    /// The row the session ends in before the settlement.
    pub head_id: Option<MessageId>,
    /// What the run used.
    pub usage: Usage,
    /// When it is settled.
    pub at: Instant,
    /// The revision of the settlement.
    pub revision: Revision,
}

/// The rows a settlement adds, each following the one before: the user row once, at most one answer
/// row, and the marker (STOP-09, STOP-10).
pub fn rows(ending: Ending<'_>) -> Vec<StoredRow> {
    let mut rows: Vec<StoredRow> = Vec::with_capacity(3);
    let blank = |message_id, role, status| StoredRow {
        message_id,
        role,
        status,
        predecessor: None,
        created_at: ending.at,
        body: None,
        run_id: ending.run_id,
        agent: None,
        model: None,
        usage: None,
        items: Vec::new(),
        marker: None,
        reason: None,
        session_revision: ending.revision,
    };
    if let Some(pending) = ending.pending
        && !ending.user_row_stored
    {
        rows.push(StoredRow {
            created_at: pending.pending_started_at,
            body: Some(pending.text.clone()),
            ..blank(ending.turn_id, Role::User, Outcome::Completed)
        });
    }
    if let Some(answer) = ending.answer {
        rows.push(StoredRow {
            body: Some(answer.body),
            agent: ending.pending.map(|pending| pending.agent.clone()),
            model: ending.pending.and_then(|pending| pending.model.clone()),
            usage: Some(ending.usage),
            items: answer.items,
            ..blank(ending.row_ids[0], Role::Assistant, ending.outcome)
        });
    }
    if let Some(marker) = ending.marker {
        rows.push(StoredRow {
            marker: Some(marker),
            ..blank(ending.row_ids[1], Role::System, ending.outcome)
        });
    }
    let mut head_id = ending.head_id;
    for row in &mut rows {
        row.predecessor = head_id.replace(row.message_id);
    }
    rows
}

#[derive(Clone, Debug)]
struct OpenItem {
    item_id: ItemId,
    kind: ItemKind,
    first_seq: Seq,
    last_seq: Seq,
    text: String,
    value: Option<Value>,
}

impl OpenItem {
    fn new(item_id: ItemId, kind: ItemKind, seq: Seq) -> Self {
        Self { item_id, kind, first_seq: seq, last_seq: seq, text: String::new(), value: None }
    }

    fn close(self) -> StoredItem {
        let is_answer = self.kind == ItemKind::Text;
        let chars = is_answer.then(|| self.text.chars().count() as u64);
        let text = (self.kind.is_text() && !is_answer).then_some(self.text);
        StoredItem {
            item_id: self.item_id,
            item_kind: self.kind,
            first_seq: self.first_seq,
            last_seq: self.last_seq,
            chars,
            text,
            value: self.value,
        }
    }
}

#[cfg(test)]
#[path = "settle_tests.rs"]
mod tests;
