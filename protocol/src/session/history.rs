//! Pages of history: which rows a page holds and how the next older one is named (family HIS).
//!
//! A stored row has no caller, so each is a group of its own and positions count groups and rows alike.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::cursor::{CursorError, PageCursor, Snapshot};
use super::project::{int, json_bytes, pending_row, row, summary};
use super::record::{SessionHead, StoredRow};
use crate::ids::{MessageId, SessionId, StoreId};
use crate::wire::frames::HistoryPage;
use crate::wire::limits::{GROUP_ALONE_BYTES_MAX, PAGE_BYTES_MAX, PAGE_GROUPS_MAX};
use crate::wire::structures::{DetailField, Marker, Row};

/// Bytes of a page beside its rows: ids, cursors, numbers and an echoed request id of any kind.
const PAGE_HEAD_BYTES: usize = 2_048;

/// Most bytes of a row that stands alone: its page must fit the largest frame there is without
/// fragments.
pub(super) const ROW_ALONE_BYTES_MAX: usize = GROUP_ALONE_BYTES_MAX - PAGE_HEAD_BYTES;

/// Rows of one state of a session, as the store reads them.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The store.
    pub store_id: StoreId,
    /// The head of the session in the same state.
    pub head: &'a SessionHead,
    /// Rows up to the end of the page, oldest first.
    pub rows: &'a [StoredRow],
    /// Position of the first one.
    pub start: u64,
    /// Settled rows in all.
    pub total: u64,
}

/// A page, newest rows of its window first chosen, oldest first in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The captured transcript it is of.
    pub snapshot: Snapshot,
    /// Revision it was read at.
    pub session_revision: i64,
    /// Rows, oldest first.
    pub rows: Vec<Row>,
    /// Position of the first row.
    pub start: u64,
    /// Position after the last row.
    pub end: u64,
    /// Rows of the captured transcript.
    pub total: u64,
    /// Where older rows end; `None` at the root.
    pub before: Option<PageCursor>,
}

/// What a request for an older page names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Older {
    /// Where the page ends; read rows before this position.
    pub cursor: PageCursor,
    /// The transcript it is to be of, where the client named one.
    pub snapshot: Option<Snapshot>,
}

impl Older {
    /// Reads the cursor and token of a request. Each error is answered `cursor_unavailable` (HIS-10).
    ///
    /// # Errors
    /// [`CursorError`] when a text is not one of this store and session, or the two disagree.
    pub fn parse(
        before: &str,
        snapshot: Option<&str>,
        store_id: StoreId,
        session_id: SessionId,
    ) -> Result<Self, CursorError> {
        let cursor = PageCursor::parse(before)?;
        let snapshot = snapshot.map(Snapshot::parse).transpose()?;
        let names = [Some((cursor.store_id, cursor.session_id))]
            .into_iter()
            .chain([snapshot.map(|snapshot| (snapshot.store_id, snapshot.session_id))]);
        for (store, session) in names.flatten() {
            if store != store_id {
                return Err(CursorError::OtherStore);
            }
            if session != session_id {
                return Err(CursorError::OtherSession);
            }
        }
        if cursor.before == 0 || snapshot.is_some_and(|snapshot| cursor.before > snapshot.length) {
            return Err(CursorError::Gone);
        }
        Ok(Self { cursor, snapshot })
    }
}

/// The newest page, with the pending turn as its last row, under a new snapshot (HIS-6).
pub fn latest(source: Source<'_>) -> Page {
    let snapshot = capture(source);
    let pending = source.head.pending.as_ref().map(|turn| pending_row(turn, source.head));
    build(source, snapshot, pending)
}

/// The page that ends before a cursor, of the transcript its snapshot captured (HIS-5).
///
/// # Errors
/// [`CursorError::Gone`] when the row the cursor names is not at its place any more (HIS-9).
pub fn before(source: Source<'_>, older: Older) -> Result<Page, CursorError> {
    let end = source.start.saturating_add(source.rows.len() as u64);
    let newest = source.rows.last().map(|row| row.message_id);
    let is_there = end == older.cursor.before && newest == Some(older.cursor.newest_id);
    let captured = older.snapshot.unwrap_or_else(|| capture(source));
    if !is_there || captured.length > source.total {
        return Err(CursorError::Gone);
    }
    Ok(build(source, captured, None))
}

impl Page {
    /// The reply frame. Newer pages are read with `latest`.
    pub fn into_frame(self, request_id: Option<String>, generation: i64) -> HistoryPage {
        HistoryPage {
            request_id,
            session_id: self.snapshot.session_id.to_string(),
            generation,
            head_id: self.snapshot.head_id.map(|id| id.to_string()),
            snapshot: Some(self.snapshot.encode()),
            session_revision: self.session_revision,
            rows: self.rows,
            start: int(self.start),
            end: int(self.end),
            total: int(self.total),
            before: self.before.map(PageCursor::encode),
            after: None,
        }
    }
}

fn capture(source: Source<'_>) -> Snapshot {
    Snapshot {
        store_id: source.store_id,
        session_id: source.head.session_id,
        length: source.total,
        pending: source.head.pending.is_some(),
        head_id: source.head.head_id,
    }
}

fn build(source: Source<'_>, snapshot: Snapshot, pending: Option<Row>) -> Page {
    let mut rows = VecDeque::new();
    let mut bytes = PAGE_HEAD_BYTES;
    let has_pending = pending.is_some();
    if let Some(pending) = pending {
        admit(&mut rows, &mut bytes, pending);
    }
    let mut kept: u64 = 0;
    let mut newest_left: Option<MessageId> = source.head.head_id.filter(|_| has_pending);
    for stored in source.rows.iter().rev() {
        if !admit(&mut rows, &mut bytes, row(stored, source.head)) {
            break;
        }
        kept += 1;
        newest_left = stored.predecessor;
    }
    let settled_end = source.start.saturating_add(source.rows.len() as u64);
    let start = settled_end.saturating_sub(kept);
    Page {
        snapshot,
        session_revision: int(source.head.revision.get()),
        start,
        end: settled_end + u64::from(has_pending),
        total: snapshot.length + u64::from(snapshot.pending),
        before: newest_left.filter(|_| start > 0).map(|newest_id| PageCursor {
            store_id: source.store_id,
            session_id: source.head.session_id,
            before: start,
            newest_id,
        }),
        rows: rows.into(),
    }
}

/// Puts a row in front of a page unless a bound is reached (HIS-1). The first one always goes in: alone and
/// complete up to 1 MiB (HIS-3), with markers above (HIS-4).
fn admit(rows: &mut VecDeque<Row>, bytes: &mut usize, mut row: Row) -> bool {
    let row_bytes = json_bytes(&row);
    let sum = bytes.saturating_add(row_bytes).saturating_add(1);
    if !rows.is_empty() && (rows.len() == PAGE_GROUPS_MAX || sum > PAGE_BYTES_MAX) {
        return false;
    }
    if row_bytes > ROW_ALONE_BYTES_MAX {
        shrink(&mut row, row_bytes);
    }
    *bytes = sum;
    rows.push_front(row);
    true
}

/// Replaces parts of a row by markers, the largest first and the earlier at a tie, until it fits (HIS-4).
fn shrink(row: &mut Row, row_bytes: usize) {
    /// A part of fewer bytes is not smaller as a marker.
    const PART_BYTES_MIN: usize = 4_096;
    let mut bytes = row_bytes;
    let mut parts: Vec<(usize, Part)> = parts(row);
    parts.sort_by_key(|&(part_bytes, part)| (std::cmp::Reverse(part_bytes), part));
    for (part_bytes, part) in parts {
        if bytes <= ROW_ALONE_BYTES_MAX || part_bytes < PART_BYTES_MIN {
            break;
        }
        let added = replace(row, part);
        bytes = bytes.saturating_sub(part_bytes).saturating_add(added);
    }
    if bytes > ROW_ALONE_BYTES_MAX {
        drop_items(row, bytes - ROW_ALONE_BYTES_MAX);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Body,
    Item(usize),
}

const ITEMS: &str = "items";
const ITEM_CONTENT: [&str; 2] = ["text", "value"];

fn parts(row: &Row) -> Vec<(usize, Part)> {
    let body = row.body.iter().map(|body| (json_bytes(body), Part::Body));
    let items = row.extra.get(ITEMS).and_then(Value::as_array).into_iter().flatten();
    let items = items.enumerate().filter_map(|(index, item)| {
        let content = ITEM_CONTENT.into_iter().find_map(|name| item.get(name))?;
        Some((json_bytes(content), Part::Item(index)))
    });
    body.chain(items).collect()
}

/// Puts a marker in the place of a part and returns the most bytes that adds.
fn replace(row: &mut Row, part: Part) -> usize {
    /// Bytes by which the name of a field may grow.
    const NAME_BYTES: usize = 16;
    let content_revision = row.content_revision;
    match part {
        Part::Body => {
            let Some(body) = row.body.take() else { return 0 };
            row.summary = Some(summary(&body));
            row.detail = Some(Marker {
                node_id: row.message_id.clone(),
                field: DetailField::Body,
                total_bytes: int(body.len() as u64),
                content_revision,
            });
            NAME_BYTES + json_bytes(&row.summary) + json_bytes(&row.detail)
        }
        Part::Item(index) => {
            let item = row.extra.get_mut(ITEMS).and_then(|items| items.get_mut(index));
            let Some(Value::Object(item)) = item else { return 0 };
            let node_id = item.get("item_id").and_then(Value::as_str).unwrap_or_default();
            let node_id = node_id.to_owned();
            let mut added = 0;
            for name in ITEM_CONTENT {
                let Some(content) = item.remove(name) else { continue };
                let total = content.as_str().map_or_else(|| json_bytes(&content), str::len);
                let marker = Marker {
                    node_id: node_id.clone(),
                    field: DetailField::Item,
                    total_bytes: int(total as u64),
                    content_revision,
                };
                added += NAME_BYTES + json_bytes(&marker);
                item.insert("marker".to_owned(), json!(marker));
            }
            added
        }
    }
}

/// Leaves out the newest items whose headers alone are too many, behind one marker (HIS-4).
fn drop_items(row: &mut Row, excess: usize) {
    /// Bytes of the marker that stands for the items left out.
    const MARKER_BYTES: usize = 256;
    let Some(Value::Array(items)) = row.extra.get_mut(ITEMS) else { return };
    let mut freed = 0;
    let mut dropped = 0_usize;
    while freed < excess.saturating_add(MARKER_BYTES) {
        let Some(item) = items.pop() else { break };
        freed += json_bytes(&item) + 1;
        dropped += 1;
    }
    let marker = Marker {
        node_id: row.message_id.clone(),
        field: DetailField::Descendants,
        total_bytes: int(freed as u64),
        content_revision: row.content_revision,
    };
    row.extra.insert("items_left_out".to_owned(), json!({ "count": dropped, "marker": marker }));
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
