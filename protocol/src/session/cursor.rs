//! The opaque texts a client sends back: tokens of history snapshots, cursors of pages and lists.
//!
//! Each is a version, then numbers in hexadecimal, at most 96 ASCII characters, and names the store it was
//! made by (SES-46). A text that does not re-encode to itself is none of ours (ERR-11).

use std::fmt::Write as _;

use crate::ids::{MessageId, SessionId, StoreId};
use crate::instant::Instant;
use crate::wire::limits::CURSOR_CHARS_MAX;

/// Why a cursor or token cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// Not a text this server makes for this use.
    #[error("not a cursor of this kind")]
    Malformed,
    /// Made by another store, or by this one before it lost history.
    #[error("a cursor of another store")]
    OtherStore,
    /// Made for another session.
    #[error("a cursor of another session")]
    OtherSession,
    /// What it names is not there any more.
    #[error("the cursor's place is gone; read the newest page")]
    Gone,
}

/// The transcript as it was when its newest page was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The store.
    pub store_id: StoreId,
    /// The session.
    pub session_id: SessionId,
    /// Settled rows captured.
    pub length: u64,
    /// Whether a pending turn was shown behind them.
    pub pending: bool,
    /// The row it ended in.
    pub head_id: Option<MessageId>,
}

/// The place before which an older page ends, named by its newest row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCursor {
    /// The store.
    pub store_id: StoreId,
    /// The session.
    pub session_id: SessionId,
    /// Rows before the place; at least 1.
    pub before: u64,
    /// The row at position `before` − 1, by which the place is resolved (HIS-9).
    pub newest_id: MessageId,
}

/// A place in the list of sessions, which is strictly descending by both fields (LIST-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListCursor {
    /// The store.
    pub store_id: StoreId,
    /// Activity of the last session delivered.
    pub activity_at: Instant,
    /// That session.
    pub session_id: SessionId,
}

/// A place in the list of errors, which is strictly descending by both fields (ERR-9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorCursor {
    /// The store.
    pub store_id: StoreId,
    /// Milliseconds since 1970 UTC of the last error delivered.
    pub occurred_at_ms: u64,
    /// That error: `err_` and 32 hex digits.
    pub error_id: String,
}

const ERROR_PREFIX: &str = "err_";

impl Snapshot {
    /// The opaque text.
    pub fn encode(self) -> String {
        let head = self.head_id.map(MessageId::number);
        encode(
            "s1",
            &[
                Some(self.store_id.number()),
                Some(self.session_id.number()),
                Some(self.length),
                Some(u64::from(self.pending)),
                head,
            ],
        )
    }

    /// The snapshot a text names.
    ///
    /// # Errors
    /// [`CursorError::Malformed`] unless the text is exactly what [`Snapshot::encode`] makes.
    pub fn parse(text: &str) -> Result<Self, CursorError> {
        let [store, session, length, pending, head] = decode("s1", text)?;
        let snapshot = Self {
            store_id: StoreId::new(needed(store)?),
            session_id: SessionId::new(needed(session)?),
            length: needed(length)?,
            pending: pending == Some(1),
            head_id: head.map(MessageId::new),
        };
        exactly(text, &snapshot.encode(), snapshot)
    }
}

impl PageCursor {
    /// The opaque text.
    pub fn encode(self) -> String {
        let numbers = [
            self.store_id.number(),
            self.session_id.number(),
            self.before,
            self.newest_id.number(),
        ];
        encode("p1", &numbers.map(Some))
    }

    /// The place a text names.
    ///
    /// # Errors
    /// [`CursorError::Malformed`] unless the text is exactly what [`PageCursor::encode`] makes.
    pub fn parse(text: &str) -> Result<Self, CursorError> {
        let [store, session, before, newest] = decode("p1", text)?;
        let cursor = Self {
            store_id: StoreId::new(needed(store)?),
            session_id: SessionId::new(needed(session)?),
            before: needed(before)?,
            newest_id: MessageId::new(needed(newest)?),
        };
        exactly(text, &cursor.encode(), cursor)
    }
}

impl ListCursor {
    /// The opaque text.
    pub fn encode(self) -> String {
        let numbers =
            [self.store_id.number(), self.activity_at.as_micros(), self.session_id.number()];
        encode("l1", &numbers.map(Some))
    }

    /// The place a text names in a list of this store.
    ///
    /// # Errors
    /// [`CursorError`] unless the text is exactly what [`ListCursor::encode`] makes for this store.
    pub fn parse(text: &str, store_id: StoreId) -> Result<Self, CursorError> {
        let [store, activity, session] = decode("l1", text)?;
        let cursor = Self {
            store_id: StoreId::new(needed(store)?),
            activity_at: Instant::from_micros(needed(activity)?),
            session_id: SessionId::new(needed(session)?),
        };
        exactly(text, &cursor.encode(), ())?;
        if cursor.store_id == store_id { Ok(cursor) } else { Err(CursorError::OtherStore) }
    }
}

impl ErrorCursor {
    /// The opaque text.
    pub fn encode(&self) -> String {
        let number = self.error_id.strip_prefix(ERROR_PREFIX).unwrap_or_default();
        let mut text = encode("e1", &[self.store_id.number(), self.occurred_at_ms].map(Some));
        let _ = write!(text, ".{number}");
        text
    }

    /// The place a text names in a list of this store.
    ///
    /// # Errors
    /// [`CursorError`] unless the text is exactly what [`ErrorCursor::encode`] makes for this store.
    pub fn parse(text: &str, store_id: StoreId) -> Result<Self, CursorError> {
        let (numbers, error) = text.rsplit_once('.').ok_or(CursorError::Malformed)?;
        let [store, occurred] = decode("e1", numbers)?;
        let is_id = error.len() == 32
            && error.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if !is_id {
            return Err(CursorError::Malformed);
        }
        let cursor = Self {
            store_id: StoreId::new(needed(store)?),
            occurred_at_ms: needed(occurred)?,
            error_id: format!("{ERROR_PREFIX}{error}"),
        };
        exactly(text, &cursor.encode(), ())?;
        if cursor.store_id == store_id { Ok(cursor) } else { Err(CursorError::OtherStore) }
    }
}

fn encode(version: &str, numbers: &[Option<u64>]) -> String {
    let mut text = version.to_owned();
    for number in numbers {
        text.push('.');
        match number {
            // Writing to a string cannot fail.
            Some(number) => drop(write!(text, "{number:x}")),
            None => text.push('-'),
        }
    }
    text
}

fn decode<const N: usize>(version: &str, text: &str) -> Result<[Option<u64>; N], CursorError> {
    let mut parts = text.split('.');
    if text.len() > CURSOR_CHARS_MAX || parts.next() != Some(version) {
        return Err(CursorError::Malformed);
    }
    let mut numbers = [None; N];
    for number in &mut numbers {
        let part = parts.next().ok_or(CursorError::Malformed)?;
        if part != "-" {
            let parsed = u64::from_str_radix(part, 16).map_err(|_| CursorError::Malformed)?;
            *number = Some(parsed);
        }
    }
    if parts.next().is_none() { Ok(numbers) } else { Err(CursorError::Malformed) }
}

fn needed(number: Option<u64>) -> Result<u64, CursorError> {
    number.ok_or(CursorError::Malformed)
}

fn exactly<T>(given: &str, made: &str, value: T) -> Result<T, CursorError> {
    if given == made { Ok(value) } else { Err(CursorError::Malformed) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STORE: StoreId = StoreId::new(7);

    #[test]
    fn a_cursor_of_another_store_is_named_so() {
        let list = ListCursor {
            store_id: StoreId::new(8),
            activity_at: Instant::from_millis(1),
            session_id: SessionId::new(1),
        };
        assert_eq!(ListCursor::parse(&list.encode(), STORE), Err(CursorError::OtherStore));
    }

    #[test]
    fn altered_texts_are_refused() {
        for text in [
            "",
            "l1",
            "l1.7.1",
            "l1.7.1.2.3",
            "l2.7.1.2",
            "l1.7.01.2",
            "l1.7.1.2 ",
            "l1.7.+1.2",
            "l1.7.A.2",
            "l1.7.-.2",
            "l1.7.1.ü",
        ] {
            assert_eq!(ListCursor::parse(text, STORE), Err(CursorError::Malformed), "{text}");
        }
        let id = "0".repeat(32);
        for text in [format!("e1.7.1.{id}0"), format!("e1.7.01.{id}"), "e1.7.1.".to_owned()] {
            assert_eq!(ErrorCursor::parse(&text, STORE), Err(CursorError::Malformed), "{text}");
        }
        assert!(ErrorCursor::parse(&format!("e1.7.1.{id}"), STORE).is_ok());
        assert_eq!(Snapshot::parse("s1.1.2.3.2.-"), Err(CursorError::Malformed));
    }

    proptest! {
        #[test]
        fn cursors_round_trip_within_their_length(
            numbers in prop::array::uniform4(any::<u64>()),
            pending: bool,
            has_head: bool,
            error in "[0-9a-f]{32}",
        ) {
            let [a, b, c, d] = numbers;
            let snapshot = Snapshot {
                store_id: StoreId::new(a),
                session_id: SessionId::new(b),
                length: c,
                pending,
                head_id: has_head.then(|| MessageId::new(d)),
            };
            let page = PageCursor {
                store_id: StoreId::new(a),
                session_id: SessionId::new(b),
                before: c,
                newest_id: MessageId::new(d),
            };
            let list = ListCursor {
                store_id: STORE,
                activity_at: Instant::from_micros(a),
                session_id: SessionId::new(b),
            };
            let errors = ErrorCursor {
                store_id: STORE,
                occurred_at_ms: a,
                error_id: format!("{ERROR_PREFIX}{error}"),
            };
            for text in [snapshot.encode(), page.encode(), list.encode(), errors.encode()] {
                prop_assert!(text.is_ascii() && text.len() <= CURSOR_CHARS_MAX);
            }
            prop_assert_eq!(Snapshot::parse(&snapshot.encode()), Ok(snapshot));
            prop_assert_eq!(PageCursor::parse(&page.encode()), Ok(page));
            prop_assert_eq!(ListCursor::parse(&list.encode(), STORE), Ok(list));
            prop_assert_eq!(ErrorCursor::parse(&errors.encode(), STORE), Ok(errors));
        }

        /// ERR-11 [property]: what is longer than 96 characters or does not re-encode to itself is no cursor.
        #[test]
        fn no_other_text_is_a_cursor(text in "[elps]1[.0-9a-f-]{0,100}") {
            if let Ok(cursor) = ErrorCursor::parse(&text, STORE) {
                prop_assert_eq!(cursor.encode(), text.clone());
                prop_assert!(text.len() <= CURSOR_CHARS_MAX);
            }
            if let Ok(cursor) = PageCursor::parse(&text) {
                prop_assert_eq!(cursor.encode(), text);
            }
        }
    }
}
