//! The journal of a run between its machine and a file of JSON lines, against a plain list.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;

use super::json_lines::{self, RunRows};
use super::row::{ItemKind, JournalRow, Outcome, RowEvent};
use super::run_journal::{Input, Output, RowRef, RunJournal};
use crate::ids::{ItemId, PayloadId, PayloadRef, RunId, Seq, SessionId};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox};

const RUN: RunId = RunId::new(7);
const SESSION: SessionId = SessionId::new(3);
const NOW: Instant = Instant::from_millis(3);

#[derive(Clone, Debug)]
enum Step {
    /// The agent produces a row.
    Produce(String),
    /// The batch in flight is written whole, and answered.
    Store,
    /// The write of the batch fails after some of its bytes.
    Fail(Index),
    /// The answer is lost; the bytes up to here were written.
    LoseAnswer(Index),
    /// The process is killed when so much of the batch was written, and the file is opened again.
    Kill(Index),
    /// The run ends.
    Settle,
    /// The file is deleted under its writer.
    Delete,
}

fn any_step() -> impl Strategy<Value = Step> {
    let at = any::<Index>;
    prop_oneof![
        8 => "[a\r\n\u{b}\u{c}\u{85}\u{2028}\u{2029}\"]{0,4}".prop_map(Step::Produce),
        5 => Just(Step::Store),
        2 => at().prop_map(Step::Fail),
        2 => at().prop_map(Step::LoseAnswer),
        1 => at().prop_map(Step::Kill),
        1 => Just(Step::Settle),
        1 => Just(Step::Delete),
    ]
}

struct Bench {
    /// What is on the disk; none once it was deleted.
    file: Option<Vec<u8>>,
    journal: RunJournal,
    bodies: BTreeMap<PayloadId, String>,
    in_flight: Vec<RowRef>,
    /// The reference: what the file holds.
    stored: Vec<String>,
    shown: Vec<(Option<u64>, String)>,
    is_over: bool,
}

impl Bench {
    fn new() -> Self {
        Self {
            file: Some(Vec::new()),
            journal: RunJournal::new(),
            bodies: BTreeMap::new(),
            in_flight: Vec::new(),
            stored: Vec::new(),
            shown: Vec::new(),
            is_over: false,
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Produce(body) => self.produce(body),
            Step::Store => self.answer(None, true),
            Step::Fail(at) => self.answer(Some(at), false),
            Step::LoseAnswer(at) => self.answer(Some(at), true),
            Step::Kill(at) => self.kill(at),
            Step::Settle => self.settle(),
            Step::Delete => self.delete(),
        }
        self.check();
    }

    fn produce(&mut self, body: String) {
        let id = PayloadId::new(self.bodies.len() as u64 + 1);
        let event = RowEvent::Content { item_id: ItemId::new(1), item_kind: ItemKind::Text };
        let json_bytes = u32::try_from(body.len()).unwrap() + 2;
        self.bodies.insert(id, body);
        let row = RowRef { event, payload: PayloadRef { id, json_bytes }, at: NOW };
        let is_taken = self.feed(Input::HandOver(row));
        assert_eq!(is_taken, !self.is_over && self.file.is_some());
    }

    fn feed(&mut self, input: Input) -> bool {
        let mut out = Outbox::new();
        let stepped = self.journal.step(NOW, input, &mut out);
        for output in out.drain() {
            let body = |row: &RowRef| self.bodies[&row.payload.id].clone();
            match output {
                Output::Append { rows } => self.in_flight = rows,
                Output::Published { first_seq, rows } => {
                    let numbers = (first_seq.get()..).map(Some);
                    self.shown.extend(numbers.zip(rows.iter().map(body)));
                }
                Output::PublishedDegraded { rows } => {
                    self.shown.extend(rows.iter().map(|row| (None, body(row))));
                }
                Output::Discarded { .. } | Output::Answered => {}
                Output::EndRun { reason } => panic!("{reason:?}"),
            }
        }
        stepped.is_ok()
    }

    /// Writes the batch in flight up to a byte of it, or whole.
    fn write(&mut self, up_to: Option<Index>) {
        let Some(file) = &mut self.file else { return };
        let mut numbers = json_lines::open(file).unwrap().numbers(RUN);
        let mut batch = Vec::new();
        for row in &self.in_flight {
            let row = JournalRow {
                run_id: RUN,
                session_id: SESSION,
                seq: numbers.take(None).unwrap(),
                created_at: row.at,
                event: row.event,
                body: self.bodies[&row.payload.id].clone(),
            };
            json_lines::append(&mut batch, &row);
        }
        batch.truncate(up_to.map_or(batch.len(), |at| at.index(batch.len() + 1)));
        file.extend(batch);
    }

    /// The file as an opening leaves it: without a torn line.
    fn open(&mut self) -> Vec<JournalRow> {
        let Some(file) = &mut self.file else { return Vec::new() };
        let opened = json_lines::open(file).unwrap();
        file.truncate(opened.sound_bytes);
        opened.rows
    }

    /// A batch of which not all is there is taken back whole (JRN-05).
    fn answer(&mut self, up_to: Option<Index>, is_looked_up: bool) {
        if self.in_flight.is_empty() {
            return;
        }
        let before = self.file.as_ref().map_or(0, Vec::len);
        self.write(up_to);
        let rows = self.open();
        let batch = std::mem::take(&mut self.in_flight);
        let is_whole = is_looked_up && rows.len() == self.stored.len() + batch.len();
        if is_whole {
            self.stored.extend(batch.iter().map(|row| self.bodies[&row.payload.id].clone()));
        } else if let Some(file) = &mut self.file {
            file.truncate(before);
        }
        let (first_seq, count) = (self.journal.last_seq().plus(1), batch.len() as u32);
        let is_there = is_whole && self.file.is_some();
        let answer =
            if is_there { Input::Persisted { first_seq, count } } else { Input::AppendFailed };
        assert!(self.feed(answer));
    }

    /// Memory is lost; whole lines of a batch that nobody answered are rows all the same.
    fn kill(&mut self, at: Index) {
        if self.file.is_none() {
            return;
        }
        self.write(Some(at));
        self.in_flight.clear();
        self.stored = self.open().into_iter().map(|row| row.body).collect();
        let last = Seq::new(self.stored.len() as u64);
        self.shown = (1..).map(Some).zip(self.stored.iter().cloned()).collect();
        self.journal = RunJournal::resume(last);
        self.is_over = true;
    }

    fn settle(&mut self) {
        if self.file.is_none() || !self.in_flight.is_empty() {
            return;
        }
        let opened = json_lines::open(self.file.as_ref().unwrap()).unwrap();
        let seq = opened.next(RUN);
        assert_eq!(seq, self.journal.last_seq().plus(1));
        let _ = self.feed(Input::Seal);
        assert!(self.feed(Input::Ended { outcome: Outcome::Completed, seq: Some(seq) }));
        *self = Self::new();
    }

    fn delete(&mut self) {
        if self.file.take().is_some() {
            self.stored.clear();
            assert!(self.feed(Input::Delete));
        }
    }

    fn check(&self) {
        let Some(file) = &self.file else { return };
        let RunRows { rows, unsound } = json_lines::read_run(file, SESSION, RUN);
        assert_eq!(unsound, None);
        let held: Vec<_> = rows.iter().map(|row| row.body.as_str()).collect();
        assert_eq!(held, self.stored, "the file holds what was stored");
        let numbered = self.shown.iter().filter_map(|(seq, body)| Some(((*seq)?, body)));
        let expected: Vec<_> = (1..).zip(&self.stored).collect();
        assert_eq!(numbered.collect::<Vec<_>>(), expected, "and shown is the same");
        let is_degraded = self.shown.iter().any(|(seq, _)| seq.is_none());
        assert_eq!(self.journal.is_degraded(), is_degraded);
        for (_, read) in json_lines::read_session(file, SESSION) {
            assert_eq!(read.rows, rows, "the reader of the session agrees");
        }
    }
}

proptest! {
    /// JRN-01 [property], JRN-03 [property]: wherever a write is cut off, whether its answer comes or not, and when the
    /// file goes under its writer: stored and numbered rows are the same, in order from 1, whatever their text holds.
    #[test]
    fn a_file_agrees_with_a_plain_list(steps in prop::collection::vec(any_step(), 1..60)) {
        let mut bench = Bench::new();
        for step in steps {
            bench.take(step);
        }
    }
}
