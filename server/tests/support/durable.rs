//! What is durable: the two files of a state directory read with SQLite, past the server's own code.
#![allow(dead_code, reason = "each test binary uses a part of these")]

use std::path::Path;

use rusqlite::{Connection, OpenFlags, OptionalExtension};
use serde_json::Value;

/// Names of the database files.
const FILES: [&str; 2] = ["sessions.db", "errors.db"];

/// The sign bit, by which a stored id differs from its number so that ids keep their order.
const SIGN: u64 = 1 << 63;

/// The files of one state directory, open for reading.
pub(crate) struct Stored {
    sessions: Connection,
}

/// A run and its journal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredRun {
    /// How it ended, once it is settled.
    pub(crate) outcome: Option<String>,
    /// Why.
    pub(crate) reason: Option<String>,
    /// Rows of its journal in order.
    pub(crate) rows: Vec<JournalRow>,
}

/// A row of a journal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JournalRow {
    /// Its number.
    pub(crate) seq: u64,
    /// Its event name; of content the kind of the item.
    pub(crate) event: String,
    /// Column of the item or question it is about.
    pub(crate) subject: Option<i64>,
    /// Outcome of a terminal.
    pub(crate) outcome: Option<String>,
    /// Text, or the JSON text of a value.
    pub(crate) body: String,
}

/// A row of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// user, assistant or system.
    pub(crate) role: String,
    /// How its run ended.
    pub(crate) status: String,
    /// Its text.
    pub(crate) body: Option<String>,
    /// What a system row marks.
    pub(crate) marker: Option<String>,
}

impl Stored {
    /// Opens the files and checks that both are whole.
    ///
    /// # Panics
    /// When one cannot be read or is damaged.
    pub(crate) fn open(state: &Path) -> Self {
        let open = |file: &str| {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(state.join(file), flags).unwrap();
            let verdict: String = connection
                .query_row("PRAGMA integrity_check", [], |row| row.get(0))
                .unwrap_or_else(|error| panic!("{file} cannot be checked: {error}"));
            assert_eq!(verdict, "ok", "{file}");
            connection
        };
        let [sessions, _errors] = FILES.map(open);
        Self { sessions }
    }

    /// The run with this id, with its journal.
    ///
    /// # Panics
    /// When its rows are not numbered 1 to n (INV-SEQ).
    pub(crate) fn run(&self, run: &str) -> Option<StoredRun> {
        let id = column(run);
        let facts = self.sessions.query_row(
            "SELECT outcome, reason FROM runs WHERE run_id = ?1",
            [id],
            |row| Ok((row.get(0)?, row.get(1)?)),
        );
        let (outcome, reason) = facts.optional().unwrap()?;
        let rows = self.journal(id);
        for (place, row) in rows.iter().enumerate() {
            assert_eq!(row.seq, place as u64 + 1, "the journal of {run} has a gap");
        }
        Some(StoredRun { outcome, reason, rows })
    }

    /// How many runs of the session were ever accepted.
    pub(crate) fn runs_of(&self, session: &str) -> u64 {
        let sql = "SELECT count(*) FROM runs WHERE session_id = ?1";
        self.count(sql, &[column(session)])
    }

    /// Runs that no settlement is recorded for.
    pub(crate) fn unsettled(&self) -> u64 {
        let sql = "SELECT count(*) FROM runs WHERE outcome IS NULL";
        self.count(sql, &[])
    }

    /// Records of recoveries of the run (RST-06).
    pub(crate) fn recoveries_of(&self, run: &str) -> u64 {
        let sql = "SELECT count(*) FROM provenance WHERE run_id = ?1";
        self.count(sql, &[column(run)])
    }

    /// The transcript of a session, oldest first.
    pub(crate) fn transcript(&self, session: &str) -> Vec<Message> {
        let sql = "SELECT role, status, body, marker FROM messages
                   WHERE session_id = ?1 ORDER BY position";
        let mut statement = self.sessions.prepare(sql).unwrap();
        let rows = statement.query_map([column(session)], |row| {
            Ok(Message {
                role: row.get(0)?,
                status: row.get(1)?,
                body: row.get(2)?,
                marker: row.get(3)?,
            })
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    fn count(&self, sql: &str, values: &[i64]) -> u64 {
        let values = rusqlite::params_from_iter(values);
        let count: i64 = self.sessions.query_row(sql, values, |row| row.get(0)).unwrap();
        count.cast_unsigned()
    }

    fn journal(&self, run: i64) -> Vec<JournalRow> {
        let sql = "SELECT seq, event, subject, outcome, body FROM journal
                   WHERE run_id = ?1 ORDER BY seq";
        let mut statement = self.sessions.prepare(sql).unwrap();
        let rows = statement.query_map([run], |row| {
            Ok(JournalRow {
                seq: row.get::<_, i64>(0)?.cast_unsigned(),
                event: row.get(1)?,
                subject: row.get(2)?,
                outcome: row.get(3)?,
                body: row.get(4)?,
            })
        });
        rows.unwrap().map(Result::unwrap).collect()
    }
}

impl StoredRun {
    /// The outcome that the journal states, if it holds a terminal.
    pub(crate) fn terminal(&self) -> Option<&str> {
        self.rows.iter().find_map(|row| row.outcome.as_deref())
    }

    /// Text of all rows of the items of one kind, item after item in order of their first rows.
    pub(crate) fn text_of(&self, kind: &str) -> String {
        let mut items: Vec<(Option<i64>, String)> = Vec::new();
        for row in self.rows.iter().filter(|row| row.event == kind) {
            match items.iter_mut().find(|(item, _)| *item == row.subject) {
                Some((_, text)) => text.push_str(&row.body),
                None => items.push((row.subject, row.body.clone())),
            }
        }
        items.into_iter().map(|(_, text)| text).collect()
    }

    /// Text that the rows up to `seq` give an item.
    pub(crate) fn text_at(&self, item: &str, seq: u64) -> String {
        self.rows_of(item, seq).map(|row| &*row.body).collect()
    }

    /// Value that the rows up to `seq` give an item.
    pub(crate) fn value_at(&self, item: &str, seq: u64) -> Value {
        let row = self.rows_of(item, seq).last();
        row.map_or(Value::Null, |row| serde_json::from_str(&row.body).unwrap())
    }

    fn rows_of(&self, item: &str, seq: u64) -> impl Iterator<Item = &JournalRow> {
        let item = Some(column(item));
        self.rows.iter().filter(move |row| row.subject == item && row.seq <= seq)
    }
}

/// The column of an id: the number in its last 16 digits, with the sign turned.
fn column(id: &str) -> i64 {
    let digits = id.len().checked_sub(16).map(|start| &id[start..]);
    let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    (number.unwrap_or_else(|| panic!("not an id: {id}")) ^ SIGN).cast_signed()
}
