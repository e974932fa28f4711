//! Inputs and outputs in few words.

use runwarden_protocol::record::canonical_json;
use serde_json::Value;

/// The kind of an input or output.
pub(super) fn kind_of(entry: &Value) -> &str {
    entry.get("kind").and_then(Value::as_str).unwrap_or("?")
}

/// The kind as words, with what matters most of its content.
pub(super) fn caption(entry: &Value) -> String {
    let words = kind_of(entry).replace('_', " ");
    match essence(entry) {
        Some(essence) => format!("{words}: {}", essence.replace('_', " ")),
        None => words,
    }
}

/// All content without the kind, with short ids.
pub(super) fn detail(entry: &Value) -> String {
    let Some(fields) = entry.as_object() else { return String::new() };
    // In the order of their names, however the build represents an object.
    let mut fields: Vec<_> = fields.iter().filter(|(name, _)| *name != "kind").collect();
    fields.sort_by_key(|(name, _)| *name);
    let details: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}={text}"),
            other => format!("{name}={}", canonical_json(other)),
        })
        .collect();
    short_ids(&details.join(" "))
}

/// Ids without the zeros behind their prefix: `run_1` for `run_0000000000000001`.
pub(super) fn short_ids(text: &str) -> String {
    const DIGITS: usize = 16;
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('_') {
        let (head, tail) = rest.split_at(at + 1);
        short.push_str(head);
        let is_hex = |b: &u8| b.is_ascii_digit() || (b'a'..=b'f').contains(b);
        let digits = tail.as_bytes().iter().take_while(|byte| is_hex(byte)).count();
        rest = tail;
        if digits == DIGITS {
            let (id, tail) = tail.split_at(DIGITS);
            let id = id.trim_start_matches('0');
            short.push_str(if id.is_empty() { "0" } else { id });
            rest = tail;
        }
    }
    short + rest
}

/// At most `chars_max` characters without control characters, with a mark where some are missing.
pub(super) fn shortened(text: &str, chars_max: usize) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    if text.chars().count() <= chars_max {
        return text.chars().map(plain).collect();
    }
    text.chars().take(chars_max - 1).map(plain).chain(['~']).collect()
}

/// A time in microseconds as people say it.
pub(super) fn duration(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{} ms", decimal(micros, 1_000)),
        1_000_000..120_000_000 => format!("{} s", decimal(micros, 1_000_000)),
        _ => format!("{} min", decimal(micros, 60_000_000)),
    }
}

fn decimal(number: u64, unit: u64) -> String {
    let tenths = number * 10 / unit;
    if tenths.is_multiple_of(10) {
        (tenths / 10).to_string()
    } else {
        format!("{}.{}", tenths / 10, tenths % 10)
    }
}

fn essence(entry: &Value) -> Option<String> {
    let text = |pointer: &str| entry.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let number = |pointer: &str| entry.pointer(pointer).and_then(Value::as_u64);
    match kind_of(entry) {
        "start_answered" => text("/answer/answer"),
        "stop_answered" => text("/answer/outcome"),
        "phase_changed" => text("/phase"),
        "run_ended" => text("/outcome"),
        "settle" => text("/verdict/outcome"),
        "signal" => text("/signal"),
        "returned" => text("/result/result"),
        "persisted" => rows(number("/first_seq")?, number("/count")?),
        "published" => {
            let count = entry.pointer("/rows")?.as_array()?.len();
            rows(number("/first_seq")?, count as u64)
        }
        "append" => Some(rows_word(entry.pointer("/rows")?.as_array()?.len() as u64)),
        "committed" => number("/revision").map(|revision| format!("revision {revision}")),
        "recover" => number("/last_seq").map(rows_word),
        _ => None,
    }
}

fn rows(first: u64, count: u64) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("row {first}")),
        _ => Some(format!("rows {first} to {}", first + count - 1)),
    }
}

fn rows_word(count: u64) -> String {
    if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }
}
