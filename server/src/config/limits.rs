//! `[limits]`: bounds an operator may change. The keys are the names the rules use.

use runwarden_protocol::flight::{RECORD_BYTES_DEFAULT, RECORD_BYTES_MAX};
use runwarden_protocol::journal::retention::JOURNAL_RETENTION;
use runwarden_protocol::run::storage::DISK_LOW_BYTES;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, Unexpected};

/// Longest time a limit may be set to, 30 days.
const TIME_MS_MAX: u64 = 2_592_000_000;

/// Longest time journals may be set to be kept, 10 years.
const RETENTION_MS_MAX: u64 = 315_360_000_000;

/// Most runs a server may be set to hold.
const RUNS_MAX_MAX: u32 = 4_096;

/// Most agents that sessions may be set to keep.
const AGENTS_KEPT_MAX_MAX: u32 = 1_024;

/// Fewest bytes of steps that are worth keeping.
const RECORD_BYTES_MIN: usize = 16_384;

/// Most free space that a server may be set to ask for, 16 TiB.
const DISK_LOW_MAX: u64 = 1 << 44;

/// Limits in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Sessions that keep an agent between two turns (REG-13).
    #[serde(deserialize_with = "sessions")]
    pub agents_kept_max: u32,
    /// Key `ask_timeout`: how long a question stays open, in milliseconds (ASK-01).
    #[serde(rename = "ask_timeout", deserialize_with = "time")]
    pub ask_timeout_ms: u64,
    /// Key `agent_silence_max`: how long an agent may produce nothing, in milliseconds (LIM-02).
    #[serde(rename = "agent_silence_max", deserialize_with = "time")]
    pub agent_silence_ms_max: u64,
    /// Key `disk_low`: free bytes below which new runs are refused; 0 turns that off (LIM-05).
    #[serde(rename = "disk_low", deserialize_with = "disk_low")]
    pub disk_low_bytes: u64,
    /// Key `journal_retention`: how long the journal of a settled run is kept, in milliseconds (JRN-18).
    #[serde(rename = "journal_retention", deserialize_with = "retention")]
    pub journal_retention_ms: u64,
    /// Bytes of steps that the flight recorder keeps of a session; 0 turns it off.
    #[serde(deserialize_with = "record_bytes")]
    pub record_bytes_max: usize,
    /// Key `run_max`: how long a run may last, in milliseconds; `None` is unlimited (LIM-01).
    #[serde(rename = "run_max", deserialize_with = "some_time")]
    pub run_ms_max: Option<u64>,
    /// Runs of the whole server at once (LIM-03).
    #[serde(deserialize_with = "count")]
    pub runs_max: u32,
    /// Runs of one principal at once (LIM-03).
    #[serde(deserialize_with = "count")]
    pub runs_per_principal_max: u32,
    /// Key `unwind`: age from which a start that stands still is taken back, in milliseconds (REC-01).
    #[serde(rename = "unwind", deserialize_with = "time")]
    pub unwind_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            agents_kept_max: 25,
            ask_timeout_ms: 120_000,
            agent_silence_ms_max: 600_000,
            disk_low_bytes: DISK_LOW_BYTES,
            journal_retention_ms: JOURNAL_RETENTION.as_millis(),
            record_bytes_max: RECORD_BYTES_DEFAULT,
            run_ms_max: None,
            runs_max: 64,
            runs_per_principal_max: 16,
            unwind_ms: 180_000,
        }
    }
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    bounded(deserializer, TIME_MS_MAX, "milliseconds")
}

fn retention<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    bounded(deserializer, RETENTION_MS_MAX, "milliseconds")
}

fn some_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    time(deserializer).map(Some)
}

fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    bounded(deserializer, u64::from(RUNS_MAX_MAX), "runs")
        .map(|count| u32::try_from(count).expect("bounded by RUNS_MAX_MAX"))
}

fn sessions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    bounded(deserializer, u64::from(AGENTS_KEPT_MAX_MAX), "sessions")
        .map(|count| u32::try_from(count).expect("bounded by AGENTS_KEPT_MAX_MAX"))
}

fn record_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let value = i64::deserialize(deserializer)?;
    match usize::try_from(value) {
        Ok(fitting @ (0 | RECORD_BYTES_MIN..=RECORD_BYTES_MAX)) => Ok(fitting),
        _ => {
            let expected = format!("0, or {RECORD_BYTES_MIN} to {RECORD_BYTES_MAX} bytes");
            Err(D::Error::invalid_value(Unexpected::Signed(value), &expected.as_str()))
        }
    }
}

fn disk_low<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value = i64::deserialize(deserializer)?;
    match u64::try_from(value) {
        Ok(fitting @ 0..=DISK_LOW_MAX) => Ok(fitting),
        _ => {
            let expected = format!("0 to {DISK_LOW_MAX} bytes");
            Err(D::Error::invalid_value(Unexpected::Signed(value), &expected.as_str()))
        }
    }
}

fn bounded<'de, D: Deserializer<'de>>(
    deserializer: D,
    max: u64,
    unit: &str,
) -> Result<u64, D::Error> {
    let value = i64::deserialize(deserializer)?;
    match u64::try_from(value) {
        Ok(fitting) if (1..=max).contains(&fitting) => Ok(fitting),
        _ => {
            let expected = format!("1 to {max} {unit}");
            Err(D::Error::invalid_value(Unexpected::Signed(value), &expected.as_str()))
        }
    }
}
