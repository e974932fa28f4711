//! The journal of a run between its machine, the database and a file of JSON lines, against a plain list.

use std::collections::BTreeMap;

use proptest::prelude::*;
use runwarden_protocol::ids::{PayloadId, PayloadRef, Seq};
use runwarden_protocol::journal::json_lines;
use runwarden_protocol::journal::row::JournalRow;
use runwarden_protocol::journal::run_journal::{Input, Output, RowRef, RunJournal};
use runwarden_protocol::machine::{Machine, Outbox};
use runwarden_runtime::ports::store::JournalPage;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    /// The agent produces a row.
    Produce(String),
    /// The batch in flight is answered.
    Answer(Fate),
    /// The process is killed; whether the batch in flight was written.
    Kill { is_written: bool },
    /// The run ends, and the next one begins.
    Settle,
    /// The journal is deleted under its writer.
    Delete,
    /// The rows are exported, and the file loses its end.
    Tear(prop::sample::Index),
}

#[derive(Clone, Copy, Debug)]
enum Fate {
    Stored,
    Failed,
    /// The answer is lost: only the tail of the journal tells whether the rows are there.
    HalfKnown {
        is_written: bool,
    },
}

fn any_step() -> impl Strategy<Value = Step> {
    let fate = prop_oneof![
        4 => Just(Fate::Stored),
        1 => Just(Fate::Failed),
        2 => any::<bool>().prop_map(|is_written| Fate::HalfKnown { is_written }),
    ];
    prop_oneof![
        8 => "[a\r\n\u{b}\u{85}\u{2028}\u{2029}\"]{0,4}".prop_map(Step::Produce),
        7 => fate.prop_map(Step::Answer),
        1 => any::<bool>().prop_map(|is_written| Step::Kill { is_written }),
        2 => Just(Step::Settle),
        1 => Just(Step::Delete),
        2 => any::<prop::sample::Index>().prop_map(Step::Tear),
    ]
}

/// One run after the other, of one session.
struct Bench {
    fixture: Option<Fixture>,
    journal: RunJournal,
    revision: u64,
    run: u64,
    bodies: BTreeMap<PayloadId, String>,
    in_flight: Vec<RowRef>,
    /// The reference: what is stored of the run.
    stored: Vec<String>,
    /// What was shown of it, with its number if it has one.
    shown: Vec<(Option<u64>, String)>,
    is_deleted: bool,
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self {
            fixture: Some(Fixture::with_session()),
            journal: RunJournal::new(),
            revision: 1,
            run: 0,
            bodies: BTreeMap::new(),
            in_flight: Vec::new(),
            stored: Vec::new(),
            shown: Vec::new(),
            is_deleted: false,
        };
        bench.begin();
        bench
    }

    fn fixture(&self) -> &Fixture {
        self.fixture.as_ref().expect("it is only away while it is killed")
    }

    fn begin(&mut self) {
        self.run += 1;
        self.fixture().commit(admit(self.revision, self.run)).unwrap();
        self.revision += 1;
        self.journal = RunJournal::new();
        self.stored.clear();
        self.shown.clear();
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Produce(body) => self.produce(body),
            Step::Answer(fate) => self.answer(fate),
            Step::Kill { is_written } => self.kill(is_written),
            Step::Settle => self.settle(Outcome::Completed),
            Step::Delete => self.delete(),
            Step::Tear(at) => self.tear(at),
        }
        self.check();
    }

    fn produce(&mut self, body: String) {
        let id = PayloadId::new(self.bodies.len() as u64 + 1);
        let event = RowEvent::Content { item_id: ItemId::new(1), item_kind: ItemKind::Text };
        let json_bytes = u32::try_from(body.len()).unwrap() + 2;
        self.bodies.insert(id, body);
        let row = RowRef { event, payload: PayloadRef { id, json_bytes }, at: at(3) };
        let is_taken = self.feed(Input::HandOver(row));
        assert_eq!(is_taken, !self.is_deleted);
    }

    fn feed(&mut self, input: Input) -> bool {
        let mut out = Outbox::new();
        let stepped = self.journal.step(at(3), input, &mut out);
        for output in out.drain() {
            match output {
                Output::Append { rows } => {
                    assert!(self.in_flight.is_empty() && !self.is_deleted);
                    self.in_flight = rows;
                }
                Output::Published { first_seq, rows } => {
                    for (seq, row) in (first_seq.get()..).zip(rows) {
                        self.shown.push((Some(seq), self.bodies[&row.payload.id].clone()));
                    }
                }
                Output::PublishedDegraded { rows } => {
                    let bodies = rows.iter().map(|row| self.bodies[&row.payload.id].clone());
                    self.shown.extend(bodies.map(|body| (None, body)));
                }
                Output::Discarded { .. } | Output::Answered => {}
                Output::EndRun { reason } => panic!("{reason:?}"),
            }
        }
        stepped.is_ok()
    }

    /// Writes the batch in flight, and says whether its rows are there.
    fn write(&mut self) -> bool {
        let bodies: Vec<_> =
            self.in_flight.iter().map(|row| self.bodies[&row.payload.id].clone()).collect();
        let rows = bodies.iter().map(|body| text(1, body)).collect();
        let is_there = self.fixture().append(append(self.run, rows)).is_ok();
        assert_eq!(is_there, !self.is_deleted, "no append makes a row of a deleted journal");
        if is_there {
            self.stored.extend(bodies);
        }
        is_there
    }

    fn answer(&mut self, fate: Fate) {
        if self.in_flight.is_empty() {
            return;
        }
        let is_there = match fate {
            Fate::Stored => self.write(),
            Fate::Failed => false,
            Fate::HalfKnown { is_written } => {
                if is_written {
                    self.write();
                }
                self.page(self.journal.last_seq()).is_some_and(|page| !page.rows.is_empty())
            }
        };
        let count = u32::try_from(std::mem::take(&mut self.in_flight).len()).unwrap();
        let first_seq = self.journal.last_seq().plus(1);
        let answer =
            if is_there { Input::Persisted { first_seq, count } } else { Input::AppendFailed };
        assert!(self.feed(answer));
    }

    /// Memory is lost. The worker is gone, so the run can only end.
    fn kill(&mut self, is_written: bool) {
        if is_written && !self.in_flight.is_empty() {
            self.write();
        }
        self.in_flight.clear();
        let killed = self.fixture.take().map(Fixture::kill);
        self.fixture = killed;
        if self.is_deleted {
            return;
        }
        let rows = self.page(Seq::ZERO).expect("the run is sound").rows;
        self.journal = RunJournal::resume(Seq::new(rows.len() as u64));
        self.shown = (1..).map(Some).zip(self.stored.iter().cloned()).collect();
        self.settle(Outcome::Interrupted);
    }

    fn settle(&mut self, outcome: Outcome) {
        if self.is_deleted || !self.in_flight.is_empty() {
            return;
        }
        assert!(self.feed(Input::Seal));
        let settled = self.fixture().commit(settle(self.revision, self.run, outcome)).unwrap();
        self.revision += 1;
        let seq = settled.terminal_seq;
        assert_eq!(seq, Some(Seq::new(self.stored.len() as u64 + 1)));
        assert!(self.feed(Input::Ended { outcome, seq }));
        let late = self.fixture().append(append(self.run, vec![text(1, "late")]));
        assert_eq!(late, Err(StoreFailure::Ended { outcome }));
        self.check();
        self.begin();
    }

    fn delete(&mut self) {
        if self.is_deleted {
            return;
        }
        let raw = self.fixture().raw();
        raw.execute_batch("DELETE FROM journal; DELETE FROM runs").unwrap();
        self.is_deleted = true;
        self.stored.clear();
        assert!(self.feed(Input::Delete));
    }

    /// A torn export opens to the rows before the tear and is completed to the same file.
    fn tear(&self, at: prop::sample::Index) {
        let Some(page) = self.page(Seq::ZERO) else { return };
        let mut whole = Vec::new();
        page.rows.iter().for_each(|row| json_lines::append(&mut whole, row));
        let mut file = whole[..at.index(whole.len() + 1)].to_vec();
        let opened = json_lines::open(&file).unwrap();
        let kept = opened.rows.len();
        assert_eq!(opened.rows, page.rows[..kept]);
        assert_eq!(opened.next(RunId::new(self.run)).get(), kept as u64 + 1);
        file.truncate(opened.sound_bytes);
        page.rows[kept..].iter().for_each(|row| json_lines::append(&mut file, row));
        assert_eq!(file, whole);
    }

    fn page(&self, after: Seq) -> Option<JournalPage> {
        block_on(self.fixture().store.journal(RunId::new(self.run), after)).ok()
    }

    fn check(&self) {
        let numbered = self.shown.iter().filter_map(|(seq, body)| Some(((*seq)?, body.as_str())));
        let Some(page) = self.page(Seq::ZERO) else {
            assert!(self.is_deleted);
            return;
        };
        let is_content = |row: &&JournalRow| !row.event.is_terminal();
        let rows = page.rows.iter().filter(is_content);
        let found: Vec<_> = rows.map(|row| (row.seq.get(), row.body.as_str())).collect();
        let expected: Vec<_> = (1..).zip(self.stored.iter().map(String::as_str)).collect();
        assert_eq!(found, expected, "the database holds what was stored");
        if !self.is_deleted {
            assert_eq!(numbered.collect::<Vec<_>>(), expected, "and shown is the same");
            let degraded = self.shown.iter().any(|(seq, _)| seq.is_none());
            assert_eq!(self.journal.is_degraded(), degraded);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// JRN-01 [property], JRN-03 [property], JRN-09 [property]: whatever fails, is half known, killed, deleted or
    /// torn, stored and numbered rows are the same, in order from 1, whatever separators their text holds.
    #[test]
    fn a_journal_agrees_with_a_plain_list(steps in prop::collection::vec(any_step(), 1..60)) {
        let mut bench = Bench::new();
        for step in steps {
            bench.take(step);
        }
    }
}
