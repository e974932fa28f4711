//! The state × input matrix of a machine, filled while its laws are checked in every reachable state.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What each kind of input did in each kind of state.
///
/// A cell is tried when that input was injected into a reached state of that kind. Its text form has one
/// line for each cell: `<state> + <input> -> <result>`, results separated by ` / `; a result is a state or
/// `rejected(<code>)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    cells: BTreeMap<(String, String), BTreeSet<String>>,
    states: BTreeSet<String>,
}

impl Matrix {
    /// Notes that a state of this kind was reached.
    pub fn reached(&mut self, state: &str) {
        if !self.states.contains(state) {
            self.states.insert(state.to_owned());
        }
    }

    /// Notes what an input, printed as `label`, did in a state.
    pub fn note(&mut self, state: &str, label: &str, result: &str) {
        let results = self.cells.entry((state.to_owned(), kind_of(label))).or_default();
        if !results.contains(result) {
            results.insert(result.to_owned());
        }
    }

    /// Adds what another search tried.
    pub fn merge(&mut self, other: Self) {
        self.states.extend(other.states);
        for (cell, results) in other.cells {
            self.cells.entry(cell).or_default().extend(results);
        }
    }

    /// Cells of reached states that were never tried, as `<state> + <input>`.
    pub fn untried(&self) -> Vec<String> {
        let inputs: BTreeSet<_> = self.cells.keys().map(|(_, input)| input).collect();
        let mut untried = Vec::new();
        for state in &self.states {
            for input in &inputs {
                let cell = (state.clone(), (*input).clone());
                // Time is no input: a state without deadline has no tick.
                if !self.cells.contains_key(&cell) && input.as_str() != TICK {
                    untried.push(format!("{state} + {input}"));
                }
            }
        }
        untried
    }
}

/// Name of the input that only time makes.
pub const TICK: &str = "tick";

/// The result of a rejected input.
pub fn rejected(reject: &str) -> String {
    let code = reject.split('"').nth(1).unwrap_or(reject);
    format!("rejected({code})")
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((state, input), results) in &self.cells {
            let results: Vec<_> = results.iter().map(String::as_str).collect();
            writeln!(f, "{state} + {input} -> {}", results.join(" / "))?;
        }
        Ok(())
    }
}

/// The kind of a printed input: its variant in lower case with underscores.
fn kind_of(label: &str) -> String {
    let mut kind = String::new();
    for letter in label.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_') {
        if letter.is_ascii_uppercase() && !kind.is_empty() {
            kind.push('_');
        }
        kind.push(letter.to_ascii_lowercase());
    }
    kind
}

/// Compares the matrix of a machine with its snapshot; a reachable cell that was never tried fails.
#[cfg(test)]
macro_rules! assert_matrix {
    ($name:literal, $matrix:expr) => {
        let matrix: &$crate::matrix::Matrix = $matrix;
        assert_eq!(matrix.untried(), Vec::<String>::new(), "cells that were never tried");
        insta::with_settings!({
            snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots"),
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(concat!("machine_", $name), matrix.to_string());
        });
    };
}

#[cfg(test)]
pub(crate) use assert_matrix;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_of_a_reached_state_that_was_not_tried_is_named() {
        let mut matrix = Matrix::default();
        matrix.reached("on");
        matrix.note("on", "Pressed { at: 1 }", "off");
        matrix.note("on", "Pressed { at: 2 }", &rejected("Local(\"too_late\")"));
        matrix.note("on", TICK, "off");
        assert_eq!(matrix.untried(), Vec::<String>::new());
        matrix.reached("off");
        assert_eq!(matrix.untried(), ["off + pressed"]);
        let mut other = Matrix::default();
        other.note("off", "Pressed", "on");
        matrix.merge(other);
        assert_eq!(matrix.untried(), Vec::<String>::new());
        let text =
            "off + pressed -> on\non + pressed -> off / rejected(too_late)\non + tick -> off\n";
        assert_eq!(matrix.to_string(), text);
    }

    #[test]
    fn the_kind_of_an_input_is_its_variant() {
        assert_eq!(kind_of("StopAccepted"), "stop_accepted");
        assert_eq!(kind_of("Asked { ask: 1 }"), "asked");
        assert_eq!(kind_of("HandOver(RowRef { .. })"), "hand_over");
    }
}
