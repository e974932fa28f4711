use proptest::prelude::*;

use super::*;
use crate::ids::{ItemId, Revision, RunId, Seq};
use crate::instant::Instant;
use crate::journal::row::{ItemKind, Outcome};
use crate::session::record::{PendingTurn, Role, StoredItem, Usage};

const STORE: StoreId = StoreId::new(3);
const SESSION: SessionId = SessionId::new(4);

struct Transcript {
    head: SessionHead,
    rows: Vec<StoredRow>,
}

impl Transcript {
    fn new(bodies: Vec<String>, pending: bool) -> Self {
        let mut transcript = Self { head: head(), rows: Vec::new() };
        for body in bodies {
            transcript.push(body);
        }
        if pending {
            transcript.head.pending = Some(pending_turn(1_000_000));
        }
        transcript
    }

    fn push(&mut self, body: String) {
        let message_id = MessageId::new(self.rows.len() as u64 + 1);
        self.rows.push(stored(message_id, self.head.head_id, body));
        self.head.head_id = Some(message_id);
        self.head.message_count = self.rows.len() as u64;
        self.head.revision = self.head.revision.plus(1);
    }

    /// What a store reads: at most 50 rows before a position.
    fn source(&self, before: Option<u64>) -> Source<'_> {
        let end = before.map_or(self.rows.len(), |before| before as usize);
        let start = end.saturating_sub(PAGE_GROUPS_MAX);
        Source {
            store_id: STORE,
            head: &self.head,
            rows: &self.rows[start..end],
            start: start as u64,
            total: self.rows.len() as u64,
        }
    }
}

fn head() -> SessionHead {
    SessionHead {
        session_id: SESSION,
        owner: crate::ids::PrincipalId::new(1),
        title: String::new(),
        revision: Revision::new(1),
        transcript_generation: 0,
        transcript_generation_baseline: 0,
        truncation_watermark: Revision::new(0),
        agent: "demo".to_owned(),
        model: None,
        archived: false,
        shared: false,
        created_at: Instant::ZERO,
        activity_at: Instant::ZERO,
        message_count: 0,
        head_id: None,
        pending: None,
        usage: Usage::default(),
        queue_length: 0,
        queue_held: None,
    }
}

fn pending_turn(turn: u64) -> PendingTurn {
    PendingTurn {
        turn_id: MessageId::new(turn),
        run_id: RunId::new(1),
        text: "pending".to_owned(),
        pending_started_at: Instant::ZERO,
        agent: "demo".to_owned(),
        model: None,
    }
}

fn stored(message_id: MessageId, predecessor: Option<MessageId>, body: String) -> StoredRow {
    StoredRow {
        message_id,
        role: Role::Assistant,
        status: Outcome::Completed,
        predecessor,
        created_at: Instant::ZERO,
        body: Some(body),
        run_id: RunId::new(1),
        agent: None,
        model: None,
        usage: None,
        items: Vec::new(),
        marker: None,
        reason: None,
        session_revision: Revision::new(1),
    }
}

fn frame_bytes(page: &Page) -> usize {
    json_bytes(&page.clone().into_frame(Some("r".repeat(128)), i64::MAX))
}

/// Reads every page; `between` may change the transcript before each older one.
fn walk(
    transcript: &mut Transcript,
    mut between: impl FnMut(&mut Transcript),
) -> (Vec<Page>, Vec<String>) {
    let mut pages = vec![latest(transcript.source(None))];
    while let Some(cursor) = pages.last().unwrap().before {
        between(transcript);
        let token = pages[0].snapshot.encode();
        let older = Older::parse(&cursor.encode(), Some(&token), STORE, SESSION).unwrap();
        pages.push(before(transcript.source(Some(older.cursor.before)), older).unwrap());
    }
    let ids = pages.iter().rev().flat_map(|page| &page.rows);
    let ids = ids.map(|row| row.message_id.clone()).collect();
    (pages, ids)
}

fn any_bodies() -> impl Strategy<Value = Vec<String>> {
    let length = prop_oneof![
        40 => 0..200_usize,
        8 => 10_000..60_000_usize,
        1 => 200_000..700_000_usize,
        1 => 1_000_000..1_200_000_usize,
    ];
    prop::collection::vec(length, 0..130)
        .prop_map(|lengths| lengths.into_iter().map(|length| "x".repeat(length)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// HIS-1 [property], HIS-2 [property], HIS-3 [property], HIS-5 [property], HIS-8 [property]: following the cursors gives
    /// every row of the captured transcript once while new rows arrive; each page is within its bounds or one row.
    #[test]
    fn cursors_give_every_captured_row_once(bodies in any_bodies(), pending: bool) {
        let lengths: Vec<usize> = bodies.iter().map(String::len).collect();
        let mut expected: Vec<String> =
            (1..=bodies.len() as u64).map(|id| MessageId::new(id).to_string()).collect();
        if pending {
            expected.push(MessageId::new(1_000_000).to_string());
        }
        let mut transcript = Transcript::new(bodies, pending);
        let (pages, ids) = walk(&mut transcript, |transcript| transcript.push("new".to_owned()));
        prop_assert_eq!(&ids, &expected);
        let mut end = expected.len() as u64;
        for page in &pages {
            prop_assert_eq!((page.end, page.total), (end, expected.len() as u64));
            prop_assert_eq!(page.end - page.start, page.rows.len() as u64);
            prop_assert!(!page.rows.is_empty() || expected.is_empty());
            prop_assert!(page.rows.len() <= PAGE_GROUPS_MAX);
            prop_assert!(page.rows.len() == 1 || frame_bytes(page) <= PAGE_BYTES_MAX);
            for row in &page.rows {
                let whole = json_bytes(row) <= ROW_ALONE_BYTES_MAX && row.body.is_some();
                let id: MessageId = row.message_id.parse().unwrap();
                let length = lengths.get(id.number() as usize - 1).copied().unwrap_or_default();
                // What a row holds beside its body decides the lengths next to the bound.
                if length.abs_diff(ROW_ALONE_BYTES_MAX) > 1_000 {
                    prop_assert_eq!(whole, length < ROW_ALONE_BYTES_MAX);
                }
            }
            end = page.start;
        }
        prop_assert_eq!(end, 0);
    }

    /// HIS-9 [property]: a cursor is resolved by the identity of its row; equal times do not matter, and a row that
    /// is gone or elsewhere is not replaced by another.
    #[test]
    fn a_cursor_is_resolved_by_its_row(length in 51..120_usize, other in any::<u64>()) {
        let transcript = Transcript::new(vec!["a".to_owned(); length], false);
        let page = latest(transcript.source(None));
        let cursor = page.before.unwrap();
        let resolved = |newest_id, position| {
            let cursor = PageCursor { newest_id, before: position, ..cursor };
            before(transcript.source(Some(position)), Older { cursor, snapshot: None }).is_ok()
        };
        prop_assert!(resolved(cursor.newest_id, cursor.before));
        prop_assert!(!resolved(cursor.newest_id, cursor.before - 1));
        let other = MessageId::new(other);
        prop_assert_eq!(resolved(other, cursor.before), other == cursor.newest_id);
    }

    /// HIS-4 [property]: a row above 1 MiB is alone and fits, its largest part replaced first, no smaller one needlessly.
    #[test]
    fn a_huge_row_is_cut_largest_part_first(
        body in 0..1_500_000_usize,
        texts in prop::collection::vec(0..700_000_usize, 0..5),
        headers in prop_oneof![4 => Just(0_usize), 1 => Just(14_000_usize)],
    ) {
        let mut transcript = Transcript::new(vec!["x".repeat(body)], false);
        let item = |(index, length): (usize, usize)| StoredItem {
            item_id: ItemId::new(index as u64),
            item_kind: ItemKind::Thinking,
            first_seq: Seq::new(1),
            last_seq: Seq::new(1),
            chars: None,
            text: Some("y".repeat(length)),
            value: None,
        };
        let lengths: Vec<usize> = texts.iter().copied().chain(vec![1; headers]).collect();
        transcript.rows[0].items = lengths.iter().copied().enumerate().map(item).collect();
        let whole = json_bytes(&row(&transcript.rows[0], &transcript.head));
        let page = latest(transcript.source(None));
        let shown = &page.rows[0];
        prop_assert!(json_bytes(shown) <= ROW_ALONE_BYTES_MAX);
        if whole <= ROW_ALONE_BYTES_MAX {
            prop_assert_eq!(shown, &row(&transcript.rows[0], &transcript.head));
            return Ok(());
        }
        let items = shown.extra["items"].as_array().unwrap();
        let kept = items.iter().enumerate().filter(|(_, item)| item.get("text").is_some());
        let kept = kept.map(|(index, _)| lengths[index]).chain(shown.body.as_ref().map(String::len));
        let cut = items.iter().enumerate().filter(|(_, item)| item.get("marker").is_some());
        let cut = cut.map(|(index, _)| lengths[index]).chain(shown.body.is_none().then_some(body));
        prop_assert!(kept.max() <= cut.clone().min() || cut.clone().next().is_none());
        prop_assert_eq!(shown.detail.is_some(), shown.body.is_none());
        prop_assert_eq!(items.len() == lengths.len(), !shown.extra.contains_key("items_left_out"));
    }
}

/// HIS-6 [unit]: a moved head gives a new token and new cursors.
#[test]
fn a_moved_head_is_a_new_snapshot() {
    let mut transcript = Transcript::new(vec!["a".to_owned(); 60], false);
    let first = latest(transcript.source(None));
    assert_eq!(latest(transcript.source(None)), first);
    transcript.push("b".to_owned());
    let second = latest(transcript.source(None));
    assert_ne!(first.snapshot.encode(), second.snapshot.encode());
    assert_ne!(first.before, second.before);
    transcript.head.pending = Some(pending_turn(99));
    assert_ne!(latest(transcript.source(None)).snapshot, second.snapshot);
}

/// HIS-10 [unit]: texts of another session or store, of no one, or of a longer transcript are unavailable.
#[test]
fn what_is_not_of_this_transcript_is_unavailable() {
    let transcript = Transcript::new(vec!["a".to_owned(); 60], false);
    let page = latest(transcript.source(None));
    let (cursor, token) = (page.before.unwrap().encode(), page.snapshot.encode());
    let parse = |cursor: &str, token: &str, store, session| {
        Older::parse(cursor, Some(token), StoreId::new(store), SessionId::new(session))
    };
    assert!(parse(&cursor, &token, 3, 4).is_ok());
    assert_eq!(parse(&cursor, &token, 9, 4), Err(CursorError::OtherStore));
    assert_eq!(parse(&cursor, &token, 3, 9), Err(CursorError::OtherSession));
    assert_eq!(parse("x", &token, 3, 4), Err(CursorError::Malformed));
    assert_eq!(parse(&cursor, "x", 3, 4), Err(CursorError::Malformed));
    let short = Snapshot { length: 5, ..page.snapshot }.encode();
    assert_eq!(parse(&cursor, &short, 3, 4), Err(CursorError::Gone));
    let long = Snapshot { length: 500, ..page.snapshot };
    let older = Older { cursor: page.before.unwrap(), snapshot: Some(long) };
    let source = transcript.source(Some(older.cursor.before));
    assert_eq!(before(source, older), Err(CursorError::Gone));
}

#[test]
fn an_empty_session_has_an_empty_page() {
    let page = latest(Transcript::new(Vec::new(), false).source(None));
    assert_eq!((page.rows.len(), page.start, page.end, page.total), (0, 0, 0, 0));
    assert_eq!(page.before, None);
    let page = latest(Transcript::new(Vec::new(), true).source(None));
    assert_eq!((page.rows.len(), page.start, page.end, page.total), (1, 0, 1, 1));
    assert_eq!(page.before, None);
}
