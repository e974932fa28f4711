//! Which cells of the session machine's state × input matrix a hunt has tried.

use std::collections::BTreeSet;

use runwarden_protocol::record::Record;

use crate::explore::Play;
use crate::schedule::{Course, words};

/// The matrix of the machine, as its laws wrote it: one `<state> + <input> -> <results>` a line.
const MATRIX: &str = include_str!("../../../snapshots/machine_run.snap");

/// How the results of a cell begin in which an input is turned away.
const REJECTED: &str = "rejected(";

/// A kind of state and a kind of input.
pub(super) type Cell = (String, String);

/// The cells in which an input does something. The others hold inputs that no table lists: ports never send
/// them, so a world of model ports cannot try them.
pub(super) fn all() -> BTreeSet<Cell> {
    let cells = MATRIX.lines().filter_map(|line| {
        let (cell, results) = line.split_once(" -> ")?;
        let (state, input) = cell.split_once(" + ")?;
        let is_listed = results.split(" / ").any(|result| !result.starts_with(REJECTED));
        is_listed.then(|| (state.to_owned(), input.to_owned()))
    });
    cells.collect()
}

/// The cells that a walk tried in `play`, whose records are kept: of each step its first input of the machine,
/// and the state it came to. A crash puts a machine of its own, which is idle, in the place of the one before.
pub(super) fn tried(course: &Course, play: &dyn Play) -> BTreeSet<Cell> {
    let records = play.records();
    let ends = course.found.iter().skip(1).map(|next| next.records).chain([records.len()]);
    let steps = course.found.iter().zip(ends).zip(&course.steps);
    let cells = steps.filter_map(|((found, end), step)| {
        let record = records[found.records..end].iter().find(|record| is_session(record))?;
        let state = if words(&step.label).2 == "crash" { "idle" } else { found.state };
        let kind = record.input.get("kind")?.as_str()?;
        Some((state.to_owned(), kind.to_owned()))
    });
    cells.collect()
}

fn is_session(record: &Record) -> bool {
    record.machine.starts_with("run/")
}
