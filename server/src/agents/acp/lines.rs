//! Lines of bounded length from a pipe.

use std::io;

use futures_lite::AsyncRead;
use futures_lite::io::{AsyncBufReadExt, BufReader};

/// Reads lines; none of them occupies more than its bound.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    bytes_max: usize,
    is_skipping: bool,
}

/// One line, without its line break.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Its bytes, at most as many as the bound.
    pub(super) bytes: Vec<u8>,
    /// Whether it was longer; the next call skips the rest of it.
    pub(super) is_cut: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R, bytes_max: usize) -> Self {
        Self { reader: BufReader::new(reader), bytes_max, is_skipping: false }
    }

    /// The next line; `None` at the end. A last line needs no line break.
    ///
    /// # Errors
    /// What the pipe reports.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        loop {
            let buffer = self.reader.fill_buf().await?;
            if buffer.is_empty() {
                let line = Line { bytes, is_cut: false };
                return Ok((!line.bytes.is_empty()).then_some(line));
            }
            let line_break = buffer.iter().position(|byte| *byte == b'\n');
            let part = &buffer[..line_break.unwrap_or(buffer.len())];
            let room = if self.is_skipping { part.len() } else { self.bytes_max - bytes.len() };
            let is_cut = part.len() > room;
            let taken = part.len().min(room);
            if !self.is_skipping {
                bytes.extend_from_slice(&part[..taken]);
            }
            if is_cut {
                self.reader.consume(taken);
                self.is_skipping = true;
                return Ok(Some(Line { bytes, is_cut }));
            }
            self.reader.consume(line_break.map_or(taken, |at| at + 1));
            if line_break.is_some() && !std::mem::take(&mut self.is_skipping) {
                return Ok(Some(Line { bytes, is_cut }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_lite::future::block_on;

    use super::*;

    fn read(text: &str, bytes_max: usize) -> Vec<(String, bool)> {
        let mut lines = Lines::new(text.as_bytes(), bytes_max);
        let mut read = Vec::new();
        while let Some(line) = block_on(lines.next()).unwrap() {
            read.push((String::from_utf8(line.bytes).unwrap(), line.is_cut));
        }
        read
    }

    #[test]
    fn lines_have_a_bound_and_the_rest_of_a_longer_one_is_skipped() {
        let whole = |text: &str| (text.to_owned(), false);
        assert_eq!(read("ab\n\nc", 4), [whole("ab"), whole(""), whole("c")]);
        assert_eq!(read("abc\nd\n", 4), [whole("abc"), whole("d")]);
        assert_eq!(read("abcd\nd\n", 4), [whole("abcd"), whole("d")]);
        assert_eq!(read("abcde\nd\n", 4), [("abcd".to_owned(), true), whole("d")]);
        let long = format!("{}\nd", "x".repeat(40_000));
        assert_eq!(read(&long, 4), [("xxxx".to_owned(), true), whole("d")]);
        assert_eq!(read("abcde", 4), [("abcd".to_owned(), true)]);
    }
}
