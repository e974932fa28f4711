//! Ops of commits on what a client shows.

use super::state::View;
use crate::wire::structures::{Op, Row};

impl View {
    /// Applies one op; `true` when rows were dropped, so that the newest page is to be read.
    pub(super) fn apply(&mut self, op: &Op) -> bool {
        match op {
            Op::RowAdded { .. }
            | Op::RowChanged { .. }
            | Op::RowRemoved { .. }
            | Op::RowsInvalidated { .. } => return self.apply_row(op),
            Op::HeadMoved { chain_length, .. } => self.chain_length = *chain_length,
            Op::Fields(fields) => self.set(fields),
            Op::QuestionOpened { question } => {
                self.questions.insert(question.question_id.clone(), (**question).clone());
            }
            Op::QuestionClosed { question_id } => {
                self.questions.remove(question_id);
            }
            Op::QueuedAdded { entry } => {
                self.queue.retain(|known| known.message_id != entry.message_id);
                let place = usize::try_from(entry.position - 1).unwrap_or(0);
                self.queue.insert(place.min(self.queue.len()), entry.clone());
                self.number_queue();
            }
            Op::QueuedRemoved { message_id } => {
                self.queue.retain(|known| known.message_id != *message_id);
                self.number_queue();
            }
            Op::QueueHeld { code } => self.queue_held = *code,
            Op::EntityStarted { entity_id } => {
                self.live.entry(entity_id.clone()).or_default();
            }
            Op::EntityEnded { .. } | Op::GraphChanged { .. } => {}
        }
        false
    }

    /// As [`View::apply`], for the ops that concern rows; others do nothing.
    pub(super) fn apply_row(&mut self, op: &Op) -> bool {
        match op {
            Op::RowAdded { row } | Op::RowChanged { row } => self.put(row),
            Op::RowRemoved { message_id } => self.rows.retain(|row| row.message_id != *message_id),
            Op::RowsInvalidated { from_row } => {
                let at = from_row.as_ref().map_or(Some(0), |first| {
                    self.rows.iter().position(|row| row.message_id == *first)
                });
                self.rows.truncate(at.unwrap_or(self.rows.len()));
                return true;
            }
            Op::HeadMoved { .. }
            | Op::Fields(_)
            | Op::GraphChanged { .. }
            | Op::QuestionOpened { .. }
            | Op::QuestionClosed { .. }
            | Op::EntityStarted { .. }
            | Op::EntityEnded { .. }
            | Op::QueuedAdded { .. }
            | Op::QueuedRemoved { .. }
            | Op::QueueHeld { .. } => {}
        }
        false
    }

    fn put(&mut self, row: &Row) {
        match self.rows.iter_mut().find(|known| known.message_id == row.message_id) {
            Some(known) => *known = row.clone(),
            None => self.rows.push(row.clone()),
        }
    }

    fn number_queue(&mut self) {
        for (position, entry) in (1..).zip(&mut self.queue) {
            entry.position = position;
        }
    }
}
