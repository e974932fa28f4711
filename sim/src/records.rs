//! Files of records: one JSON object in each line, each line ended by LF (docs/spec/record.md).

use std::io::{self, BufRead, Read};

use runwarden_protocol::record::{Digest, Record, RecordError, Recorder};

/// Most bytes of one line without its LF.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// A file that is not one chain of records.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// The file cannot be read.
    #[error("line {line}: the file cannot be read on: {source}")]
    Read {
        /// The line.
        line: usize,
        /// What the system says.
        source: io::Error,
    },
    /// A line is too long.
    #[error("line {line}: a record has at most {LINE_BYTES_MAX} bytes")]
    LineTooLong {
        /// The line.
        line: usize,
    },
    /// A line is not UTF-8.
    #[error("line {line}: the line is not UTF-8")]
    NotUtf8 {
        /// The line.
        line: usize,
    },
    /// A line is no record, or not the one that is due.
    #[error("line {line}: {source}")]
    Record {
        /// The line.
        line: usize,
        /// What is wrong with it.
        source: RecordError,
    },
}

/// Reads the records of a file in order and checks their chain.
///
/// A line without LF at the end of the file is torn and counts for nothing; see
/// [`Records::torn_bytes`]. After an error nothing more comes.
#[derive(Debug)]
pub struct Records<R> {
    input: R,
    chain: Recorder,
    line: usize,
    torn_bytes: usize,
    is_over: bool,
}

impl<R: BufRead> Records<R> {
    /// Reads from the start of a file.
    pub fn new(input: R) -> Self {
        Self { input, chain: Recorder::default(), line: 0, torn_bytes: 0, is_over: false }
    }

    /// Bytes of the torn line at the end of the file, once it was reached.
    pub fn torn_bytes(&self) -> usize {
        self.torn_bytes
    }

    /// The chain after the records read so far; at the end it names the trace.
    pub fn digest(&self) -> Digest {
        self.chain.digest()
    }

    fn read(&mut self) -> Result<Option<Record>, RecordsError> {
        self.line += 1;
        let line = self.line;
        let mut bytes = Vec::new();
        let bytes_max = LINE_BYTES_MAX as u64 + 1;
        (&mut self.input)
            .take(bytes_max)
            .read_until(b'\n', &mut bytes)
            .map_err(|source| RecordsError::Read { line, source })?;
        if bytes.pop_if(|byte| *byte == b'\n').is_none() {
            if bytes.len() > LINE_BYTES_MAX {
                return Err(RecordsError::LineTooLong { line });
            }
            self.torn_bytes = bytes.len();
            return Ok(None);
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| RecordsError::NotUtf8 { line })?;
        let wrong = |source| RecordsError::Record { line, source };
        let record = Record::from_line(text).map_err(wrong)?;
        self.chain.check(&record).map_err(wrong)?;
        Ok(Some(record))
    }
}

impl<R: BufRead> Iterator for Records<R> {
    type Item = Result<Record, RecordsError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let read = self.read().transpose();
        self.is_over = !matches!(read, Some(Ok(_)));
        read
    }
}

#[cfg(test)]
mod tests {
    use runwarden_protocol::instant::Instant;
    use serde_json::{Value, json};

    use super::*;

    fn lines(texts: &[&str]) -> Vec<String> {
        let mut recorder = Recorder::default();
        let none: [Value; 0] = [];
        let line = |text: &&str| {
            let input = json!({"kind": "x", "text": text});
            let record = recorder.record(Instant::ZERO, "run/a", &input, &none, None).unwrap();
            record.to_line() + "\n"
        };
        texts.iter().map(line).collect()
    }

    fn read(bytes: &[u8]) -> (usize, usize, Option<RecordsError>) {
        let mut records = Records::new(bytes);
        let mut count = 0;
        loop {
            match records.next() {
                Some(Ok(_)) => count += 1,
                Some(Err(error)) => {
                    assert!(records.next().is_none());
                    return (count, 0, Some(error));
                }
                None => return (count, records.torn_bytes(), None),
            }
        }
    }

    #[test]
    fn a_chain_is_read_to_its_torn_end() {
        let text = lines(&["a", "b\u{2028}\u{85}c", "d"]).concat();
        assert!(matches!(read(text.as_bytes()), (3, 0, None)));
        let torn = format!("{text}{{\"n\":4");
        assert!(matches!(read(torn.as_bytes()), (3, 6, None)));
        assert!(matches!(read(b""), (0, 0, None)));
    }

    #[test]
    fn what_is_not_the_next_record_is_named_with_its_line() {
        let good = lines(&["a", "b", "c"]);
        let missing = format!("{}{}", good[0], good[2]);
        let (count, _, error) = read(missing.as_bytes());
        let source = RecordError::Number { found: 3, expected: 2 };
        let text = RecordsError::Record { line: 2, source }.to_string();
        assert_eq!((count, error.map(|error| error.to_string())), (1, Some(text)));
        let changed = good.concat().replacen("\"b\"", "\"B\"", 1);
        let source = |error| match error {
            Some(RecordsError::Record { line, source }) => (line, source),
            other => panic!("{other:?}"),
        };
        assert!(matches!(source(read(changed.as_bytes()).2), (2, RecordError::Chain { .. })));
        assert!(matches!(source(read(b"\n").2), (1, RecordError::Malformed(_))));
        assert!(matches!(read(b"\xff\n").2, Some(RecordsError::NotUtf8 { line: 1 })));
    }

    #[test]
    fn a_line_has_at_most_its_bytes() {
        let frame = lines(&[""])[0].len() - 1;
        let line = |bytes: usize| lines(&[&"t".repeat(bytes - frame)])[0].clone();
        assert_eq!(line(LINE_BYTES_MAX).len(), LINE_BYTES_MAX + 1);
        assert!(matches!(read(line(LINE_BYTES_MAX - 1).as_bytes()), (1, 0, None)));
        assert!(matches!(read(line(LINE_BYTES_MAX).as_bytes()), (1, 0, None)));
        let long = read(line(LINE_BYTES_MAX + 1).as_bytes());
        assert!(matches!(long, (0, _, Some(RecordsError::LineTooLong { line: 1 }))));
    }
}
