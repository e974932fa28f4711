//! The frame of a row: each is published in exactly one, numbered as the row is (JRN-19).

use runwarden_protocol::delivery::frame::{EntityId, FrameKey};
use runwarden_protocol::ids::{ItemId, PayloadId, RunId, SessionId};
use runwarden_protocol::journal::row::{ItemKind, RowEvent};
use runwarden_protocol::run::steer::SettledSteer;
use runwarden_protocol::session::project::int;
use runwarden_protocol::wire::JsonObject;
use runwarden_protocol::wire::frames::{
    Frame, SteerSettled, StreamNote, StreamText, StreamUpdate, TextKind, UpdateItemKind, UpdateKind,
};
use runwarden_protocol::wire::structures::NumberedFrame;
use serde_json::Value;

use super::ports::clip_value;
use crate::frames::SharedFrame;

/// Bytes of a live value above which its frame shows a part of it (delta_bytes_max less the envelope).
const LIVE_VALUE_BYTES_MAX: usize = 3_072;

/// Where a live frame stands.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) session: SessionId,
    pub(super) run_id: RunId,
    /// The row of the same item, or of the notes, before it; 0 of the first.
    pub(super) base: Option<u64>,
    /// The row; none when it is not in the journal (JRN-06).
    pub(super) seq: Option<u64>,
}

/// The frame of a row; none of a terminal, which has its own, and of a note that is not in the journal.
pub(super) fn frame(
    id: PayloadId,
    place: Place,
    event: RowEvent,
    body: &str,
) -> Option<(SharedFrame, NumberedFrame)> {
    match event {
        RowEvent::Content { item_id, item_kind } => Some(match text_kind(item_kind) {
            Some(kind) => text(id, place, item_id, kind, body),
            None => update(id, place, item_id, item_kind, body),
        }),
        RowEvent::QuestionAsked { .. }
        | RowEvent::QuestionResolved { .. }
        | RowEvent::SteerAccepted { .. } => note(id, place, event.name()),
        RowEvent::SteerSettled { steer_id, fate } => {
            Some(settled(id, place, SettledSteer { steer_id, fate }))
        }
        RowEvent::Terminal { .. } => None,
    }
}

/// The frame of a steer that was settled.
pub(super) fn settled(
    id: PayloadId,
    place: Place,
    settled: SettledSteer,
) -> (SharedFrame, NumberedFrame) {
    let (session, entity) = (place.session, EntityId::Run(place.run_id));
    let SettledSteer { steer_id: steer, fate: outcome } = settled;
    let frame = SteerSettled {
        session_id: session.to_string(),
        entity_id: place.run_id.to_string(),
        steer_id: steer.to_string(),
        outcome,
        stream_seq: place.seq.map(int),
    };
    let key = FrameKey::SteerSettled { session, entity, steer };
    let whole = Frame::SteerSettled(frame.clone());
    (SharedFrame::whole(id, key, &whole), NumberedFrame::SteerSettled(frame))
}

/// The value of an item as a live frame shows it: an object within the entry limit (SES-15).
pub(super) fn live_value(body: &str) -> JsonObject {
    let mut value: Value = serde_json::from_str(body).unwrap_or(Value::Null);
    clip_value(&mut value, LIVE_VALUE_BYTES_MAX);
    match value {
        Value::Object(fields) => fields,
        other => JsonObject::from_iter([("value".to_owned(), other)]),
    }
}

fn text(
    id: PayloadId,
    place: Place,
    item: ItemId,
    item_kind: TextKind,
    text: &str,
) -> (SharedFrame, NumberedFrame) {
    let (session, entity) = (place.session, EntityId::Run(place.run_id));
    let frame = StreamText {
        session_id: session.to_string(),
        entity_id: place.run_id.to_string(),
        item_id: item.to_string(),
        item_kind,
        base_seq: place.base.map(int),
        stream_seq: place.seq.map(int),
        replay_degraded: place.seq.is_none(),
        text: text.to_owned(),
    };
    let key = FrameKey::StreamText { session, entity, item };
    let numbered = NumberedFrame::StreamText(frame.clone());
    (SharedFrame::text(id, key, frame), numbered)
}

fn update(
    id: PayloadId,
    place: Place,
    item: ItemId,
    kind: ItemKind,
    body: &str,
) -> (SharedFrame, NumberedFrame) {
    let (session, entity) = (place.session, EntityId::Run(place.run_id));
    let (item_kind, kind) = match kind {
        ItemKind::Compression => (UpdateItemKind::Compression, UpdateKind::Compression),
        ItemKind::Notice => (UpdateItemKind::Notice, UpdateKind::Notice),
        ItemKind::Tool | ItemKind::Text | ItemKind::Thinking | ItemKind::Interim => {
            (UpdateItemKind::Tool, UpdateKind::Tool)
        }
    };
    let frame = StreamUpdate {
        session_id: session.to_string(),
        entity_id: place.run_id.to_string(),
        item_id: item.to_string(),
        item_kind,
        kind,
        stream_seq: place.seq.map(int),
        replay_degraded: place.seq.is_none(),
        value: live_value(body),
    };
    let key = FrameKey::StreamUpdate { session, entity, item };
    let whole = Frame::StreamUpdate(frame.clone());
    let shared = SharedFrame::whole(id, key, &whole).with_version(place.seq.unwrap_or_default());
    (shared, NumberedFrame::StreamUpdate(frame))
}

fn note(id: PayloadId, place: Place, name: &str) -> Option<(SharedFrame, NumberedFrame)> {
    let (session, entity) = (place.session, EntityId::Run(place.run_id));
    let frame = StreamNote {
        session_id: session.to_string(),
        entity_id: place.run_id.to_string(),
        base_seq: int(place.base?),
        stream_seq: int(place.seq?),
        names: vec![name.to_owned()],
    };
    let key = FrameKey::StreamNote { session, entity };
    let numbered = NumberedFrame::StreamNote(frame.clone());
    Some((SharedFrame::note(id, key, frame), numbered))
}

const fn text_kind(kind: ItemKind) -> Option<TextKind> {
    match kind {
        ItemKind::Text => Some(TextKind::Text),
        ItemKind::Thinking => Some(TextKind::Thinking),
        ItemKind::Interim => Some(TextKind::Interim),
        ItemKind::Tool | ItemKind::Compression | ItemKind::Notice => None,
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
