//! Frames as they are shared between connections: encoded once, with what the sender queue needs to
//! know (SND-31).

use std::sync::Arc;

use async_tungstenite::tungstenite::Utf8Bytes;
use runwarden_protocol::delivery::frame::{FrameKey, Parts, QueuedFrame, TerminalRole};
use runwarden_protocol::ids::{PayloadId, PayloadRef, SessionId};
use runwarden_protocol::json_bytes::json_text_bytes;
use runwarden_protocol::wire::frames::{Frame, StreamNote, StreamTerminal, StreamText};

/// The body of a frame, shared by every queue that holds it.
#[derive(Debug)]
pub enum Body {
    /// The whole frame.
    Whole(Utf8Bytes),
    /// A `stream_terminal`, once for each value of `complete`.
    Terminal {
        /// With `complete` true.
        complete: Utf8Bytes,
        /// With `complete` false.
        incomplete: Utf8Bytes,
    },
    /// Text that may be merged with what follows it.
    Text {
        /// The frame as it is.
        whole: Utf8Bytes,
        /// What to merge.
        frame: StreamText,
    },
    /// Notes that may be merged with what follows them.
    Note {
        /// The frame as it is.
        whole: Utf8Bytes,
        /// What to merge.
        frame: StreamNote,
    },
}

/// A frame to offer to any number of queues.
#[derive(Clone, Debug)]
pub struct SharedFrame {
    /// What the queue sees.
    pub queued: QueuedFrame,
    /// The bytes, by the id that `queued` names.
    pub body: Arc<Body>,
}

impl SharedFrame {
    /// A frame that is sent as it is.
    pub fn whole(id: PayloadId, key: FrameKey, frame: &Frame) -> Self {
        let text = frame.to_text();
        let part = PayloadRef { id, json_bytes: bytes_u32(text.len()) };
        let queued = QueuedFrame::new(key, 0, Parts::One(part));
        Self { queued, body: Arc::new(Body::Whole(text.into())) }
    }

    /// The answer to an action.
    pub fn reply(id: PayloadId, session: Option<SessionId>, frame: &Frame) -> Self {
        Self::whole(id, FrameKey::Terminal { session, role: TerminalRole::Reply }, frame)
    }

    /// A push that must arrive.
    pub fn push(id: PayloadId, session: Option<SessionId>, frame: &Frame) -> Self {
        Self::whole(id, FrameKey::Terminal { session, role: TerminalRole::Push }, frame)
    }

    /// The same frame with a version (newest wins).
    #[must_use]
    pub fn with_version(mut self, version: u64) -> Self {
        self.queued = self.queued.with_version(version);
        self
    }

    /// The end of an entity.
    pub fn terminal(id: PayloadId, key: FrameKey, mut frame: StreamTerminal) -> Self {
        frame.terminal.complete = true;
        let complete: Utf8Bytes = Frame::StreamTerminal(Box::new(frame.clone())).to_text().into();
        frame.terminal.complete = false;
        let incomplete: Utf8Bytes = Frame::StreamTerminal(Box::new(frame)).to_text().into();
        let part = PayloadRef { id, json_bytes: bytes_u32(incomplete.len()) };
        let queued = QueuedFrame::new(key, 0, Parts::One(part));
        Self { queued, body: Arc::new(Body::Terminal { complete, incomplete }) }
    }

    /// Text of one row.
    pub fn text(id: PayloadId, key: FrameKey, frame: StreamText) -> Self {
        let whole = Frame::StreamText(frame.clone()).to_text();
        let (begin, end) = (number(frame.base_seq), number(frame.stream_seq));
        let json_bytes = bytes_u32(json_text_bytes(&frame.text));
        let queued = mergeable(id, key, begin, end, json_bytes, whole.len());
        Self { queued, body: Arc::new(Body::Text { whole: whole.into(), frame }) }
    }

    /// A row that shows nothing.
    pub fn note(id: PayloadId, key: FrameKey, frame: StreamNote) -> Self {
        let whole = Frame::StreamNote(frame.clone()).to_text();
        let (begin, end) = (number(Some(frame.base_seq)), number(Some(frame.stream_seq)));
        let quoted = frame.names.iter().map(|name| json_text_bytes(name) + 2).sum();
        let queued = mergeable(id, key, begin, end, bytes_u32(quoted), whole.len());
        Self { queued, body: Arc::new(Body::Note { whole: whole.into(), frame }) }
    }
}

/// The text of a frame that a queue gave out: as it was offered, or merged from its bodies.
pub fn encode(frame: &QueuedFrame, bodies: &[Arc<Body>]) -> Utf8Bytes {
    let Some(first) = bodies.first() else { return Utf8Bytes::default() };
    match &**first {
        Body::Whole(text) => text.clone(),
        Body::Terminal { complete, incomplete } => {
            if frame.complete {
                complete.clone()
            } else {
                incomplete.clone()
            }
        }
        Body::Text { whole, .. } | Body::Note { whole, .. } if bodies.len() == 1 => whole.clone(),
        Body::Text { frame: first, .. } => merge_text(first, bodies),
        Body::Note { frame: first, .. } => merge_notes(first, bodies),
    }
}

fn merge_text(first: &StreamText, bodies: &[Arc<Body>]) -> Utf8Bytes {
    let mut merged = StreamText { text: String::new(), ..first.clone() };
    for body in bodies {
        if let Body::Text { frame, .. } = &**body {
            merged.text.push_str(&frame.text);
            merged.stream_seq = frame.stream_seq;
        }
    }
    Frame::StreamText(merged).to_text().into()
}

fn merge_notes(first: &StreamNote, bodies: &[Arc<Body>]) -> Utf8Bytes {
    let mut merged = StreamNote { names: Vec::new(), ..first.clone() };
    for body in bodies {
        if let Body::Note { frame, .. } = &**body {
            merged.names.extend(frame.names.iter().cloned());
            merged.stream_seq = frame.stream_seq;
        }
    }
    Frame::StreamNote(merged).to_text().into()
}

fn mergeable(
    id: PayloadId,
    key: FrameKey,
    begin: Option<u64>,
    end: Option<u64>,
    json_bytes: u32,
    whole_bytes: usize,
) -> QueuedFrame {
    let part = PayloadRef { id, json_bytes };
    let bare = QueuedFrame::new(key, 0, Parts::One(part)).with_range(begin, end);
    let overhead_bytes = bytes_u32(whole_bytes - bare.bytes());
    QueuedFrame { overhead_bytes, version: end.unwrap_or(0), ..bare }
}

fn number(number: Option<i64>) -> Option<u64> {
    number.and_then(|number| u64::try_from(number).ok())
}

fn bytes_u32(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use runwarden_protocol::delivery::frame::EntityId;
    use runwarden_protocol::ids::{ItemId, RunId};
    use runwarden_protocol::wire::frames::TextKind;

    fn text(id: u64, base: i64, seq: i64, text: &str) -> SharedFrame {
        let (session, run, item) = (SessionId::new(1), RunId::new(1), ItemId::new(1));
        let key = FrameKey::StreamText { session, entity: EntityId::Run(run), item };
        let frame = StreamText {
            session_id: session.to_string(),
            entity_id: run.to_string(),
            item_id: item.to_string(),
            item_kind: TextKind::Text,
            base_seq: Some(base),
            stream_seq: Some(seq),
            replay_degraded: false,
            text: text.to_owned(),
        };
        SharedFrame::text(PayloadId::new(id), key, frame)
    }

    #[test]
    fn the_queue_counts_exactly_the_bytes_that_are_sent() {
        for (base, seq, words) in [(0, 1, "a"), (9, 10, "\"\\\n\u{1}ü€😀"), (99, 1_000_000, "")]
        {
            let shared = text(1, base, seq, words);
            let sent = encode(&shared.queued, std::slice::from_ref(&shared.body));
            assert_eq!(shared.queued.bytes(), sent.len(), "{words:?}");
        }
    }

    #[test]
    fn merged_text_keeps_the_first_begin_and_the_last_end() {
        let (first, second) = (text(1, 0, 9, "one "), text(2, 9, 10, "two \"2\""));
        let sent = encode(&first.queued, &[first.body.clone(), second.body.clone()]);
        let Frame::StreamText(merged) = serde_json::from_str(sent.as_str()).unwrap() else {
            panic!()
        };
        assert_eq!((merged.base_seq, merged.stream_seq), (Some(0), Some(10)));
        assert_eq!(merged.text, "one two \"2\"");
    }
}
