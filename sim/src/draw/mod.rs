//! Sequence diagrams of records as plain text: one lifeline for each machine and each peer, one arrow for
//! each input and output, its content beside it.

mod peers;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt::Write;

use runwarden_protocol::record::{Record, canonical_json};
use serde_json::Value;

use peers::{Peer, peer_of_input, peer_of_output};

/// Characters from one lifeline to the next.
pub const COLUMN_CHARS: usize = 27;

/// Most characters of the content beside an arrow.
pub const DETAIL_CHARS_MAX: usize = 96;

/// Characters left of the first lifeline: number and time of the step.
const MARGIN_CHARS: usize = 30;

/// Draws `records` in order.
pub fn text(records: &[Record]) -> String {
    let mut drawing = Drawing { columns: columns_of(records), text: String::new() };
    drawing.heads();
    for record in records {
        drawing.record(record);
    }
    drawing.text
}

/// Who has a lifeline.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Column {
    Peer(Peer),
    Machine(String),
}

/// Clients left of the machines, everyone else right of them.
fn columns_of(records: &[Record]) -> Vec<Column> {
    let mut peers = BTreeSet::new();
    let mut machines = Vec::new();
    for record in records {
        peers.insert(peer_of_input(kind_of(&record.input)));
        peers.extend(record.outputs.iter().map(|output| peer_of_output(kind_of(output))));
        let column = Column::Machine(record.machine.clone());
        if !machines.contains(&column) {
            machines.push(column);
        }
    }
    let (clients, others): (Vec<_>, Vec<_>) =
        peers.into_iter().partition(|peer| *peer == Peer::Client);
    let peers = |list: Vec<Peer>| list.into_iter().map(Column::Peer);
    peers(clients).chain(machines).chain(peers(others)).collect()
}

struct Drawing {
    columns: Vec<Column>,
    text: String,
}

/// How an arrow ends.
#[derive(Clone, Copy)]
enum Tip {
    Taken,
    TurnedAway,
}

impl Drawing {
    fn heads(&mut self) {
        let mut line = format!("{:>6} {:>18}", "step", "now_us");
        for (index, column) in self.columns.iter().enumerate() {
            let name = match column {
                Column::Peer(peer) => peer.as_str(),
                Column::Machine(name) => name,
            };
            let name = shortened(name, COLUMN_CHARS - 2);
            let start = position_of(index).saturating_sub(name.chars().count() / 2);
            let gap = start.saturating_sub(line.chars().count()).max(1);
            line.extend(std::iter::repeat_n(' ', gap));
            line.push_str(&name);
        }
        self.line(&line);
    }

    fn record(&mut self, record: &Record) {
        let machine = self.index(&Column::Machine(record.machine.clone()));
        let peer = self.index(&Column::Peer(peer_of_input(kind_of(&record.input))));
        let margin = format!("{:>6} {:>18}", record.n, record.now_us.as_micros());
        let (tip, detail) = match &record.reject {
            None => (Tip::Taken, detail_of(&record.input)),
            Some(reject) => {
                (Tip::TurnedAway, format!("turned away: {} {}", reject.side, reject.code))
            }
        };
        self.arrow(&margin, (peer, machine), kind_of(&record.input), tip, &detail);
        for output in &record.outputs {
            let peer = self.index(&Column::Peer(peer_of_output(kind_of(output))));
            self.arrow("", (machine, peer), kind_of(output), Tip::Taken, &detail_of(output));
        }
    }

    fn arrow(
        &mut self,
        margin: &str,
        (from, to): (usize, usize),
        label: &str,
        tip: Tip,
        detail: &str,
    ) {
        let width = position_of(self.columns.len() - 1) + 1;
        let mut cells: Vec<char> = margin.chars().collect();
        cells.resize(width, ' ');
        for index in 0..self.columns.len() {
            cells[position_of(index)] = '|';
        }
        let (left, right) = (position_of(from.min(to)), position_of(from.max(to)));
        cells[left + 1..right].fill('-');
        let tip_at = if from < to { right - 1 } else { left + 1 };
        cells[tip_at] = match tip {
            Tip::Taken if from < to => '>',
            Tip::Taken => '<',
            Tip::TurnedAway => 'x',
        };
        let label: Vec<char> =
            format!(" {} ", shortened(label, COLUMN_CHARS - 7)).chars().collect();
        // Beside the start of the arrow, so that a lifeline that is crossed does not hide it.
        let at = if from < to { left + 3 } else { right - 2 - label.len() };
        cells[at..at + label.len()].copy_from_slice(&label);
        let line: String = cells.into_iter().collect();
        self.line(&format!("{line}  {detail}"));
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "{}", line.trim_end()).expect("a String takes every text");
    }

    fn index(&self, column: &Column) -> usize {
        let found = self.columns.iter().position(|each| each == column);
        found.expect("everyone in the records has a column")
    }
}

fn position_of(column: usize) -> usize {
    MARGIN_CHARS + column * COLUMN_CHARS
}

fn kind_of(entry: &Value) -> &str {
    entry.get("kind").and_then(Value::as_str).unwrap_or("?")
}

/// The content of an input or output without its kind.
fn detail_of(entry: &Value) -> String {
    let Some(fields) = entry.as_object() else { return String::new() };
    let details: Vec<_> = fields
        .iter()
        .filter(|(name, _)| *name != "kind")
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}={text}"),
            other => format!("{name}={}", canonical_json(other)),
        })
        .collect();
    shortened(&details.join(" "), DETAIL_CHARS_MAX)
}

/// At most `chars_max` characters without control characters, with a mark where some are missing.
fn shortened(text: &str, chars_max: usize) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    if text.chars().count() <= chars_max {
        return text.chars().map(plain).collect();
    }
    text.chars().take(chars_max - 1).map(plain).chain(['~']).collect()
}
