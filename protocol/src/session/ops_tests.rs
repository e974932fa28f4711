//! Ops against a plain session: a client that applies them shows what a fresh reader sees, and no delta is too large.

use proptest::prelude::*;

use super::*;
use crate::client::projection::{Effect, Projection};
use crate::ids::{PrincipalId, Revision, Seq, SessionId};
use crate::instant::Instant;
use crate::journal::row::Outcome;
use crate::session::project::{Live, LiveRun, ManifestParts, manifest, row as projected, summary};
use crate::session::record::{Marker, PendingTurn, Role, Usage};
use crate::session::settle::{Answer, Ending, rows as settled_rows};
use crate::wire::Code;
use crate::wire::frames::{HistoryPage, QueueList, SessionManifest};
use crate::wire::structures::{Row, RowStatus, RunPhase};

#[path = "ops_vectors.rs"]
mod vectors;

/// What one commit of the plain session does.
#[derive(Clone, Debug)]
enum Act {
    Admit { words: String, keep: Option<usize> },
    AdmitHead,
    Settle { outcome: Outcome, answer: Option<String>, marked: bool },
    Undo { requeue: bool },
    Title(String),
    Model(Option<String>),
    Archive(bool),
    LateUsage(u64),
    Reduce(usize),
    Queue(String),
    Unqueue(usize),
    Hold(bool),
}

/// A session kept as plain lists.
#[derive(Clone)]
struct Plain {
    head: SessionHead,
    rows: Vec<StoredRow>,
    queue: Vec<(MessageId, String)>,
    replaced: Option<(SessionHead, Vec<StoredRow>)>,
    ids: u64,
}

/// What a commit left beside the heads.
#[derive(Default)]
struct Left {
    rows: Vec<StoredRow>,
    removed_from: Option<MessageId>,
    ended: Option<Ended>,
    queue: Option<QueueEdit>,
}

impl Plain {
    fn new() -> Self {
        let head = SessionHead {
            session_id: SessionId::new(1),
            owner: PrincipalId::new(1),
            title: String::new(),
            revision: Revision::new(1),
            transcript_generation: 0,
            transcript_generation_baseline: 0,
            truncation_watermark: Revision::ZERO,
            agent: "demo".to_owned(),
            model: None,
            archived: false,
            shared: false,
            created_at: Instant::ZERO,
            activity_at: Instant::ZERO,
            message_count: 0,
            head_id: None,
            pending: None,
            usage: Usage::UNKNOWN,
            queue_length: 0,
            queue_held: None,
        };
        Self { head, rows: vec![], queue: vec![], replaced: None, ids: 10 }
    }

    fn id(&mut self) -> MessageId {
        self.ids += 1;
        MessageId::new(self.ids)
    }

    fn status(&self) -> SessionStatus {
        if self.head.pending.is_some() { SessionStatus::Running } else { SessionStatus::Idle }
    }

    /// Carries out one commit; nothing when the act does not apply now.
    fn commit(&mut self, act: Act) -> Option<SessionDelta> {
        let before = self.head.clone();
        self.head.revision = before.revision.plus(1);
        let Some(left) = self.act(act) else {
            self.head = before;
            return None;
        };
        self.head.message_count = self.rows.len() as u64;
        self.head.head_id = self.rows.last().map(|row| row.message_id);
        self.head.queue_length = self.queue.len() as u64;
        self.head.queue_held = self.head.queue_held.filter(|_| !self.queue.is_empty());
        Some(delta(&CommitMade {
            before: &before,
            after: &self.head,
            status: self.status(),
            rows: &left.rows,
            removed_from: left.removed_from,
            ended: left.ended,
            queue: left.queue.as_ref(),
        }))
    }

    fn act(&mut self, act: Act) -> Option<Left> {
        let mut left = Left::default();
        match act {
            Act::Admit { words, keep } => {
                if self.head.pending.is_some() {
                    return None;
                }
                if let Some(kept) = keep.filter(|kept| *kept < self.rows.len()) {
                    self.replaced = Some((self.head.clone(), self.rows.clone()));
                    left.removed_from = Some(self.reduce(kept));
                }
                let turn_id = self.id();
                self.admit(turn_id, words);
            }
            Act::AdmitHead => {
                if self.head.pending.is_some() || self.queue.is_empty() {
                    return None;
                }
                let (turn_id, words) = self.queue.remove(0);
                left.queue = Some(QueueEdit::Removed(turn_id));
                self.admit(turn_id, words);
            }
            Act::Settle { outcome, answer, marked } => {
                let pending = self.head.pending.take()?;
                self.replaced = None;
                let row_ids = [self.id(), self.id()];
                left.rows = settled_rows(Ending {
                    run_id: pending.run_id,
                    turn_id: pending.turn_id,
                    outcome,
                    marker: marked.then_some(Marker::Cancelled),
                    pending: Some(&pending),
                    user_row_stored: false,
                    answer: answer.map(|body| Answer { body, items: vec![] }),
                    row_ids,
                    head_id: self.head.head_id,
                    usage: Usage { input: Some(1), ..Usage::UNKNOWN },
                    at: Instant::from_millis(5),
                    revision: self.head.revision,
                });
                self.rows.extend(left.rows.clone());
                self.head.usage = Usage { input: Some(self.rows.len() as u64), ..Usage::UNKNOWN };
                left.ended = Some(Ended { run_id: pending.run_id, outcome, is_undone: false });
            }
            Act::Undo { requeue } => {
                let pending = self.head.pending.take()?;
                let run_id = pending.run_id;
                left.ended = Some(Ended { run_id, outcome: Outcome::Failed, is_undone: true });
                if let Some((head, rows)) = self.replaced.take() {
                    self.rows = rows;
                    self.head.transcript_generation = head.transcript_generation;
                    self.head.transcript_generation_baseline = head.transcript_generation_baseline;
                }
                if requeue {
                    self.queue.insert(0, (pending.turn_id, pending.text));
                    self.head.queue_held = Some(Code::LaunchFailed);
                    left.queue = Some(QueueEdit::Added(self.entry(0)));
                }
            }
            Act::Title(title) => self.head.title = title,
            Act::Model(model) => {
                self.head.agent = if model.is_some() { "other" } else { "demo" }.to_owned();
                self.head.model = model;
            }
            Act::Archive(archived) => self.head.archived = archived,
            Act::LateUsage(input) => {
                let usage = Usage { input: Some(input), ..Usage::UNKNOWN };
                let row = self.rows.iter_mut().rfind(|row| row.role == Role::Assistant)?;
                row.usage = Some(usage);
                row.session_revision = self.head.revision;
                left.rows = vec![row.clone()];
                self.head.usage = usage;
            }
            Act::Reduce(kept) => {
                if self.head.pending.is_some() || kept >= self.rows.len() {
                    return None;
                }
                left.removed_from = Some(self.reduce(kept));
            }
            Act::Queue(words) => {
                let id = self.id();
                self.queue.push((id, words));
                left.queue = Some(QueueEdit::Added(self.entry(self.queue.len() - 1)));
            }
            Act::Unqueue(at) => {
                if at >= self.queue.len() {
                    return None;
                }
                left.queue = Some(QueueEdit::Removed(self.queue.remove(at).0));
            }
            Act::Hold(held) => {
                self.head.queue_held = (held && !self.queue.is_empty()).then_some(Code::QueueFull);
            }
        }
        Some(left)
    }

    fn admit(&mut self, turn_id: MessageId, text: String) {
        self.head.pending = Some(PendingTurn {
            turn_id,
            run_id: RunId::new(turn_id.number()),
            text,
            pending_started_at: Instant::from_millis(3),
            agent: "demo".to_owned(),
            model: None,
        });
    }

    fn reduce(&mut self, kept: usize) -> MessageId {
        let first = self.rows[kept].message_id;
        self.rows.truncate(kept);
        self.head.transcript_generation += 1;
        self.head.transcript_generation_baseline = kept as u64;
        first
    }

    fn entry(&self, at: usize) -> QueueEntry {
        let (message_id, words) = &self.queue[at];
        QueueEntry {
            message_id: message_id.to_string(),
            position: at as i64 + 1,
            summary: summary(words),
            attachments: vec![],
            created_at: 0,
        }
    }

    fn shown(&self) -> Vec<Row> {
        // A stored row is projected with the pending turn behind it, as a page shows it.
        let stored = self.rows.iter().map(|stored| projected(stored, &self.head));
        stored.chain(self.head.pending.iter().map(|turn| pending_row(turn, &self.head))).collect()
    }

    fn manifest(&self, generation: i64) -> Frame {
        let run = self.head.pending.as_ref().map(|pending| LiveRun {
            run_id: pending.run_id,
            phase: RunPhase::Running,
            attachable: true,
            last_seq: Seq::ZERO,
        });
        let live = Live { status: self.status(), run };
        let parts = ManifestParts { generation, ..ManifestParts::default() };
        let manifest = manifest(&self.head, live, parts);
        Frame::SessionManifest(Box::new(SessionManifest {
            request_id: None,
            manifest,
            recovery: None,
        }))
    }

    fn page(&self, generation: i64) -> Frame {
        let rows = self.shown();
        Frame::HistoryPage(Box::new(HistoryPage {
            request_id: None,
            session_id: self.head.session_id.to_string(),
            generation,
            head_id: None,
            snapshot: None,
            session_revision: int(self.head.revision.get()),
            start: 0,
            end: rows.len() as i64,
            total: rows.len() as i64,
            rows,
            before: None,
            after: None,
        }))
    }

    fn queue_list(&self) -> Frame {
        Frame::QueueList(QueueList {
            request_id: None,
            session_id: self.head.session_id.to_string(),
            session_revision: int(self.head.revision.get()),
            held: self.head.queue_held,
            entries: (0..self.queue.len()).map(|at| self.entry(at)).collect(),
        })
    }
}

/// Answers what the client asks for, and what it asks for then.
fn answer(plain: &Plain, client: &mut Projection, effects: Vec<Effect>) {
    let mut waiting = effects;
    while let Some(effect) = waiting.pop() {
        let reply = match effect {
            Effect::Open { generation, .. } => plain.manifest(generation),
            Effect::ReadLatest { generation } => plain.page(generation),
            Effect::ListQueue => plain.queue_list(),
            // The live content is not part of this test.
            Effect::GetStream { .. } => continue,
        };
        waiting.extend(client.frame(&reply));
    }
}

fn open(plain: &Plain) -> Projection {
    let mut client = Projection::new(&plain.head.session_id.to_string());
    let effects = client.connected("store");
    answer(plain, &mut client, effects);
    client
}

/// A row without the revision it was read at, which says when, not what; a pending one has no other.
fn bare(rows: &[Row]) -> Vec<Row> {
    let bare = |row: &Row| {
        let is_pending = row.status == RowStatus::Pending;
        let content_revision = if is_pending { 0 } else { row.content_revision };
        Row { session_revision: 0, content_revision, ..row.clone() }
    };
    rows.iter().map(bare).collect()
}

fn assert_same(client: &Projection, plain: &Plain) -> Result<(), TestCaseError> {
    let view = &client.view;
    prop_assert_eq!(bare(&view.rows), bare(&plain.shown()));
    prop_assert_eq!(view.revision, int(plain.head.revision.get()));
    prop_assert_eq!(&view.title, &plain.head.title);
    prop_assert_eq!((&view.agent, &view.model), (&plain.head.agent, &plain.head.model));
    // A manifest does not tell it; the list entry of the session does.
    prop_assert!(client.manifests() > 1 || view.archived == plain.head.archived);
    prop_assert_eq!(view.status, Some(plain.status()));
    prop_assert_eq!(view.chain_length, plain.rows.len() as i64);
    prop_assert_eq!(view.transcript_generation, int(plain.head.transcript_generation));
    prop_assert_eq!(view.queue_held, plain.head.queue_held);
    let ids: Vec<_> = view.queue.iter().map(|e| (e.message_id.clone(), e.position)).collect();
    let queued = plain.queue.iter().zip(1..).map(|((id, _), place)| (id.to_string(), place));
    prop_assert_eq!(ids, queued.collect::<Vec<_>>());
    let live: Vec<_> = view.live.keys().cloned().collect();
    let running = plain.head.pending.iter().map(|turn| turn.run_id.to_string());
    prop_assert_eq!(live, running.collect::<Vec<_>>());
    Ok(())
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z\"\\\\\n]{0,20}",
        1 => (2_000usize..4_500).prop_map(|length| "x".repeat(length)),
        1 => (100usize..600).prop_map(|length| "\u{1}".repeat(length)),
    ]
}

fn acts() -> impl Strategy<Value = Act> {
    let outcome = prop_oneof![Just(Outcome::Completed), Just(Outcome::Failed)];
    prop_oneof![
        4 => (words(), prop::option::weighted(0.3, 0usize..6))
            .prop_map(|(words, keep)| Act::Admit { words, keep }),
        1 => Just(Act::AdmitHead),
        4 => (outcome, prop::option::of(words()), any::<bool>()).prop_map(
            |(outcome, answer, marked)| Act::Settle { outcome, answer, marked }),
        1 => any::<bool>().prop_map(|requeue| Act::Undo { requeue }),
        1 => "\\PC{0,60}".prop_map(Act::Title),
        1 => prop::option::of("[a-z]{1,5}").prop_map(Act::Model),
        1 => any::<bool>().prop_map(Act::Archive),
        1 => any::<u64>().prop_map(|input| Act::LateUsage(input >> 12)),
        1 => (0usize..8).prop_map(Act::Reduce),
        2 => words().prop_map(Act::Queue),
        1 => (0usize..4).prop_map(Act::Unqueue),
        1 => any::<bool>().prop_map(Act::Hold),
    ]
}

proptest! {
    /// SES-2 [property], SES-15 [property], SES-24 [property]: each commit is one delta from its revision to the next of at
    /// most 3,584 bytes, and a client that applies the deltas, some of them twice, shows what a fresh reader sees; a delta
    /// that does not begin where it stands changes nothing and makes it ask again from there.
    #[test]
    fn applied_ops_show_what_a_fresh_reader_sees(
        steps in prop::collection::vec((acts(), 0u8..12), 1..40),
    ) {
        let mut plain = Plain::new();
        let mut client = open(&plain);
        let mut last: Option<SessionDelta> = None;
        for (act, chance) in steps {
            let revision = plain.head.revision;
            let Some(delta) = plain.commit(act) else { continue };
            prop_assert_eq!(delta.from_revision, int(revision.get()));
            prop_assert_eq!(delta.to_revision, int(revision.get()) + 1);
            let frame = Frame::SessionDelta(delta.clone());
            prop_assert!(frame.to_text().len() <= DELTA_BYTES_MAX, "{}", frame.to_text().len());
            match chance {
                0 => {
                    // Lost on the way: the next delta shows it.
                    last = None;
                    continue;
                }
                1 => {
                    let known = last.clone().map(Frame::SessionDelta);
                    prop_assert!(known.is_none_or(|known| client.frame(&known).is_empty()));
                }
                _ => {}
            }
            let before = client.view.clone();
            let fits = client.view.revision == delta.from_revision;
            let effects = client.frame(&frame);
            if !fits {
                let shown = (&client.view.rows, client.view.revision, &client.view.title);
                let was = (&before.rows, before.revision, &before.title);
                prop_assert_eq!(shown, was, "nothing is applied behind a gap");
                let asks_from = matches!(effects.as_slice(), [Effect::Open { known: Some(known), .. }]
                    if known.session_revision == before.revision);
                prop_assert!(asks_from, "{effects:?}");
            }
            answer(&plain, &mut client, effects);
            assert_same(&client, &plain)?;
            last = Some(delta);
        }
    }
}

fn admitted(words: &str) -> (Plain, SessionDelta) {
    let mut plain = Plain::new();
    let act = Act::Admit { words: words.to_owned(), keep: None };
    let delta = plain.commit(act).expect("a turn may start");
    (plain, delta)
}

/// A commit whose frame has 3,583 or 3,584 bytes lists its rows; with one byte more they are invalidated from
/// the first one on, and what no page tells stays.
#[test]
fn rows_that_are_too_large_are_invalidated() {
    let bare = Frame::SessionDelta(admitted("").1).to_text().len();
    for (bytes, is_listed) in
        [(DELTA_BYTES_MAX - 1, true), (DELTA_BYTES_MAX, true), (DELTA_BYTES_MAX + 1, false)]
    {
        let (plain, delta) = admitted(&"x".repeat(bytes - bare));
        let turn = plain.head.pending.unwrap().turn_id.to_string();
        let invalidated = Op::RowsInvalidated { from_row: Some(turn) };
        assert_eq!(!delta.ops.contains(&invalidated), is_listed, "{bytes}");
        let starts = delta.ops.iter().any(|op| matches!(op, Op::EntityStarted { .. }));
        assert!(starts, "{:?}", delta.ops);
        let length = Frame::SessionDelta(delta).to_text().len();
        assert!(length <= DELTA_BYTES_MAX && (length == bytes) == is_listed);
    }
}

/// Queue entries travel as ops of the commits that changed them, as long as they may be.
#[test]
fn the_largest_entry_of_a_queue_fits() {
    let mut plain = Plain::new();
    plain.commit(Act::Title("\u{1}".repeat(256))).unwrap();
    let delta = plain.commit(Act::Queue("\u{1}".repeat(512))).unwrap();
    let [Op::QueuedAdded { entry }, Op::Fields(_)] = delta.ops.as_slice() else {
        panic!("{:?}", delta.ops)
    };
    assert!(!entry.summary.is_empty());
    assert!(Frame::SessionDelta(delta).to_text().len() <= DELTA_BYTES_MAX);
}
