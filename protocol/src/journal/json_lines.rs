//! Rows as a file of JSON lines, for exports, event logs and traces (JRN-03, JRN-04).

use std::collections::BTreeMap;

use super::numbers::Numbers;
use super::row::JournalRow;
use super::session_read;
use super::soundness::{RowCheck, Unsound};
use crate::ids::{RunId, Seq, SessionId};

/// The end of a line, and nothing else is one.
const LF: u8 = b'\n';

/// What a file of rows holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// The rows in the order of the file.
    pub rows: Vec<JournalRow>,
    /// Bytes up to the last LF: what the file is cut to before anything is read or appended (JRN-04).
    pub sound_bytes: usize,
}

/// The rows of one run in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRows {
    /// Those before the first that cannot be trusted.
    pub rows: Vec<JournalRow>,
    /// What is wrong with that one; the run is quarantined then, alone (JRN-11).
    pub unsound: Option<Unsound>,
}

/// A line that is no row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is no row of a journal: {reason}")]
pub struct LineError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// Adds `row` as one line.
pub fn append(file: &mut Vec<u8>, row: &JournalRow) {
    let line = serde_json::to_string(row).expect("a row has a JSON form");
    file.extend_from_slice(line.as_bytes());
    file.push(LF);
}

/// The lines of a file without their LF, and the torn bytes behind the last one. CR, VT, FF, U+0085, U+2028
/// and U+2029 are parts of a line like any other character.
pub fn split(file: &[u8]) -> (impl Iterator<Item = &[u8]>, &[u8]) {
    let sound_bytes = file.iter().rposition(|byte| *byte == LF).map_or(0, |at| at + 1);
    let (sound, torn) = file.split_at(sound_bytes);
    (sound.split_inclusive(|byte| *byte == LF).map(|line| &line[..line.len() - 1]), torn)
}

/// Reads a file; what follows its last LF counts for nothing.
///
/// # Errors
/// The first line that is no row.
pub fn open(file: &[u8]) -> Result<Opened, LineError> {
    let (lines, torn) = split(file);
    let rows: Result<_, _> = (1..)
        .zip(lines)
        .map(|(line, bytes)| {
            serde_json::from_slice(bytes)
                .map_err(|error| LineError { line, reason: error.to_string() })
        })
        .collect();
    Ok(Opened { rows: rows?, sound_bytes: file.len() - torn.len() })
}

/// Reads one run of a file that may be damaged. A line that is no row is passed over; the run that it was of lacks
/// a number then.
pub fn read_run(file: &[u8], session_id: SessionId, run_id: RunId) -> RunRows {
    of_run(run_id, session_id, readable(file).filter(|row| row.run_id == run_id))
}

/// Reads every run of a session in the order of a session-wide read (JRN-16), each as [`read_run`] does.
pub fn read_session(file: &[u8], session_id: SessionId) -> Vec<(RunId, RunRows)> {
    let mut runs: BTreeMap<RunId, Vec<JournalRow>> = BTreeMap::new();
    for row in readable(file) {
        runs.entry(row.run_id).or_default().push(row);
    }
    let first = |(run_id, rows): (&RunId, &Vec<JournalRow>)| {
        rows.first().map(|row| (*run_id, row.created_at))
    };
    let order = session_read::in_order(runs.iter().filter_map(first));
    let read = order.into_iter().map(|run_id| {
        let rows = runs.remove(&run_id).unwrap_or_default();
        (run_id, of_run(run_id, session_id, rows.into_iter()))
    });
    read.collect()
}

impl Opened {
    /// The number of the next row of a run: one more than the highest (JRN-04).
    pub fn next(&self, run_id: RunId) -> Seq {
        self.numbers(run_id).last().plus(1)
    }

    /// The numbers of a run that is written on here.
    pub fn numbers(&self, run_id: RunId) -> Numbers {
        let of_run = self.rows.iter().filter(|row| row.run_id == run_id);
        Numbers::own(of_run.map(|row| row.seq).max().unwrap_or(Seq::ZERO))
    }
}

fn readable(file: &[u8]) -> impl Iterator<Item = JournalRow> {
    split(file).0.filter_map(|line| serde_json::from_slice(line).ok())
}

fn of_run(run_id: RunId, session_id: SessionId, read: impl Iterator<Item = JournalRow>) -> RunRows {
    let mut check = RowCheck::behind(run_id, session_id, Seq::ZERO);
    let mut rows = Vec::new();
    for row in read {
        if let Err(unsound) = check.take(&row) {
            return RunRows { rows, unsound: Some(unsound) };
        }
        rows.push(row);
    }
    RunRows { rows, unsound: None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::{ItemId, SessionId};
    use crate::instant::Instant;
    use crate::journal::row::{ItemKind, Outcome, RowEvent};

    const RUN: RunId = RunId::new(7);

    fn row(seq: u64, body: &str) -> JournalRow {
        let event = RowEvent::Content { item_id: ItemId::new(1), item_kind: ItemKind::Text };
        JournalRow {
            run_id: RUN,
            session_id: SessionId::new(3),
            seq: Seq::new(seq),
            created_at: Instant::from_millis(seq),
            event,
            body: body.to_owned(),
        }
    }

    fn file(rows: &[JournalRow]) -> Vec<u8> {
        let mut file = Vec::new();
        rows.iter().for_each(|row| append(&mut file, row));
        file
    }

    proptest! {
        /// JRN-03 [property]: whatever separators a text holds, a row is one line, and wherever a file is torn
        /// it opens to the rows before the tear, is cut to them, and goes on with the next number.
        #[test]
        fn a_file_opens_to_the_rows_before_its_torn_end(
            bodies in prop::collection::vec(
                "[a\r\n\u{b}\u{c}\u{85}\u{2028}\u{2029}\"\\\\ä]{0,12}", 0..8,
            ),
            cut in any::<prop::sample::Index>(),
        ) {
            let rows: Vec<_> = (1..).zip(&bodies).map(|(seq, body)| row(seq, body)).collect();
            let mut written = file(&rows);
            prop_assert_eq!(written.iter().filter(|byte| **byte == LF).count(), rows.len());
            let cut = cut.index(written.len() + 1);
            let kept = written[..cut].iter().filter(|byte| **byte == LF).count();
            let opened = open(&written[..cut]).unwrap();
            prop_assert_eq!(&opened.rows, &rows[..kept]);
            prop_assert_eq!(opened.next(RUN).get(), kept as u64 + 1);
            written.truncate(opened.sound_bytes);
            rows[kept..].iter().for_each(|row| append(&mut written, row));
            prop_assert_eq!(written, file(&rows));
        }
    }

    #[test]
    fn a_damaged_row_keeps_only_its_own_run_back() {
        let of = |run, seq, millis| JournalRow {
            run_id: RunId::new(run),
            created_at: Instant::from_millis(millis),
            ..row(seq, "a")
        };
        let rows = [of(9, 1, 1), of(8, 1, 2), of(8, 2, 3), of(9, 2, 4), of(8, 3, 5)];
        let mut bytes = file(&rows);
        let damaged = file(&rows[..2]).len();
        bytes[damaged] = b'x';
        let session = SessionId::new(3);
        let read = read_session(&bytes, session);
        let order: Vec<_> = read.iter().map(|(run, _)| run.number()).collect();
        assert_eq!(order, [9, 8], "by their first rows");
        let missing = Unsound::Missing { seq: Seq::new(2) };
        let bad = RunRows { rows: vec![of(8, 1, 2)], unsound: Some(missing) };
        assert_eq!(read[1], (RunId::new(8), bad));
        assert_eq!(read[0].1, RunRows { rows: vec![of(9, 1, 1), of(9, 2, 4)], unsound: None });
        for (run_id, rows) in &read {
            assert_eq!(read_run(&bytes, session, *run_id), *rows, "two readers agree");
        }
        let foreign = read_run(&bytes, SessionId::new(4), RunId::new(9));
        assert_eq!(foreign.unsound, Some(Unsound::OtherSession { seq: Seq::new(1) }));
    }

    #[test]
    fn a_line_that_is_no_row_is_named() {
        let mut bad = file(&[row(1, "a"), row(2, "b")]);
        bad.splice(0..1, *b"x");
        assert_eq!(open(&bad).unwrap_err().line, 1);
        let mut empty_line = file(&[row(1, "a")]);
        empty_line.push(LF);
        assert_eq!(open(&empty_line).unwrap_err().line, 2);
        assert_eq!(open(b"").unwrap().next(RUN), Seq::new(1));
        assert_eq!(open(b"{\"torn").unwrap().sound_bytes, 0);
    }

    #[test]
    fn the_next_number_is_that_of_the_run() {
        let terminal = JournalRow {
            event: RowEvent::Terminal { outcome: Outcome::Completed },
            run_id: RunId::new(8),
            ..row(9, "{}")
        };
        let opened = open(&file(&[row(1, "a"), terminal])).unwrap();
        assert_eq!(opened.next(RUN), Seq::new(2));
        assert_eq!(opened.next(RunId::new(8)), Seq::new(10));
        assert_eq!(opened.next(RunId::new(9)), Seq::new(1));
    }
}
