use proptest::prelude::*;

use super::state::Phase;
use super::*;
use crate::ids::{ItemId, PayloadId, PayloadRef, QuestionId, Seq};
use crate::instant::{Duration, Instant};
use crate::journal::row::{ItemKind, Outcome, Reason, RowEvent};
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope, TimerKind};
use crate::matrix::assert_matrix;

const NOW: Instant = Instant::from_millis(1_000);

fn content(id: u64, json_bytes: u32) -> RowRef {
    let event = RowEvent::Content { item_id: ItemId::new(1), item_kind: ItemKind::Text };
    RowRef { event, payload: PayloadRef { id: PayloadId::new(id), json_bytes }, at: NOW }
}

fn note(id: u64) -> RowRef {
    let event = RowEvent::QuestionResolved { question_id: QuestionId::new(id) };
    RowRef { event, ..content(id, 10) }
}

fn step_at(journal: &mut RunJournal, now: Instant, input: Input) -> Result<Vec<Output>, Reject> {
    let mut out = Outbox::new();
    journal.step(now, input, &mut out)?;
    Ok(out.drain().collect())
}

fn step(journal: &mut RunJournal, input: Input) -> Result<Vec<Output>, Reject> {
    step_at(journal, NOW, input)
}

fn ticked(journal: &mut RunJournal, now: Instant) -> Vec<Output> {
    let mut out = Outbox::new();
    journal.tick(now, &mut out);
    out.drain().collect()
}

fn persisted(first_seq: u64, count: u32) -> Input {
    Input::Persisted { first_seq: Seq::new(first_seq), count }
}

fn ended(seq: Option<u64>) -> Input {
    Input::Ended { outcome: Outcome::Completed, seq: seq.map(Seq::new) }
}

/// A journal with row 1 in flight and `ids` waiting behind it.
fn waiting(ids: impl IntoIterator<Item = u64>) -> RunJournal {
    let mut journal = RunJournal::new();
    step(&mut journal, Input::HandOver(content(1, 10))).unwrap();
    for id in ids {
        assert_eq!(step(&mut journal, Input::HandOver(content(id, 10))), Ok(vec![]));
    }
    journal
}

fn reject(code: &'static str) -> Result<Vec<Output>, Reject> {
    Err(Reject::Local(code))
}

struct Small;

impl Scope<RunJournal> for Small {
    fn inputs(&self, journal: &RunJournal) -> Vec<Input> {
        let held = journal.in_flight.len() + journal.waiting.len();
        let next = journal.last_seq.plus(1);
        let batch = u32::try_from(journal.in_flight.len()).unwrap();
        let mut inputs = vec![
            Input::Persisted { first_seq: next, count: batch },
            Input::Persisted { first_seq: next.plus(1), count: batch },
            Input::Persisted { first_seq: next, count: batch + 1 },
            Input::AppendFailed,
            Input::Seal,
            Input::Ended { outcome: Outcome::Completed, seq: Some(next) },
            Input::Ended { outcome: Outcome::Failed, seq: None },
            Input::Ended { outcome: Outcome::Failed, seq: Some(next.plus(1)) },
            Input::Delete,
            Input::HandOver(content(9, ROW_BYTES_MAX + 1)),
        ];
        if journal.last_seq < Seq::new(3) {
            inputs.push(Input::SettledRows { count: 1 });
        }
        if held < 3 && journal.last_seq < Seq::new(3) {
            inputs.push(Input::HandOver(content(1, 10)));
            inputs.push(Input::HandOver(note(2)));
        }
        inputs
    }
}

#[test]
fn the_laws_hold_in_every_state_of_a_small_scope() {
    let report = laws(RunJournal::new(), &Small, RunJournal::WEIGHT_MAX).unwrap();
    let names: Vec<_> = report.state_names.keys().copied().collect();
    let all = [
        "deleted",
        "deleted_in_flight",
        "ended",
        "open",
        "open_in_flight",
        "sealed",
        "sealed_in_flight",
    ];
    assert_eq!(names, all);
    let resumed = laws(RunJournal::resume(Seq::new(2)), &Small, RunJournal::WEIGHT_MAX).unwrap();
    let nearly_full = RunJournal { journal_bytes: JOURNAL_BYTES_MAX - 15, ..RunJournal::new() };
    let full = laws(nearly_full, &Small, RunJournal::WEIGHT_MAX).unwrap();
    let mut matrix = report.matrix;
    matrix.merge(resumed.matrix);
    matrix.merge(full.matrix);
    assert_matrix!("journal_run", &matrix);
}

#[test]
fn rows_wait_for_the_answer_and_the_next_batch_leaves_with_it() {
    let mut journal = waiting([2, 3]);
    assert!(journal.in_flight() && !journal.is_idle());
    let out = step(&mut journal, persisted(1, 1)).unwrap();
    assert_eq!(
        out,
        [
            Output::Published { first_seq: Seq::new(1), rows: vec![content(1, 10)] },
            Output::Append { rows: vec![content(2, 10), content(3, 10)] },
        ]
    );
    let out = step(&mut journal, persisted(2, 2)).unwrap();
    assert_eq!(out[1], Output::Answered);
    assert!(journal.is_idle());
    assert_eq!(journal.last_seq(), Seq::new(3));
}

#[test]
fn a_batch_has_at_most_64_rows() {
    for (behind, first, rest) in [(63, 63, 0), (64, 64, 0), (65, 64, 1)] {
        let mut journal = waiting(2..2 + behind);
        let out = step(&mut journal, persisted(1, 1)).unwrap();
        assert!(matches!(&out[1], Output::Append { rows } if rows.len() == first));
        assert_eq!(journal.waiting.len(), rest);
    }
}

#[test]
fn an_answer_that_fits_no_batch_is_turned_away() {
    let mut journal = waiting([]);
    assert_eq!(step(&mut journal, persisted(2, 1)), reject("seq_not_next"));
    assert_eq!(step(&mut journal, persisted(0, 1)), reject("seq_not_next"));
    assert_eq!(step(&mut journal, persisted(1, 2)), reject("count_not_issued"));
    step(&mut journal, persisted(1, 1)).unwrap();
    assert_eq!(step(&mut journal, persisted(2, 0)), reject("nothing_in_flight"));
    assert_eq!(step(&mut journal, Input::AppendFailed), reject("nothing_in_flight"));
}

// JRN-05, JRN-06
#[test]
fn a_failed_batch_gives_its_numbers_to_the_next_one_and_degrades_the_run_for_good() {
    let mut journal = waiting([2]);
    let out = step(&mut journal, Input::AppendFailed).unwrap();
    assert_eq!(
        out,
        [
            Output::PublishedDegraded { rows: vec![content(1, 10)] },
            Output::Append { rows: vec![content(2, 10)] },
        ]
    );
    let out = step(&mut journal, persisted(1, 1)).unwrap();
    assert_eq!(out[0], Output::Published { first_seq: Seq::new(1), rows: vec![content(2, 10)] });
    step(&mut journal, ended(Some(2))).unwrap();
    assert!(journal.is_degraded());
    assert_eq!(journal.journal_bytes, 10);
}

// STOP-22, STOP-05
#[test]
fn after_the_seal_only_the_batch_in_flight_is_answered() {
    let mut journal = waiting([2, 3]);
    let dropped = vec![PayloadId::new(2), PayloadId::new(3)];
    let out = step(&mut journal, Input::Seal).unwrap();
    assert_eq!(out, [Output::Discarded { payloads: dropped }]);
    assert_eq!(step(&mut journal, Input::HandOver(content(4, 1))), reject("journal_sealed"));
    assert_eq!(step(&mut journal, ended(Some(2))), reject("append_unanswered"));
    assert_eq!(step(&mut journal, Input::Seal), Ok(vec![]));

    let mut stored = journal.clone();
    let out = step(&mut stored, persisted(1, 1)).unwrap();
    assert_eq!(
        out,
        [
            Output::Published { first_seq: Seq::new(1), rows: vec![content(1, 10)] },
            Output::Answered,
        ]
    );
    let out = step(&mut journal, Input::AppendFailed).unwrap();
    assert_eq!(out, [Output::Discarded { payloads: vec![PayloadId::new(1)] }, Output::Answered]);
    assert!(!journal.is_degraded());
    assert_eq!(journal.deadline(), None);
}

// JRN-08
#[test]
fn a_second_terminal_is_refused_and_the_first_one_stands() {
    let mut journal = waiting([]);
    step(&mut journal, persisted(1, 1)).unwrap();
    assert_eq!(step(&mut journal, ended(Some(3))), reject("seq_not_next"));
    assert_eq!(step(&mut journal, ended(Some(1))), reject("seq_not_next"));
    step(&mut journal, ended(Some(2))).unwrap();
    let second = Input::Ended { outcome: Outcome::Cancelled, seq: Some(Seq::new(3)) };
    assert_eq!(step(&mut journal, second), reject("terminal_stands"));
    assert_eq!(journal.outcome(), Some(Outcome::Completed));
    assert_eq!(journal.last_seq(), Seq::new(2));
}

#[test]
fn a_terminal_without_a_row_moves_no_number_and_a_terminal_is_never_handed_over() {
    let mut journal = RunJournal::resume(Seq::new(7));
    assert_eq!(step(&mut journal, Input::HandOver(content(1, 1))), reject("journal_sealed"));
    step(&mut journal, ended(None)).unwrap();
    assert_eq!(journal.last_seq(), Seq::new(7));

    let event = RowEvent::Terminal { outcome: Outcome::Failed };
    let row = RowRef { event, ..content(1, 1) };
    let refused = step(&mut RunJournal::new(), Input::HandOver(row));
    assert_eq!(refused, reject("terminal_comes_with_settlement"));
}

// JRN-21
#[test]
fn twenty_seconds_without_success_after_a_failure_end_the_run_once() {
    let mut journal = waiting([2, 3]);
    step(&mut journal, Input::AppendFailed).unwrap();
    let due = NOW.plus(APPEND_OUTAGE);
    assert_eq!(journal.deadline(), Some((due, TimerKind::AppendOutage)));
    let later = NOW.plus(Duration::from_secs(5));
    step_at(&mut journal, later, Input::AppendFailed).unwrap();
    assert_eq!(journal.deadline(), Some((due, TimerKind::AppendOutage)));
    let early = Instant::from_micros(due.as_micros() - 1);
    assert_eq!(ticked(&mut journal, early), []);
    assert_eq!(ticked(&mut journal, due), [Output::EndRun { reason: Reason::StorageFailed }]);
    assert_eq!(ticked(&mut journal, due.plus(APPEND_OUTAGE)), []);
    let out = step_at(&mut journal, due, Input::HandOver(content(9, 1))).unwrap();
    assert_eq!(out, [Output::Discarded { payloads: vec![PayloadId::new(9)] }]);
}

#[test]
fn a_success_ends_the_outage() {
    let mut journal = waiting([2]);
    step(&mut journal, Input::AppendFailed).unwrap();
    step(&mut journal, persisted(1, 1)).unwrap();
    assert_eq!(journal.deadline(), None);
    assert_eq!(ticked(&mut journal, NOW.plus(APPEND_OUTAGE)), []);
}

// JRN-17
#[test]
fn the_row_that_would_pass_64_mib_is_not_taken_and_ends_the_run_once() {
    for (json_bytes, fits) in [(99, true), (100, true), (101, false)] {
        let mut journal =
            RunJournal { journal_bytes: JOURNAL_BYTES_MAX - 100, ..RunJournal::new() };
        let out = step(&mut journal, Input::HandOver(content(1, json_bytes))).unwrap();
        if fits {
            assert_eq!(out, [Output::Append { rows: vec![content(1, json_bytes)] }]);
            continue;
        }
        let discarded = Output::Discarded { payloads: vec![PayloadId::new(1)] };
        assert_eq!(out, [discarded, Output::EndRun { reason: Reason::JournalFull }]);
        // A smaller row behind it would leave a hole in what was said.
        let out = step(&mut journal, Input::HandOver(content(2, 1))).unwrap();
        assert_eq!(out, [Output::Discarded { payloads: vec![PayloadId::new(2)] }]);
        assert!(journal.is_idle());
        step(&mut journal, ended(Some(1))).unwrap();
    }
}

#[test]
fn bytes_of_failed_and_dropped_rows_do_not_count_against_the_cap() {
    let mut journal = waiting([2]);
    step(&mut journal, Input::AppendFailed).unwrap();
    assert_eq!(journal.journal_bytes, 10);
    step(&mut journal, Input::HandOver(content(3, 10))).unwrap();
    step(&mut journal, Input::Seal).unwrap();
    step(&mut journal, persisted(1, 1)).unwrap();
    assert_eq!(journal.journal_bytes, 10);
}

#[test]
fn waiting_rows_are_bounded_and_the_bound_is_signalled() {
    let last = u64::try_from(WAITING_ROWS_MAX).unwrap();
    let mut journal = waiting(2..=last);
    assert!(journal.accepts_rows());
    step(&mut journal, Input::HandOver(content(5, 10))).unwrap();
    assert!(!journal.accepts_rows());
    let before = journal.clone();
    assert_eq!(step(&mut journal, Input::HandOver(content(6, 10))), reject("journal_backlog_full"));
    assert_eq!(journal, before);
    for id in 0..NOTE_ROWS_RESERVED {
        step(&mut journal, Input::HandOver(note(id.try_into().unwrap()))).unwrap();
    }
    assert_eq!(step(&mut journal, Input::HandOver(note(99))), reject("journal_backlog_full"));
    step(&mut journal, persisted(1, 1)).unwrap();
    assert!(journal.accepts_rows());
}

#[test]
fn waiting_bytes_are_bounded_and_the_bound_is_signalled() {
    let full = u32::try_from(WAITING_BYTES_MAX).unwrap();
    for (already, taken) in [(full - 1, true), (full, false), (full + 1, false)] {
        let mut journal = waiting([]);
        journal.waiting.push_back(content(2, already));
        journal.waiting_bytes = u64::from(already);
        journal.journal_bytes += u64::from(already);
        assert_eq!(journal.accepts_rows(), taken);
        let result = step(&mut journal, Input::HandOver(content(3, ROW_BYTES_MAX)));
        assert_eq!(result, if taken { Ok(vec![]) } else { reject("journal_backlog_full") });
        assert!(journal.weight() <= RunJournal::WEIGHT_MAX);
    }
}

#[test]
fn one_row_has_at_most_its_own_bound() {
    for (json_bytes, taken) in
        [(ROW_BYTES_MAX - 1, true), (ROW_BYTES_MAX, true), (ROW_BYTES_MAX + 1, false)]
    {
        let result = step(&mut RunJournal::new(), Input::HandOver(content(1, json_bytes)));
        assert_eq!(result.is_ok(), taken);
        assert!(taken || result == reject("row_too_large"));
    }
}

// JRN-12
#[test]
fn a_deleted_journal_takes_nothing_and_releases_what_it_held() {
    let mut journal = waiting([2]);
    let out = step(&mut journal, Input::Delete).unwrap();
    assert_eq!(out, [Output::Discarded { payloads: vec![PayloadId::new(2)] }]);
    assert!(!journal.is_terminal());
    let out = step(&mut journal, persisted(1, 1)).unwrap();
    assert_eq!(out, [Output::Discarded { payloads: vec![PayloadId::new(1)] }, Output::Answered]);
    assert!(journal.is_terminal());
    assert_eq!(step(&mut journal, Input::HandOver(content(3, 1))), reject("journal_deleted"));
    assert_eq!(step(&mut journal, Input::Delete), reject("journal_deleted"));
}

#[test]
fn inputs_and_outputs_survive_their_json_form() {
    let inputs = [
        Input::HandOver(content(1, 10)),
        Input::HandOver(note(2)),
        persisted(1, 2),
        Input::AppendFailed,
        Input::Seal,
        ended(None),
        Input::Delete,
    ];
    for input in inputs {
        let value = serde_json::to_value(&input).unwrap();
        assert!(value["kind"].is_string(), "{value}");
        assert_eq!(serde_json::from_value::<Input>(value).unwrap(), input);
    }
    let output = Output::Published { first_seq: Seq::new(1), rows: vec![content(1, 10), note(2)] };
    let text = serde_json::to_string(&output).unwrap();
    assert_eq!(serde_json::from_str::<Output>(&text).unwrap(), output);
}

/// A store that answers in its own time, and everything that was shown.
#[derive(Default)]
struct Reference {
    handed: Vec<u64>,
    stored: Vec<u64>,
    lost: Vec<u64>,
    discarded: Vec<u64>,
    batch: Option<Vec<u64>>,
    shown: Vec<(u64, u64)>,
}

impl Reference {
    fn take(&mut self, outputs: Vec<Output>) {
        let id = |row: &RowRef| row.payload.id.number();
        for output in outputs {
            match output {
                Output::Append { rows } => {
                    assert!(self.batch.is_none(), "two batches unanswered");
                    assert!(!rows.is_empty() && rows.len() <= BATCH_ROWS_MAX);
                    self.batch = Some(rows.iter().map(id).collect());
                }
                Output::Published { first_seq, rows } => {
                    self.shown.extend((first_seq.get()..).zip(rows.iter().map(id)));
                }
                Output::PublishedDegraded { rows } => self.lost.extend(rows.iter().map(id)),
                Output::Discarded { payloads } => {
                    self.discarded.extend(payloads.into_iter().map(PayloadId::number));
                }
                Output::Answered => assert!(self.batch.is_none()),
                Output::EndRun { reason } => panic!("no limit is near: {reason:?}"),
            }
        }
    }

    fn answer(&mut self, stored: bool) -> Option<Input> {
        let batch = self.batch.take()?;
        if !stored {
            return Some(Input::AppendFailed);
        }
        let input = persisted(
            u64::try_from(self.stored.len()).unwrap() + 1,
            u32::try_from(batch.len()).unwrap(),
        );
        self.stored.extend(batch);
        Some(input)
    }
}

#[derive(Clone, Copy, Debug)]
enum Act {
    HandOver(u8),
    Answer(bool),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        (1..90_u8).prop_map(Act::HandOver),
        any::<bool>().prop_map(Act::Answer),
        Just(Act::Answer(true)),
    ];
    prop::collection::vec(act, 0..40)
}

proptest! {
    /// JRN-01 [property]: against a store that stores or loses each batch, rows are shown exactly as
    /// stored, numbered 1..n in the order they were handed over, and each row is stored, lost or
    /// discarded exactly once.
    #[test]
    fn shown_rows_are_the_stored_rows_in_order(acts in acts(), seal_at in 0..60_usize) {
        let (mut journal, mut reference, mut next) = (RunJournal::new(), Reference::default(), 1);
        for (index, act) in acts.into_iter().enumerate() {
            if index == seal_at {
                reference.take(step(&mut journal, Input::Seal).unwrap());
            }
            match act {
                Act::HandOver(count) => for _ in 0..count {
                    match step(&mut journal, Input::HandOver(content(next, 5))) {
                        Ok(out) => {
                            reference.handed.push(next);
                            reference.take(out);
                            next += 1;
                        }
                        Err(_) => prop_assert!(index >= seal_at || !journal.accepts_rows()),
                    }
                },
                Act::Answer(stored) => if let Some(answer) = reference.answer(stored) {
                    reference.take(step(&mut journal, answer).unwrap());
                },
            }
        }
        while let Some(answer) = reference.answer(true) {
            reference.take(step(&mut journal, answer).unwrap());
        }
        let numbered: Vec<_> = (1..).zip(reference.stored.iter().copied()).collect();
        prop_assert_eq!(&reference.shown, &numbered);
        prop_assert!(reference.stored.is_sorted());
        prop_assert_eq!(journal.is_degraded(), !reference.lost.is_empty());
        let mut all = [&reference.stored[..], &reference.lost, &reference.discarded].concat();
        all.sort_unstable();
        prop_assert_eq!(all, reference.handed);
        prop_assert!(journal.is_idle());
    }

    /// JRN-09 [property]: after the semantic terminal no input appends, shows or numbers anything.
    #[test]
    fn nothing_follows_the_terminal(
        rows in 0..3_u32,
        inputs in prop::collection::vec(0..7_usize, 1..20),
    ) {
        let mut journal = RunJournal::new();
        for id in 0..u64::from(rows) {
            step(&mut journal, Input::HandOver(content(id, 1))).unwrap();
            step(&mut journal, persisted(id + 1, 1)).unwrap();
        }
        step(&mut journal, ended(Some(u64::from(rows) + 1))).unwrap();
        let last = journal.last_seq();
        for choice in inputs {
            let input = [
                Input::HandOver(content(8, 1)),
                Input::HandOver(note(9)),
                persisted(last.get() + 1, 1),
                Input::AppendFailed,
                Input::Seal,
                ended(Some(last.get() + 1)),
                ended(None),
            ][choice].clone();
            prop_assert!(step(&mut journal, input).is_err());
            prop_assert_eq!(journal.phase, Phase::Ended { outcome: Outcome::Completed });
            prop_assert_eq!(journal.last_seq(), last);
        }
    }
}
