//! The session store read directly, as another program would: nothing of the server's own reading.
#![allow(dead_code, reason = "each test binary uses a part of these")]

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row};
use serde_json::Value;

/// Ids are stored as signed integers in the order of the unsigned ones.
const SIGN: u64 = 1 << 63;

/// A run and its journal.
#[derive(Debug)]
pub(crate) struct StoredRun {
    /// How it ended, once it is settled.
    pub(crate) outcome: Option<String>,
    /// Why.
    pub(crate) reason: Option<String>,
    /// Its rows in order.
    pub(crate) rows: Vec<JournalRow>,
}

/// A row of a run's journal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JournalRow {
    /// Its number.
    pub(crate) seq: u64,
    /// Its event name; of content the kind of the item.
    pub(crate) event: String,
    /// The item, of content.
    pub(crate) item_id: Option<String>,
    /// The outcome, of a terminal or a settled steer.
    pub(crate) outcome: Option<String>,
    /// Its text, or the JSON text of its value.
    pub(crate) body: String,
}

/// A row of a session's transcript.
#[derive(Debug, PartialEq)]
pub(crate) struct Message {
    /// Its id.
    pub(crate) message_id: String,
    /// Who it is from.
    pub(crate) role: String,
    /// How its run ended.
    pub(crate) status: String,
    /// Its text.
    pub(crate) body: Option<String>,
    /// The marker of a system row.
    pub(crate) marker: Option<String>,
}

/// `sessions.db` of a state directory, read only.
pub(crate) struct Stored(Connection);

impl Stored {
    /// Opens the file of a server, running or not.
    pub(crate) fn open(state: &Path) -> Self {
        Self(open(state, "sessions.db"))
    }

    /// As [`Stored::open`], after both files of the state directory were found whole.
    ///
    /// # Panics
    /// When one is damaged.
    pub(crate) fn open_checked(state: &Path) -> Self {
        for file in ["sessions.db", "errors.db"] {
            let verdict: String = open(state, file)
                .query_row("PRAGMA integrity_check", [], |row| row.get(0))
                .unwrap_or_else(|error| panic!("{file} cannot be checked: {error}"));
            assert_eq!(verdict, "ok", "{file}");
        }
        Self::open(state)
    }

    /// A run with its journal, if it was ever accepted.
    ///
    /// # Panics
    /// As [`Stored::journal`].
    pub(crate) fn run(&self, run: &str) -> Option<StoredRun> {
        let sql = "SELECT outcome, reason FROM runs WHERE run_id = ?1";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let facts = self.0.query_row(sql, [column(run, "run_")], read).optional();
        let (outcome, reason) = facts.unwrap()?;
        Some(StoredRun { outcome, reason, rows: self.journal(run) })
    }

    /// How many runs of a session were ever accepted.
    pub(crate) fn runs_of(&self, session: &str) -> usize {
        let sql = "SELECT run_id FROM runs WHERE session_id = ?1";
        self.read(sql, column(session, "ses_"), |_| ()).len()
    }

    /// The tables that hold anything of a session but what its deletion leaves.
    pub(crate) fn tables_of(&self, session: &str) -> Vec<String> {
        let sql = "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
                   WHERE m.type = 'table' AND c.name = 'session_id'
                     AND m.name NOT IN ('tombstones', 'keys', 'closing') AND ?1 = ?1";
        let key = column(session, "ses_");
        let tables = self.read(sql, key, |row| row.get::<_, String>(0).unwrap());
        let holds = |table: &String| {
            let sql = format!("SELECT session_id FROM {table} WHERE session_id = ?1 LIMIT 1");
            !self.read(&sql, key, |_| ()).is_empty()
        };
        tables.into_iter().filter(holds).collect()
    }

    /// How many recoveries of a run are recorded (RST-06).
    pub(crate) fn recoveries_of(&self, run: &str) -> usize {
        let sql = "SELECT recorded FROM provenance WHERE run_id = ?1";
        self.read(sql, column(run, "run_"), |_| ()).len()
    }

    /// Everything that is recorded of the recoveries of a run, by column (RST-06).
    pub(crate) fn provenance_of(&self, run: &str) -> Vec<Value> {
        let sql = "SELECT * FROM provenance WHERE run_id = ?1";
        self.read(sql, column(run, "run_"), |row| {
            let names: Vec<String> = row.as_ref().column_names().map(str::to_owned).collect();
            let value = |name: &str| match row.get_ref(name).unwrap() {
                ValueRef::Integer(number) => Value::from(number),
                other => Value::from(other.as_str().unwrap()),
            };
            Value::Object(names.iter().map(|name| (name.clone(), value(name))).collect())
        })
    }

    /// How many runs no settlement is recorded for.
    pub(crate) fn unsettled(&self) -> i64 {
        let sql = "SELECT count(*) FROM runs WHERE outcome IS NULL";
        self.0.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// The rows of a run in order, numbered 1..n.
    ///
    /// # Panics
    /// When a number is missing (INV-SEQ).
    pub(crate) fn journal(&self, run: &str) -> Vec<JournalRow> {
        let rows = self.read(
            "SELECT * FROM journal WHERE run_id = ?1 ORDER BY seq",
            column(run, "run_"),
            |row| JournalRow {
                seq: row.get::<_, i64>("seq").unwrap().cast_unsigned(),
                event: row.get("event").unwrap(),
                item_id: item_id(row),
                outcome: row.get("outcome").unwrap(),
                body: row.get("body").unwrap(),
            },
        );
        let numbers: Vec<u64> = rows.iter().map(|row| row.seq).collect();
        assert_eq!(numbers, (1..=rows.len() as u64).collect::<Vec<_>>());
        rows
    }

    /// The settled rows of a session in order.
    pub(crate) fn messages(&self, session: &str) -> Vec<Message> {
        self.read(
            "SELECT * FROM messages WHERE session_id = ?1 ORDER BY position",
            column(session, "ses_"),
            |row| Message {
                message_id: id("msg_", row.get("message_id").unwrap()),
                role: row.get("role").unwrap(),
                status: row.get("status").unwrap(),
                body: row.get("body").unwrap(),
                marker: row.get("marker").unwrap(),
            },
        )
    }

    /// Runs of a session in the order they were settled, each with its outcome.
    pub(crate) fn settlements(&self, session: &str) -> Vec<(String, String)> {
        self.read(
            "SELECT * FROM settlements WHERE session_id = ?1 ORDER BY settled",
            column(session, "ses_"),
            |row| (id("run_", row.get("run_id").unwrap()), row.get("outcome").unwrap()),
        )
    }

    /// The runs of a session.
    pub(crate) fn run_ids(&self, session: &str) -> Vec<String> {
        let sql = "SELECT run_id FROM runs WHERE session_id = ?1";
        self.read(sql, column(session, "ses_"), |row| id("run_", row.get(0).unwrap()))
    }

    /// The outcomes that the turn journal states of a run.
    pub(crate) fn turn_ends(&self, run: &str) -> Vec<String> {
        let sql = "SELECT outcome FROM turn_journal WHERE run_id = ?1 AND outcome IS NOT NULL";
        self.read(sql, column(run, "run_"), |row| row.get(0).unwrap())
    }

    /// The texts that wait in a session's queue, in order.
    pub(crate) fn queued(&self, session: &str) -> Vec<String> {
        let sql = "SELECT text FROM queue WHERE session_id = ?1 ORDER BY place";
        self.read(sql, column(session, "ses_"), |row| row.get(0).unwrap())
    }

    /// The text of a session's turn that is not settled.
    pub(crate) fn pending(&self, session: &str) -> Option<String> {
        let sql = "SELECT pending_text FROM sessions WHERE session_id = ?1
                   AND pending_run_id IS NOT NULL";
        self.read(sql, column(session, "ses_"), |row| row.get(0).unwrap()).pop()
    }

    /// Whether the journal of a run holds this accepted steer.
    pub(crate) fn has_steer(&self, run: &str, steer: &str) -> bool {
        let sql = "SELECT subject FROM journal WHERE run_id = ?1 AND event = 'steer_accepted'";
        let steers = self.read(sql, column(run, "run_"), |row| row.get(0).unwrap());
        steers.contains(&column(steer, "steer_"))
    }

    fn read<T>(&self, sql: &str, key: i64, read: impl Fn(&Row<'_>) -> T) -> Vec<T> {
        let mut statement = self.0.prepare(sql).unwrap();
        let rows = statement.query_map([key], |row| Ok(read(row))).unwrap();
        rows.map(Result::unwrap).collect()
    }
}

impl StoredRun {
    /// The outcome that the journal states, if it holds a terminal.
    pub(crate) fn terminal(&self) -> Option<&str> {
        self.terminals().next()
    }

    /// The outcomes of all its terminals; a sound journal has at most one.
    pub(crate) fn terminals(&self) -> impl Iterator<Item = &str> {
        let terminals = self.rows.iter().filter(|row| row.event == "terminal");
        terminals.filter_map(|row| row.outcome.as_deref())
    }

    /// The rows up to `seq`, which may lie beyond the last one.
    pub(crate) fn rows_to(&self, seq: u64) -> &[JournalRow] {
        &self.rows[..self.rows.partition_point(|row| row.seq <= seq)]
    }

    /// The text items one after another, in order of their first rows.
    pub(crate) fn text(&self) -> String {
        let texts = items(&self.rows).into_iter().filter(|(_, kind)| *kind == "text");
        texts.map(|(item_id, _)| item_text(&self.rows, item_id)).collect()
    }
}

/// Text of one item as the rows of a journal hold it.
pub(crate) fn item_text(rows: &[JournalRow], item_id: &str) -> String {
    rows_of(rows, item_id).map(|row| row.body.as_str()).collect()
}

/// Newest value of one item as the rows of a journal hold it.
pub(crate) fn item_value(rows: &[JournalRow], item_id: &str) -> Value {
    serde_json::from_str(&rows_of(rows, item_id).last().expect("a row").body).unwrap()
}

/// Item ids in the order of their first rows, each with its kind.
pub(crate) fn items(rows: &[JournalRow]) -> Vec<(&str, &str)> {
    let mut items: Vec<(&str, &str)> = Vec::new();
    for row in rows {
        if let Some(item_id) = &row.item_id
            && !items.iter().any(|(known, _)| known == item_id)
        {
            items.push((item_id, &row.event));
        }
    }
    items
}

fn open(state: &Path, file: &str) -> Connection {
    Connection::open_with_flags(state.join(file), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

fn rows_of<'a>(rows: &'a [JournalRow], item_id: &str) -> impl Iterator<Item = &'a JournalRow> {
    rows.iter().filter(move |row| row.item_id.as_deref() == Some(item_id))
}

fn item_id(row: &Row<'_>) -> Option<String> {
    let event: String = row.get("event").unwrap();
    let is_content = !event.starts_with("question_") && event != "terminal";
    is_content.then(|| id("item_", row.get("subject").unwrap()))
}

fn column(id: &str, prefix: &str) -> i64 {
    let digits = id.strip_prefix(prefix).unwrap();
    (u64::from_str_radix(digits, 16).unwrap() ^ SIGN).cast_signed()
}

fn id(prefix: &str, column: i64) -> String {
    format!("{prefix}{:016x}", column.cast_unsigned() ^ SIGN)
}
