//! The Record: one step of one machine, as a log line, a replay step and a diagram's arrow
//! (docs/spec/record.md).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::instant::Instant;
use crate::machine::Reject;

/// FNV-1a offset basis of 64 bits: the digest before the first record.
pub const DIGEST_START: Digest = Digest(0xcbf2_9ce4_8422_2325);

/// Version of the machines' inputs and states, as race files state it.
pub const SCHEMA_VERSION: u64 = 1;

/// Kind of the input of a step that only time made: [`crate::machine::Machine::tick`].
pub const TICK: &str = "tick";

/// Kind of the input of a record that holds the state a machine began in, as `state`; no step is taken by it.
pub const BEGAN: &str = "began";

/// Machine of a record that tells of the server itself.
pub const SERVER: &str = "server";

/// Kind of the input that tells of a new process: the memory of all machines is gone.
pub const RESTARTED: &str = "restarted";

/// Greatest magnitude of a number in a record, 2^53 − 1.
pub const NUMBER_MAX: u64 = (1 << 53) - 1;

const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// A chained FNV-1a hash over canonical JSON, written as 16 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(u64);

impl Digest {
    /// The digest after `bytes`.
    pub fn chain(self, bytes: &[u8]) -> Self {
        Self(
            bytes
                .iter()
                .fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME)),
        )
    }

    /// The hash as a number.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// The digest after the canonical JSON of `value`: object keys sorted, no white space.
    pub fn chain_json(self, value: &Value) -> Self {
        self.chain(canonical_json(value).as_bytes())
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl std::str::FromStr for Digest {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        let lower_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if text.len() != 16 || !text.bytes().all(lower_hex) {
            return Err(RecordError::Digest);
        }
        u64::from_str_radix(text, 16).map(Self).map_err(|_| RecordError::Digest)
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// One step of one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Number of the step, from 1.
    pub n: u64,
    /// Time of the step.
    pub now_us: Instant,
    /// Which machine, e.g. `run/ses_0123456789abcdef`.
    pub machine: String,
    /// The input: an object with its `kind`.
    pub input: Value,
    /// The outputs in order.
    pub outputs: Vec<Value>,
    /// Why the input was turned away, if it was.
    #[serde(deserialize_with = "Option::deserialize")]
    pub reject: Option<RecordReject>,
    /// The chain after this record.
    pub digest: Digest,
}

/// A rejection inside a [`Record`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordReject {
    /// `local` or `remote`.
    pub side: String,
    /// The code of the rejection.
    pub code: String,
}

/// Why a line is no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The line is not the JSON of a record.
    #[error("not a record: {0}")]
    Malformed(String),
    /// A digest is not 16 lowercase hex digits.
    #[error("a digest has 16 lowercase hex digits")]
    Digest,
    /// The numbers of a chain have no holes.
    #[error("record {found} stands where record {expected} is due: a line is missing or moved")]
    Number {
        /// What the line says.
        found: u64,
        /// The number that is due.
        expected: u64,
    },
    /// Time falls.
    #[error("record {n}: time falls below that of the record before")]
    Time {
        /// Number of the record.
        n: u64,
    },
    /// The chain does not continue the record before.
    #[error("record {n}: digest is {found}, the chain gives {expected}")]
    Chain {
        /// Number of the record.
        n: u64,
        /// What the line says.
        found: Digest,
        /// What the chain gives.
        expected: Digest,
    },
}

/// Writes records of one chain.
#[derive(Clone, Debug)]
pub struct Recorder {
    next: u64,
    now: Instant,
    digest: Digest,
}

impl Default for Recorder {
    fn default() -> Self {
        Self { next: 1, now: Instant::ZERO, digest: DIGEST_START }
    }
}

impl Recorder {
    /// The chain so far.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Makes the record of one step and moves the chain on.
    ///
    /// # Errors
    /// [`RecordError::Malformed`] when an input or output has no JSON form.
    pub fn record<I: Serialize, O: Serialize>(
        &mut self,
        now: Instant,
        machine: &str,
        input: &I,
        outputs: &[O],
        reject: Option<&Reject>,
    ) -> Result<Record, RecordError> {
        let mut record = Record {
            n: self.next,
            now_us: now,
            machine: machine.to_owned(),
            input: to_value(input)?,
            outputs: outputs.iter().map(to_value).collect::<Result<_, _>>()?,
            reject: reject.map(RecordReject::from),
            digest: self.digest,
        };
        record.digest = digest_after(self.digest, &record)?;
        self.next += 1;
        self.now = now;
        self.digest = record.digest;
        Ok(record)
    }

    /// Checks that `record` continues the chain, and moves the chain on.
    ///
    /// # Errors
    /// [`RecordError::Number`] and [`RecordError::Time`] when the record is out of order,
    /// [`RecordError::Chain`] when its digest is another one.
    pub fn check(&mut self, record: &Record) -> Result<(), RecordError> {
        if record.n != self.next {
            return Err(RecordError::Number { found: record.n, expected: self.next });
        }
        if record.now_us < self.now {
            return Err(RecordError::Time { n: record.n });
        }
        let expected = digest_after(self.digest, record)?;
        if expected != record.digest {
            return Err(RecordError::Chain { n: record.n, found: record.digest, expected });
        }
        self.next += 1;
        self.now = record.now_us;
        self.digest = expected;
        Ok(())
    }
}

impl Record {
    /// Reads one line.
    ///
    /// # Errors
    /// [`RecordError::Malformed`] with the reason.
    pub fn from_line(line: &str) -> Result<Self, RecordError> {
        let record: Self = serde_json::from_str(line)
            .map_err(|error| RecordError::Malformed(error.to_string()))?;
        record.check_shape()?;
        Ok(record)
    }

    /// The record as one line without its LF.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("a record holds JSON values and strings only")
    }

    fn check_shape(&self) -> Result<(), RecordError> {
        let malformed = |reason: &str| Err(RecordError::Malformed(reason.to_owned()));
        if self.n == 0 || self.n > NUMBER_MAX || self.now_us.as_micros() > NUMBER_MAX {
            return malformed("`n` counts from 1, and no number is above 2^53-1");
        }
        if self.machine.is_empty() {
            return malformed("`machine` is empty");
        }
        check_entry(&self.input)?;
        self.outputs.iter().try_for_each(check_entry)?;
        match &self.reject {
            Some(reject) if !["local", "remote"].contains(&reject.side.as_str()) => {
                malformed("the side of a reject is `local` or `remote`")
            }
            Some(_) if !self.outputs.is_empty() => malformed("a rejected input has no outputs"),
            Some(_) | None => Ok(()),
        }
    }
}

/// Checks that `entry` may be an input or output of a record: an object with its `kind`, its numbers
/// integers within ±[`NUMBER_MAX`].
///
/// # Errors
/// [`RecordError::Malformed`] with the reason.
pub fn check_entry(entry: &Value) -> Result<(), RecordError> {
    let kind = entry.as_object().and_then(|fields| fields.get("kind"));
    if kind.and_then(Value::as_str).is_none_or(str::is_empty) {
        return Err(RecordError::Malformed("an input or output is an object with `kind`".into()));
    }
    if !has_plain_numbers(entry) {
        return Err(RecordError::Malformed("a number is no integer within ±(2^53-1)".into()));
    }
    Ok(())
}

impl From<&Reject> for RecordReject {
    fn from(reject: &Reject) -> Self {
        let (side, code) = match reject {
            Reject::Local(code) => ("local", code),
            Reject::Remote(code) => ("remote", code),
        };
        Self { side: side.to_owned(), code: (*code).to_owned() }
    }
}

/// JSON with object keys sorted and no white space, the form that is hashed.
pub fn canonical_json(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|a, b| a.0.cmp(b.0));
            text.push('{');
            for (index, (key, entry)) in entries.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::String(key.clone()).to_string());
                text.push(':');
                write_canonical(entry, text);
            }
            text.push('}');
        }
        Value::Array(entries) => {
            text.push('[');
            for (index, entry) in entries.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_canonical(entry, text);
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
    }
}

fn has_plain_numbers(value: &Value) -> bool {
    match value {
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => number <= NUMBER_MAX,
            (None, Some(number)) => number.unsigned_abs() <= NUMBER_MAX,
            (None, None) => false,
        },
        Value::Array(entries) => entries.iter().all(has_plain_numbers),
        Value::Object(fields) => fields.values().all(has_plain_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

fn to_value<T: Serialize>(value: &T) -> Result<Value, RecordError> {
    serde_json::to_value(value).map_err(|error| RecordError::Malformed(error.to_string()))
}

fn digest_after(before: Digest, record: &Record) -> Result<Digest, RecordError> {
    let mut value = to_value(record)?;
    if let Value::Object(map) = &mut value {
        map.remove("digest");
    }
    Ok(before.chain_json(&value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn canonical_json_does_not_depend_on_key_order() {
        let a: Value = serde_json::from_str(r#"{"b":1,"a":[true,null,"x"]}"#).unwrap();
        let b: Value = serde_json::from_str(r#"{"a":[true,null,"x"],"b":1}"#).unwrap();
        assert_eq!(canonical_json(&a), canonical_json(&b));
        assert_eq!(canonical_json(&a), r#"{"a":[true,null,"x"],"b":1}"#);
    }

    #[test]
    fn a_changed_record_breaks_the_chain() {
        let mut recorder = Recorder::default();
        let first = recorder
            .record(
                Instant::ZERO,
                "run/a",
                &json!({"kind": "stop"}),
                &[json!({"kind": "reply"})],
                None,
            )
            .unwrap();
        let mut second = recorder
            .record(
                Instant::from_micros(4),
                "run/a",
                &json!({"kind": "stop"}),
                &[] as &[Value],
                Some(&Reject::Local("x")),
            )
            .unwrap();
        let mut checker = Recorder::default();
        checker.check(&Record::from_line(&first.to_line()).unwrap()).unwrap();
        let right = second.clone();
        second.now_us = Instant::from_micros(5);
        assert!(matches!(checker.check(&second), Err(RecordError::Chain { n: 2, .. })));
        second.n = 3;
        let expected = RecordError::Number { found: 3, expected: 2 };
        assert_eq!(checker.check(&second), Err(expected));
        assert_eq!(checker.check(&right), Ok(()));
        second.now_us = Instant::from_micros(3);
        assert_eq!(checker.check(&second), Err(RecordError::Time { n: 3 }));
    }

    #[test]
    fn lines_that_are_no_records_are_refused() {
        let line = |change: fn(&mut Value)| {
            let mut record = json!({
                "n": 1, "now_us": 0, "machine": "run/a", "input": {"kind": "stop"},
                "outputs": [], "reject": null, "digest": "0123456789abcdef",
            });
            change(&mut record);
            Record::from_line(&record.to_string())
        };
        assert!(line(|_| ()).is_ok());
        assert!(line(|r| r["input"]["at"] = json!(NUMBER_MAX)).is_ok());
        assert!(line(|r| r["input"]["at"] = json!(NUMBER_MAX + 1)).is_err());
        assert!(line(|r| r["input"]["at"] = json!(-(NUMBER_MAX as i64))).is_ok());
        assert!(line(|r| r["input"]["at"] = json!(-(NUMBER_MAX as i64) - 1)).is_err());
        assert!(line(|r| r["n"] = json!(0)).is_err());
        assert!(line(|r| r["now_us"] = json!(NUMBER_MAX + 1)).is_err());
        assert!(line(|r| r["machine"] = json!("")).is_err());
        assert!(line(|r| r["input"] = json!({"name": "stop"})).is_err());
        assert!(line(|r| r["outputs"] = json!([1])).is_err());
        assert!(line(|r| r["extra"] = json!(1)).is_err());
        assert!(line(|r| r["digest"] = json!("0123456789ABCDEF")).is_err());
        assert!(line(|r| r["reject"] = json!({"side": "us", "code": "x"})).is_err());
        assert!(line(|r| drop(r.as_object_mut().unwrap().remove("reject"))).is_err());
        assert!(line(|r| r["reject"] = json!({"side": "local", "code": "x"})).is_ok());
        let spoken = |r: &mut Value| {
            r["reject"] = json!({"side": "local", "code": "x"});
            r["outputs"] = json!([{"kind": "reply"}]);
        };
        assert!(line(spoken).is_err());
    }
}
