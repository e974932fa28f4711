//! Gaps, replies of other generations, reads, and live content in any order of arrival.

use proptest::prelude::*;

use super::*;
use crate::session::project::{Live as Doing, ManifestParts, manifest};
use crate::wire::frames::{
    Frame, HistoryPage, QueueList, SessionDelta, SessionManifest, SessionResume, StreamState,
    StreamText, SyncReason, SyncRequired, TextKind,
};
use crate::wire::structures::{
    EntityStatus, Item, ItemKind, NumberedFrame, Op, Replay, ReplayState, ResumeMode,
    SessionFields, SessionStatus, StreamResume,
};

const SESSION: &str = "ses_0000000000000001";
const RUN: &str = "run_0000000000000001";

fn opened(generation: i64, revision: u64) -> Frame {
    let mut head = crate::session::record::SessionHead {
        revision: crate::ids::Revision::new(revision),
        ..serde_json::from_value(serde_json::json!({
            "session_id": SESSION, "owner": "pri_0000000000000001", "title": "", "revision": 0,
            "transcript_generation": 0, "transcript_generation_baseline": 0, "agent": "a", "model": null,
            "archived": false, "shared": false, "created_at": 0, "activity_at": 0, "message_count": 0,
            "head_id": null, "pending": null, "usage": {}, "queue_length": 0, "queue_held": null,
        }))
        .expect("a head")
    };
    head.title = format!("at {revision}");
    let live = Doing { status: SessionStatus::Idle, run: None };
    let manifest = manifest(&head, live, ManifestParts { generation, ..Default::default() });
    Frame::SessionManifest(Box::new(SessionManifest { request_id: None, manifest, recovery: None }))
}

fn page(generation: i64, session_revision: i64) -> Frame {
    Frame::HistoryPage(Box::new(HistoryPage {
        request_id: None,
        session_id: SESSION.to_owned(),
        generation,
        head_id: None,
        snapshot: None,
        session_revision,
        rows: vec![],
        start: 0,
        end: 0,
        total: 0,
        before: None,
        after: None,
    }))
}

fn queue(session_revision: i64) -> Frame {
    let (session_id, request_id) = (SESSION.to_owned(), None);
    Frame::QueueList(QueueList {
        request_id,
        session_id,
        session_revision,
        held: None,
        entries: vec![],
    })
}

fn delta(from_revision: i64, to_revision: i64, ops: Vec<Op>) -> Frame {
    let session_id = SESSION.to_owned();
    Frame::SessionDelta(SessionDelta { session_id, from_revision, to_revision, ops })
}

fn title(title: &str) -> Op {
    let title = Some(title.to_owned());
    Op::Fields(Box::new(SessionFields { title, ..SessionFields::default() }))
}

fn text(item: &str, base: i64, seq: Option<i64>, text: &str) -> NumberedFrame {
    NumberedFrame::StreamText(StreamText {
        session_id: SESSION.to_owned(),
        entity_id: RUN.to_owned(),
        item_id: item.to_owned(),
        item_kind: TextKind::Text,
        base_seq: seq.map(|_| base),
        stream_seq: seq,
        replay_degraded: seq.is_none(),
        text: text.to_owned(),
    })
}

fn pushed(frame: &NumberedFrame) -> Frame {
    let NumberedFrame::StreamText(text) = frame else { panic!() };
    Frame::StreamText(text.clone())
}

fn resume(generation: i64, from: i64, to: i64, ops: Vec<Op>, streams: Vec<StreamResume>) -> Frame {
    Frame::SessionResume(Box::new(SessionResume {
        request_id: None,
        session_id: SESSION.to_owned(),
        generation,
        from_revision: from,
        session_revision: to,
        ops,
        streams,
        open_error_ids: vec![],
        open_questions: vec![],
    }))
}

fn stream(mode: ResumeMode, deltas: Vec<NumberedFrame>) -> StreamResume {
    StreamResume {
        entity_id: RUN.to_owned(),
        mode,
        replay: Replay { state: ReplayState::Complete, reason: None },
        from_seq: 0,
        stream_seq: None,
        deltas,
        terminal: None,
    }
}

fn state(seq: i64, text: &str) -> Frame {
    let item = Item {
        item_id: "i".to_owned(),
        item_kind: ItemKind::Text,
        first_seq: 1,
        last_seq: seq,
        text: Some(text.to_owned()),
        value: None,
        marker: None,
    };
    Frame::StreamState(Box::new(StreamState {
        request_id: None,
        generation: None,
        session_id: SESSION.to_owned(),
        entity_id: RUN.to_owned(),
        status: EntityStatus::Running,
        phase: None,
        replay: Replay { state: ReplayState::Complete, reason: None },
        stream_seq: seq,
        session_revision: 1,
        from_seq: None,
        items: Some(vec![item]),
        deltas: None,
        steers: vec![],
    }))
}

/// A client that shows revision 4 and waits for nothing.
fn ready() -> Projection {
    let mut client = Projection::new(SESSION);
    assert_eq!(client.connected("s"), [Effect::Open { generation: 1, known: None }]);
    assert_eq!(client.frame(&delta(4, 5, vec![title("early")])), []);
    client.frame(&opened(1, 4));
    client.frame(&page(1, 4));
    client.frame(&queue(4));
    assert!(client.is_settled() && client.view.title == "at 4");
    client
}

/// Reconnects; the generation of the open.
fn again(client: &mut Projection) -> i64 {
    client.disconnected();
    match client.connected("s").as_slice() {
        [Effect::Open { generation, known: Some(_) }] => *generation,
        other => panic!("{other:?}"),
    }
}

/// SES-28 [unit]: a reply of another open generation changes nothing, whatever it is.
#[test]
fn replies_of_another_generation_are_discarded() {
    let mut client = ready();
    let generation = again(&mut client);
    assert_eq!(generation, 2);
    let before = client.view.clone();
    for stale in [opened(1, 9), resume(1, 4, 9, vec![title("stale")], vec![]), page(1, 9)] {
        assert_eq!(client.frame(&stale), []);
        assert_eq!((&client.view, client.state()), (&before, State::Resuming));
    }
    client.frame(&resume(2, 4, 9, vec![title("fresh")], vec![]));
    assert_eq!((client.view.title.as_str(), client.view.revision), ("fresh", 9));
    assert_eq!(client.manifests(), 1, "a resume reads nothing anew");
}

/// SES-29 [property]: while a page is read, any number of invalidations cause one further read.
#[test]
fn invalidations_share_one_read() {
    for invalidations in 0..4 {
        let mut client = ready();
        let drop_rows = |at| delta(at, at + 1, vec![Op::RowsInvalidated { from_row: None }]);
        let read = [Effect::ReadLatest { generation: 1 }];
        assert_eq!(client.frame(&drop_rows(4)), read);
        for n in 0..invalidations {
            assert_eq!(client.frame(&drop_rows(5 + n)), []);
        }
        let again = client.frame(&page(1, 5));
        assert_eq!(again, &read[..usize::from(invalidations > 0)], "{invalidations}");
        if invalidations > 0 {
            assert_eq!(client.frame(&page(1, 9)), []);
        }
        assert!(client.is_settled());
    }
}

/// Known seqs follow what was applied: not a frame behind a gap, nor one without a number.
#[test]
fn known_seqs_are_of_what_was_applied() {
    let mut client = ready();
    let seq = |client: &Projection| client.known().stream_seqs.get(RUN).copied();
    client.frame(&pushed(&text("i", 0, Some(1), "a")));
    assert_eq!(seq(&client), Some(1));
    client.frame(&pushed(&text("i", 0, None, "?")));
    assert_eq!(seq(&client), Some(1));
    let fetch = Effect::GetStream { generation: 1, entity_id: RUN.to_owned(), known_seq: Some(1) };
    assert_eq!(client.frame(&pushed(&text("i", 2, Some(3), "c"))), [fetch]);
    assert_eq!(seq(&client), Some(1));
    client.frame(&state(3, "abc"));
    assert_eq!(
        (seq(&client), client.view.live[RUN].items[0].text.as_deref()),
        (Some(3), Some("abc"))
    );
}

/// A gap of the session makes the client ask again from where it stands.
#[test]
fn a_session_gap_is_asked_for() {
    let entity =
        SyncRequired { session_id: SESSION.to_owned(), entity_id: None, reason: SyncReason::Gap };
    for gap in [delta(5, 6, vec![]), delta(3, 5, vec![]), Frame::SyncRequired(entity)] {
        let mut client = ready();
        let asked = client.frame(&gap);
        assert!(
            matches!(asked.as_slice(), [Effect::Open { generation: 2, known: Some(known) }]
                if known.session_revision == 4),
            "{asked:?}"
        );
        assert_eq!(client.frame(&delta(4, 5, vec![title("behind the ask")])), []);
        assert_eq!(client.view.revision, 4);
    }
}

/// SES-33 [unit]: an end told by a resume takes the live content away and asks for nothing.
#[test]
fn an_end_that_was_missed_reads_nothing() {
    let mut client = ready();
    client.frame(&pushed(&text("i", 0, Some(1), "a")));
    let generation = again(&mut client);
    let ended = resume(generation, 4, 6, vec![], vec![stream(ResumeMode::Terminal, vec![])]);
    assert_eq!(client.frame(&ended), []);
    assert!(client.view.live.is_empty() && client.is_settled());
    assert_eq!(client.frame(&pushed(&text("i", 1, Some(2), "late"))), []);
    assert!(client.view.live.is_empty());
}

/// SES-30 [unit]: a page that is older than what was applied meanwhile takes nothing of it away.
#[test]
fn a_page_keeps_what_came_while_it_was_read() {
    let mut client = ready();
    client.frame(&delta(4, 5, vec![Op::RowsInvalidated { from_row: None }]));
    let row: crate::wire::structures::Row = serde_json::from_value(serde_json::json!({
        "message_id": "m", "group_root": "m", "role": "user", "created_at": 0, "predecessor": null,
        "caller": null, "status": "completed", "content_revision": 6, "session_revision": 6, "body": "x",
        "summary": null, "detail": null, "tool_result": null, "attachments": [], "agent": null,
        "model": null, "usage": null, "refs": [], "extra": {},
    }))
    .unwrap();
    client.frame(&delta(5, 6, vec![Op::RowAdded { row: Box::new(row) }]));
    client.frame(&page(1, 5));
    assert_eq!(client.view.rows.len(), 1);
    client.frame(&delta(6, 7, vec![Op::RowsInvalidated { from_row: None }]));
    client.frame(&page(1, 7));
    assert_eq!(client.view.rows.len(), 0, "a page that knows of it counts");
}

/// A read that a lost connection took with it is done again.
#[test]
fn a_read_that_was_lost_is_done_again() {
    let mut client = ready();
    client.frame(&delta(4, 5, vec![Op::RowsInvalidated { from_row: None }]));
    let generation = again(&mut client);
    let effects = client.frame(&resume(generation, 5, 5, vec![], vec![]));
    assert_eq!(effects, [Effect::ReadLatest { generation }]);
}

/// The rows of a run with two items.
fn rows() -> Vec<NumberedFrame> {
    let (mut last, mut rows) = ([0, 0], Vec::new());
    for seq in 1..=8_i64 {
        let item = usize::from(seq % 3 == 0);
        rows.push(text(["i", "j"][item], last[item], Some(seq), &seq.to_string()));
        last[item] = seq;
    }
    rows
}

proptest! {
    /// SES-32 [property], SES-49 [property]: cut anywhere and told the rest by frames, by a resume or by the whole
    /// content, a client shows the same items in the same order.
    #[test]
    fn every_way_shows_the_same(cut in 0usize..9, way in 0u8..3, again_from in 0usize..9) {
        let rows = rows();
        let mut whole = ready();
        for row in &rows {
            whole.frame(&pushed(row));
        }
        let mut client = ready();
        for row in &rows[..cut] {
            client.frame(&pushed(row));
        }
        match way {
            0 => {
                for row in &rows[again_from.min(cut)..] {
                    client.frame(&pushed(row));
                }
            }
            1 => {
                let generation = again(&mut client);
                let missed = stream(ResumeMode::Deltas, rows[again_from.min(cut)..].to_vec());
                client.frame(&resume(generation, 4, 4, vec![], vec![missed]));
            }
            _ => {
                let generation = again(&mut client);
                let fetch = stream(ResumeMode::Fetch, vec![]);
                client.frame(&resume(generation, 4, 4, vec![], vec![fetch]));
                for row in &rows[cut..] {
                    client.frame(&pushed(row));
                }
                let items = whole.view.live[RUN].items.clone();
                let Frame::StreamState(mut told) = state(8, "") else { panic!() };
                told.items = Some(items);
                client.frame(&Frame::StreamState(told));
            }
        }
        prop_assert_eq!(&client.view.live, &whole.view.live);
        let order: Vec<_> = client.view.live[RUN].items.iter().map(|item| item.first_seq).collect();
        prop_assert_eq!(order, [1, 3]);
    }
}
