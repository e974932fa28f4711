//! Rows as a file of JSON lines, for exports, event logs and traces (JRN-03, JRN-04).

use super::row::JournalRow;
use crate::ids::{RunId, Seq};

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

impl Opened {
    /// The number of the next row of a run: one more than the highest (JRN-04).
    pub fn next(&self, run_id: RunId) -> Seq {
        let of_run = self.rows.iter().filter(|row| row.run_id == run_id);
        of_run.map(|row| row.seq).max().unwrap_or(Seq::ZERO).plus(1)
    }
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
