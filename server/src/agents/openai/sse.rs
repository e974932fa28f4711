//! Server-sent events, read piece by piece.
//!
//! Only the data of events is kept: chat completions use neither names nor ids.

/// Most bytes of one line, without its end.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// Most bytes of the data of one event.
pub const EVENT_BYTES_MAX: usize = 1 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Why the bytes are no usable event stream. The parser takes nothing more after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// A line is longer than [`LINE_BYTES_MAX`].
    #[error("a line of the event stream is longer than {LINE_BYTES_MAX} bytes")]
    LineTooLong,
    /// The data of an event is longer than [`EVENT_BYTES_MAX`].
    #[error("an event is longer than {EVENT_BYTES_MAX} bytes")]
    EventTooLong,
    /// A line is not UTF-8.
    #[error("the event stream is not UTF-8")]
    NotUtf8,
}

/// Turns bytes, cut anywhere, into events.
#[derive(Debug, Default)]
pub struct SseParser {
    line: Vec<u8>,
    /// Data lines of the event so far, joined by line feeds.
    data: Option<String>,
    first_line_seen: bool,
    after_carriage_return: bool,
}

impl SseParser {
    /// Takes the next bytes and adds the data of each event they complete to `events`.
    ///
    /// # Errors
    /// [`SseError`]; events completed before the fault are in `events`.
    pub fn push(&mut self, mut bytes: &[u8], events: &mut Vec<String>) -> Result<(), SseError> {
        while !bytes.is_empty() {
            if self.after_carriage_return {
                self.after_carriage_return = false;
                if let Some(rest) = bytes.strip_prefix(b"\n") {
                    bytes = rest;
                    continue;
                }
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + piece.len() > LINE_BYTES_MAX {
                return Err(SseError::LineTooLong);
            }
            self.line.extend_from_slice(piece);
            let Some(end) = end else { break };
            self.after_carriage_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            self.end_line(&line, events)?;
        }
        Ok(())
    }

    /// The data of the event that the end of the stream cut, if any. Some endpoints leave out the
    /// empty line after their last event.
    ///
    /// # Errors
    /// As [`SseParser::push`].
    pub fn finish(mut self) -> Result<Option<String>, SseError> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.end_line(&line, &mut Vec::new())?;
        }
        Ok(self.data)
    }

    fn end_line(&mut self, line: &[u8], events: &mut Vec<String>) -> Result<(), SseError> {
        let is_first = !std::mem::replace(&mut self.first_line_seen, true);
        let line = if is_first { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        if line.is_empty() {
            events.extend(self.data.take().filter(|data| !data.is_empty()));
            return Ok(());
        }
        let line = std::str::from_utf8(line).map_err(|_| SseError::NotUtf8)?;
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field != "data" {
            return Ok(());
        }
        let value = value.strip_prefix(' ').unwrap_or(value);
        match &mut self.data {
            None => self.data = Some(value.to_owned()),
            Some(data) if data.len() + 1 + value.len() > EVENT_BYTES_MAX => {
                return Err(SseError::EventTooLong);
            }
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    use super::*;

    fn parse(pieces: &[&[u8]]) -> Result<Vec<String>, SseError> {
        let mut parser = SseParser::default();
        let mut events = Vec::new();
        for piece in pieces {
            parser.push(piece, &mut events)?;
        }
        Ok(events)
    }

    #[test]
    fn every_line_end_ends_a_line() {
        for text in
            ["data: a\n\ndata: b\n\n", "data: a\r\n\r\ndata: b\r\n\r\n", "data:a\r\rdata:b\r\r"]
        {
            assert_eq!(parse(&[text.as_bytes()]).unwrap(), ["a", "b"], "{text:?}");
        }
    }

    #[test]
    fn comments_and_other_fields_are_skipped() {
        let text = b": hello\nevent: x\nid: 1\nretry: 5\nnonsense\ndata: a\n: more\n\n\ndata:\n\n";
        assert_eq!(parse(&[text]).unwrap(), ["a"]);
    }

    #[test]
    fn data_lines_are_joined_and_only_one_space_is_taken() {
        assert_eq!(parse(&[b"data:  a\ndata\ndata: b: c\n\n"]).unwrap(), [" a\n\nb: c"]);
        assert_eq!(parse(&["\u{feff}data: a\n\n".as_bytes()]).unwrap(), ["a"]);
    }

    #[test]
    fn an_unfinished_event_is_given_only_by_finish() {
        for (text, expected) in [
            ("data: [DONE]", Some("[DONE]")),
            ("data: [DONE]\n", Some("[DONE]")),
            ("data: [DONE]\n\n", None),
            ("", None),
        ] {
            let mut parser = SseParser::default();
            parser.push(text.as_bytes(), &mut Vec::new()).unwrap();
            assert_eq!(parser.finish().unwrap().as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_line_has_a_bound() {
        let line = |bytes: usize| format!("data: {}\n\n", "x".repeat(bytes - "data: ".len()));
        for bytes in [LINE_BYTES_MAX - 1, LINE_BYTES_MAX] {
            assert_eq!(parse(&[line(bytes).as_bytes()]).unwrap().len(), 1);
        }
        let long = line(LINE_BYTES_MAX + 1);
        assert_eq!(parse(&[long.as_bytes()]), Err(SseError::LineTooLong));
        let (head, tail) = long.as_bytes().split_at(LINE_BYTES_MAX);
        assert_eq!(parse(&[head, tail]), Err(SseError::LineTooLong));
    }

    #[test]
    fn an_event_has_a_bound() {
        let half = EVENT_BYTES_MAX / 2;
        let event =
            |rest: usize| format!("data:{}\ndata:{}\n\n", "x".repeat(half), "y".repeat(rest));
        for bytes in [EVENT_BYTES_MAX - 1, EVENT_BYTES_MAX] {
            let events = parse(&[event(bytes - half - 1).as_bytes()]).unwrap();
            assert_eq!(events[0].len(), bytes);
        }
        let long = event(EVENT_BYTES_MAX - half);
        assert_eq!(parse(&[long.as_bytes()]), Err(SseError::EventTooLong));
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        assert_eq!(parse(&[b"data: \xff\n"]), Err(SseError::NotUtf8));
        assert_eq!(parse(&[b"data: \xc3", b"\xa4\n\n"]).unwrap(), ["ä"]);
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_makes_no_difference(
            lines in prop::collection::vec("(data: ?|: |x)?[aä€\u{1f600}\r\n :]{0,6}", 0..12),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let text = lines.join("\n");
            let bytes = text.as_bytes();
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            ends.push(bytes.len());
            ends.sort_unstable();
            let mut start = 0;
            let pieces: Vec<&[u8]> =
                ends.iter().map(|end| &bytes[std::mem::replace(&mut start, *end)..*end]).collect();
            assert_eq!(parse(&pieces), parse(&[bytes]));
        }
    }
}
