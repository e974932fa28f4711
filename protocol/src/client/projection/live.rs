//! The live content of one entity (SES-32, SES-49).

use crate::wire::frames::StreamState;
use crate::wire::structures::{Item, ItemKind, NumberedFrame};

/// The live content of an entity that has not ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Its items, in order of their first seq (SES-49).
    pub items: Vec<Item>,
    /// Number of the newest row that was applied, and all before it.
    pub seq: i64,
    /// Whether its content was asked for: what comes before the answer is in the answer, or behind it.
    pub is_awaited: bool,
}

/// What became of a numbered frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Took {
    /// It is shown.
    Applied,
    /// It was known, or will come with what was asked for.
    Ignored,
    /// A row before it is missing: nothing was applied (SES-32).
    Gap,
}

impl Live {
    /// Takes one numbered frame. One without a number moves no seq (SES-32).
    pub fn apply(&mut self, frame: &NumberedFrame) -> Took {
        if self.is_awaited {
            return Took::Ignored;
        }
        let (base, seq) = range(frame);
        if seq.is_some_and(|seq| seq <= self.seq) {
            return Took::Ignored;
        }
        if seq.is_some() && self.skips(frame, base) {
            return Took::Gap;
        }
        self.absorb(frame);
        Took::Applied
    }

    /// Takes the answer to `get_stream`: all items, or the rows after the seq that was named.
    pub fn restore(&mut self, state: &StreamState) {
        self.is_awaited = false;
        if let Some(items) = &state.items {
            self.items.clone_from(items);
        }
        for delta in state.deltas.iter().flatten() {
            if range(delta).1.is_none_or(|seq| seq > self.seq) {
                self.absorb(delta);
            }
        }
        self.seq = self.seq.max(state.stream_seq);
    }

    fn skips(&self, frame: &NumberedFrame, base: Option<i64>) -> bool {
        match (frame, base) {
            (NumberedFrame::StreamText(text), Some(base)) => {
                let item = self.items.iter().find(|item| item.item_id == text.item_id);
                item.map_or(0, |item| item.last_seq) != base
            }
            (NumberedFrame::StreamNote(_), Some(base)) => base > self.seq,
            (
                NumberedFrame::StreamText(_)
                | NumberedFrame::StreamNote(_)
                | NumberedFrame::StreamUpdate(_)
                | NumberedFrame::SteerSettled(_)
                | NumberedFrame::StreamTerminal(_),
                _,
            ) => false,
        }
    }

    fn absorb(&mut self, frame: &NumberedFrame) {
        let (_, seq) = range(frame);
        match frame {
            NumberedFrame::StreamText(text) => {
                let item = self.item(&text.item_id, text.item_kind.into(), seq);
                item.text.get_or_insert_default().push_str(&text.text);
            }
            NumberedFrame::StreamUpdate(update) => {
                let item = self.item(&update.item_id, update.item_kind.into(), seq);
                item.value = Some(update.value.clone());
            }
            NumberedFrame::StreamNote(_)
            | NumberedFrame::SteerSettled(_)
            | NumberedFrame::StreamTerminal(_) => {}
        }
        self.seq = self.seq.max(seq.unwrap_or(0));
    }

    fn item(&mut self, item_id: &str, item_kind: ItemKind, seq: Option<i64>) -> &mut Item {
        let at = self.items.iter().position(|item| item.item_id == item_id).unwrap_or_else(|| {
            let first_seq = seq.unwrap_or(self.seq);
            let item_id = item_id.to_owned();
            let (last_seq, text, value, marker) = (0, None, None, None);
            self.items.push(Item { item_id, item_kind, first_seq, last_seq, text, value, marker });
            self.items.len() - 1
        });
        let item = &mut self.items[at];
        item.last_seq = seq.unwrap_or(item.last_seq);
        item
    }
}

/// The seq of the previous row of the frame's key, where it tells one, and its own.
fn range(frame: &NumberedFrame) -> (Option<i64>, Option<i64>) {
    match frame {
        NumberedFrame::StreamText(text) => (text.base_seq, text.stream_seq),
        NumberedFrame::StreamUpdate(update) => (None, update.stream_seq),
        NumberedFrame::StreamNote(note) => (Some(note.base_seq), Some(note.stream_seq)),
        NumberedFrame::SteerSettled(settled) => (None, settled.stream_seq),
        NumberedFrame::StreamTerminal(terminal) => (None, terminal.stream_seq),
    }
}
