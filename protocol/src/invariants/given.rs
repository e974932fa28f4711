//! The judgement of what clients gave a session: steers, and messages that wait.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::run::Broken;
use super::session::text;
use crate::run::queue::QUEUE_ENTRIES_MAX;
use crate::run::steer::STEERS_MAX;

/// Runs with open steers that a session has at once, its reclaimed ones included; what is beyond them is forgotten.
const OPEN_STEERS_MAX: usize = 64 * STEERS_MAX;

/// What a trace has shown of steers and messages so far.
#[derive(Clone, Debug, Default)]
pub(super) struct GivenAudit {
    /// Runs that the trace shows from their begin.
    known: BTreeSet<String>,
    /// Accepted steers without fate, and their runs.
    steers: BTreeMap<String, String>,
    /// Turns of the messages that wait, in their order.
    waiting: VecDeque<String>,
    /// Turns that messages had.
    had: VecDeque<String>,
    /// Runs of heads whose next commit moves their message.
    moving: BTreeMap<String, Move>,
}

/// What the next commit of a run does with its message.
#[derive(Clone, Debug)]
enum Move {
    Start(String),
    Return(String),
}

impl GivenAudit {
    pub(super) fn take_input(&mut self, input: &Value) {
        let run_id = text(input, "run_id");
        match text(input, "kind") {
            "recover" => {
                *self = Self::default();
                self.known.insert(run_id.to_owned());
                for steer in list(input, "steers").filter_map(Value::as_str) {
                    self.accept(steer, run_id);
                }
            }
            "committed" => match self.moving.remove(run_id) {
                Some(Move::Start(turn)) => {
                    self.waiting.retain(|waiting| *waiting != turn);
                    push_bounded(&mut self.had, turn);
                }
                Some(Move::Return(turn)) => {
                    self.had.retain(|had| *had != turn);
                    self.waiting.push_front(turn);
                }
                None => {}
            },
            "commit_failed" => {
                self.moving.remove(run_id);
            }
            _ => {}
        }
    }

    pub(super) fn take_output(&mut self, output: &Value) -> Option<Broken> {
        let run_id = text(output, "run_id");
        match text(output, "kind") {
            "admit" => self.admitted(run_id, output),
            "compensate" => {
                let turn = self.had.back().cloned();
                let is_returned = output.get("requeue").is_some_and(|code| !code.is_null());
                if let (true, Some(turn)) = (is_returned, turn) {
                    self.moving.insert(run_id.to_owned(), Move::Return(turn));
                }
                None
            }
            "published" => list(output, "rows").find_map(|row| self.row(run_id, row)),
            "run_ended" => self.ended(run_id, output),
            "hand_steer" => {
                let steer = text(output, "steer_id");
                let of = self.steers.get(steer).filter(|of| *of != run_id);
                of.map(|of| ("INV-STEER", format!("{steer} of {of} is handed to {run_id}")))
            }
            "start_answered" => self.answered(output.get("answer")?),
            "queue_answered" => {
                let answer = output.get("answer")?;
                if text(answer, "answer") == "removed" {
                    let turn = text(answer, "turn_id");
                    self.waiting.retain(|waiting| waiting != turn);
                }
                None
            }
            _ => None,
        }
    }

    fn admitted(&mut self, run_id: &str, output: &Value) -> Option<Broken> {
        self.known.insert(run_id.to_owned());
        let turn = text(output, "turn_id");
        if output.get("is_head").and_then(Value::as_bool) != Some(true) {
            let next = self.waiting.front()?;
            return Some(("ADM-17", format!("{run_id} overtakes {next}, which waits")));
        }
        self.moving.insert(run_id.to_owned(), Move::Start(turn.to_owned()));
        if self.had.iter().any(|had| had == turn) {
            return Some(("INV-TEXT", format!("{turn} has a second turn, {run_id}")));
        }
        // A trace that begins later does not tell of what waited before.
        let is_known = self.waiting.iter().any(|waiting| waiting == turn);
        let next = self.waiting.front().filter(|next| is_known && *next != turn)?;
        Some(("STR-09", format!("{turn} starts before {next}, which waits longer")))
    }

    fn answered(&mut self, answer: &Value) -> Option<Broken> {
        if text(answer, "answer") == "queued" {
            push_bounded(&mut self.waiting, text(answer, "turn_id").to_owned());
        }
        None
    }

    fn row(&mut self, run_id: &str, row: &Value) -> Option<Broken> {
        match text(row, "event") {
            "steer_accepted" => {
                self.accept(text(row, "steer_id"), run_id);
                None
            }
            "steer_settled" => self.settle(run_id, text(row, "steer_id")),
            _ => None,
        }
    }

    fn ended(&mut self, run_id: &str, output: &Value) -> Option<Broken> {
        let mut broken = None;
        for steer in list(output, "steers") {
            broken = broken.or(self.settle(run_id, text(steer, "steer_id")));
        }
        self.known.remove(run_id);
        let left = self.steers.iter().find(|(_, of)| *of == run_id).map(|(steer, _)| steer.clone());
        self.steers.retain(|_, of| of != run_id);
        broken.or(left.map(|steer| ("STR-04", format!("{steer} outlives {run_id}, unsettled"))))
    }

    fn accept(&mut self, steer: &str, run_id: &str) {
        if self.steers.len() == OPEN_STEERS_MAX {
            self.steers.pop_first();
        }
        self.steers.insert(steer.to_owned(), run_id.to_owned());
    }

    fn settle(&mut self, run_id: &str, steer: &str) -> Option<Broken> {
        let of = self.steers.remove(steer);
        let is_wrong = of.as_deref() != Some(run_id) && self.known.contains(run_id);
        is_wrong
            .then(|| ("STR-04", format!("{steer} is settled by {run_id}, and was open of {of:?}")))
    }
}

fn list<'a>(entry: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    entry.get(field).and_then(Value::as_array).into_iter().flatten()
}

fn push_bounded(turns: &mut VecDeque<String>, turn: String) {
    if turns.len() == QUEUE_ENTRIES_MAX {
        turns.pop_front();
    }
    turns.push_back(turn);
}
