use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::bounds::{ITEM_HEAD_BYTES, ITEMS_MAX, bytes_of, leave_out};
use crate::ids::{ItemId, Seq};
use crate::journal::row::{ItemKind, RowEvent};
use crate::json_bytes::json_text_bytes;

/// What the frame of a row needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Applied {
    /// Number of the previous row of the same key (item, or notes of the run), 0 for the first.
    pub base_seq: Seq,
    /// Whether the row was new; an old one changed nothing and its `base_seq` means nothing.
    pub is_new: bool,
}

/// The live content of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Scene {
    last_seq: Seq,
    /// Newest row that shows nothing.
    note_seq: Seq,
    /// In the order of their first row.
    items: VecDeque<SceneItem>,
    json_bytes: usize,
    items_dropped: u64,
    degraded: bool,
}

/// One part of the content.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SceneItem {
    /// The item.
    pub item_id: ItemId,
    /// Its kind.
    pub item_kind: ItemKind,
    /// Number of its first row; of an item that began without a row, of the row before it.
    pub first_seq: Seq,
    /// Number of its newest row; never below `first_seq`.
    pub last_seq: Seq,
    /// Whether some of it has no row (JRN-06).
    pub degraded: bool,
    /// What it shows.
    pub content: Content,
    /// Newest numbered row, 0 when it has none.
    pub(super) row_seq: Seq,
    /// Bytes of the content in JSON form; 0 when it is left out.
    pub(super) json_bytes: usize,
}

/// What an item shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// All its text.
    Text(String),
    /// The JSON text of its newest value.
    Value(String),
    /// The scene was full: the content is only in the journal.
    LeftOut {
        /// Bytes of the content, as UTF-8.
        total_bytes: u64,
    },
}

impl Scene {
    /// A scene without content.
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies a durable row. `body` is the text of a text item, else the JSON text of the value.
    /// A row at or before [`Scene::last_seq`] changes nothing (INV-5).
    pub fn apply(&mut self, seq: Seq, event: RowEvent, body: &str) -> Applied {
        if seq <= self.last_seq {
            return Applied { base_seq: Seq::ZERO, is_new: false };
        }
        self.last_seq = seq;
        let base_seq = match event {
            RowEvent::Content { item_id, item_kind } => {
                self.show(Some(seq), item_id, item_kind, body)
            }
            RowEvent::QuestionAsked { .. }
            | RowEvent::QuestionResolved { .. }
            | RowEvent::SteerAccepted { .. } => std::mem::replace(&mut self.note_seq, seq),
            RowEvent::SteerSettled { .. } | RowEvent::Terminal { .. } => Seq::ZERO,
        };
        Applied { base_seq, is_new: true }
    }

    /// Applies an event that has no row and never will (JRN-06, SES-42).
    pub fn apply_degraded(&mut self, event: RowEvent, body: &str) {
        self.degraded = true;
        match event {
            RowEvent::Content { item_id, item_kind } => {
                self.show(None, item_id, item_kind, body);
            }
            RowEvent::QuestionAsked { .. }
            | RowEvent::QuestionResolved { .. }
            | RowEvent::SteerAccepted { .. }
            | RowEvent::SteerSettled { .. }
            | RowEvent::Terminal { .. } => {}
        }
    }

    /// The items in the order of their first row (SES-49).
    pub fn items(&self) -> impl Iterator<Item = &SceneItem> {
        self.items.iter()
    }

    /// Number of the newest row applied.
    pub const fn last_seq(&self) -> Seq {
        self.last_seq
    }

    /// Whether some content has no row, so that the run is resumed from here only (JRN-06).
    pub const fn is_degraded(&self) -> bool {
        self.degraded
    }

    /// Items older than all that are held, dropped at the bound; a view of them is not complete.
    pub const fn items_dropped(&self) -> u64 {
        self.items_dropped
    }

    /// Bytes the items need in JSON form, never too few and at most
    /// [`SCENE_BYTES_MAX`](super::bounds::SCENE_BYTES_MAX).
    pub const fn json_bytes(&self) -> usize {
        self.json_bytes
    }

    /// Shows content and returns the number of the item's previous row.
    fn show(&mut self, seq: Option<Seq>, item_id: ItemId, item_kind: ItemKind, body: &str) -> Seq {
        let at = self.find_or_add(item_id, item_kind);
        let item = &mut self.items[at];
        let before = item.json_bytes;
        let base_seq = item.row_seq;
        match seq {
            Some(seq) => {
                item.row_seq = seq;
                item.last_seq = seq;
            }
            None => item.degraded = true,
        }
        item.take(item_kind, body);
        let total = self.json_bytes - before + item.json_bytes;
        self.json_bytes = leave_out(&mut self.items, total);
        base_seq
    }

    fn find_or_add(&mut self, item_id: ItemId, item_kind: ItemKind) -> usize {
        if let Some(at) = self.items.iter().rposition(|item| item.item_id == item_id) {
            return at;
        }
        if self.items.len() >= ITEMS_MAX
            && let Some(oldest) = self.items.pop_front()
        {
            self.json_bytes -= ITEM_HEAD_BYTES + oldest.json_bytes;
            self.items_dropped += 1;
        }
        self.items.push_back(SceneItem::new(item_id, item_kind, self.last_seq));
        self.json_bytes += ITEM_HEAD_BYTES;
        self.items.len() - 1
    }
}

impl SceneItem {
    fn new(item_id: ItemId, item_kind: ItemKind, first_seq: Seq) -> Self {
        let empty = String::new();
        Self {
            item_id,
            item_kind,
            first_seq,
            last_seq: first_seq,
            degraded: false,
            content: if item_kind.is_text() { Content::Text(empty) } else { Content::Value(empty) },
            row_seq: Seq::ZERO,
            json_bytes: 0,
        }
    }

    /// Text is appended, also when what came before is left out; a value replaces the one before.
    fn take(&mut self, item_kind: ItemKind, body: &str) {
        self.item_kind = item_kind;
        if !item_kind.is_text() {
            self.content = Content::Value(body.to_owned());
            self.json_bytes = body.len();
            return;
        }
        match &mut self.content {
            Content::Text(text) => {
                text.push_str(body);
                self.json_bytes += json_text_bytes(body);
            }
            Content::LeftOut { .. } => {
                let total_bytes = bytes_of(&self.content) + body.len() as u64;
                self.content = Content::LeftOut { total_bytes };
            }
            Content::Value(_) => {
                self.content = Content::Text(body.to_owned());
                self.json_bytes = json_text_bytes(body);
            }
        }
    }
}
