//! The judgement of one session: its agents, Stops and questions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::given::GivenAudit;
use super::run::Broken;
use crate::record::{BEGAN, Record};
use crate::run::limits::UNWIND;

/// Closed agents a session's judgement remembers. Beyond it the one closed first is forgotten.
pub const CLOSED_AGENTS_MAX: usize = 1_024;

/// What a trace has shown of one session so far. Runs go with their `forget`.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionAudit {
    runs: BTreeMap<String, Run>,
    /// Open questions and their runs.
    open: BTreeMap<String, String>,
    closed: VecDeque<String>,
    /// Runs with an unreturned call.
    calling: BTreeSet<String>,
    /// The run whose end is committed with the deletion that is unanswered.
    deleting: Option<String>,
    /// The run that the Stop of this record names.
    stop_of: Option<String>,
    /// The window of REC-01, where the trace tells it.
    unwind_us: Option<u64>,
    given: GivenAudit,
}

#[derive(Clone, Debug, Default)]
struct Run {
    /// Whether the trace begins in the midst of it.
    is_partial: bool,
    /// Who asked for the Stop that turned its row `cancelling`, or is to.
    stopped_by: Option<String>,
    /// Whether a Stop named it, or a start of the server found it.
    may_be_cancelled: bool,
    /// Whether the store answered its settlement, be it that nothing was written.
    is_settled: bool,
    /// When its row turned `cancelling`.
    stopped_at: Option<u64>,
    /// The agent of its unreturned call.
    called: Option<String>,
    interrupts: u32,
    /// The outcome of the settlement that was issued last.
    settling: Option<String>,
    is_durable: bool,
    has_ended: bool,
}

impl SessionAudit {
    /// The trace begins with the session in this state.
    pub(super) fn resume(&mut self, state: &Value) {
        self.unwind_us = state["limits"]["unwind"].as_u64();
        for entry in state["runs"].as_array().into_iter().flatten() {
            let is_stopped = entry["row"]["state"] == "cancelling";
            let since = entry["row"]["since"].as_u64();
            let run = self.run(text(entry, "run_id"));
            run.is_partial = true;
            run.stopped_at = since.filter(|_| is_stopped);
        }
    }

    /// Takes the next record of the session's machine.
    pub(super) fn take(&mut self, record: &Record) -> Vec<Broken> {
        let mut broken = Vec::new();
        self.stop_of = None;
        self.take_input(&record.input);
        self.given.take_input(&record.input);
        for output in &record.outputs {
            broken.extend(self.given.take_output(output));
            broken.extend(self.take_output(record.now_us.as_micros(), output));
        }
        broken.extend(self.left_open());
        broken
    }

    fn take_input(&mut self, input: &Value) {
        let run_id = text(input, "run_id");
        match text(input, "kind") {
            BEGAN => {
                *self = Self::default();
                self.resume(&input["state"]);
            }
            // A start of the server: the memory of the session is gone.
            "recover" => {
                *self = Self { unwind_us: self.unwind_us, ..Self::default() };
                self.run(run_id).may_be_cancelled = true;
            }
            "stop" => {
                self.stop_of = Some(run_id.to_owned());
                if let Some(run) = self.runs.get_mut(run_id) {
                    run.may_be_cancelled = true;
                    if run.stopped_at.is_none() && run.stopped_by.is_none() {
                        run.stopped_by = Some(text(input, "ask").to_owned());
                    }
                }
            }
            // A deletion ends the run as a Stop does.
            "delete" => self.runs.values_mut().for_each(|run| run.may_be_cancelled = true),
            "returned" | "worker_exited" => {
                self.run(run_id).called = None;
                self.calling.remove(run_id);
            }
            kind @ ("committed" | "commit_failed") => self.answered(run_id, kind == "committed"),
            kind @ ("deletion_committed" | "deletion_failed") => {
                if let Some(run_id) = self.deleting.take() {
                    self.answered(&run_id, kind == "deletion_committed");
                }
            }
            "agent_constructed" => {
                let agent = text(input, "agent");
                self.closed.retain(|closed| closed != agent);
            }
            _ => {}
        }
    }

    /// The store answered a commit of the run.
    fn answered(&mut self, run_id: &str, is_committed: bool) {
        let run = self.run(run_id);
        run.is_durable |= is_committed;
        run.is_settled |= run.settling.is_some();
    }

    fn take_output(&mut self, now_us: u64, output: &Value) -> Option<Broken> {
        let run_id = text(output, "run_id");
        let agent = text(output, "agent");
        match text(output, "kind") {
            "phase_changed" if text(output, "phase") == "cancelling" => {
                self.run(run_id).stopped_at = output.get("since").and_then(Value::as_u64);
                None
            }
            "start_worker" | "construct" => self.after_stop(run_id, "begins"),
            "append" => self.after_stop(run_id, "appends").map(|(_, detail)| ("STOP-05", detail)),
            "prepare" => self.after_stop(run_id, "registers").or_else(|| self.closed_used(agent)),
            "admit" => {
                self.run(run_id);
                self.beside_another(now_us, run_id, "is admitted")
            }
            "invoke" => self.invoked(now_us, run_id, agent),
            "signal" => self.signalled(run_id, agent, text(output, "signal")),
            "close" | "clean_up" => {
                self.close(agent);
                None
            }
            "settle" => self.settling(run_id, output),
            "delete" => {
                let run = output.get("run").filter(|run| run.is_object())?;
                let run_id = text(run, "run_id");
                self.deleting = Some(run_id.to_owned());
                self.settling(run_id, run)
            }
            "run_ended" => self.ended(run_id, text(output, "outcome")),
            "stop_answered" if output.get("answer").is_some_and(is_acceptance) => {
                self.stop_accepted(run_id, output)
            }
            "start_answered" => self.start_answered(now_us, output.get("answer")?),
            "question_opened" => {
                self.run(run_id);
                let question = text(output, "question_id").to_owned();
                let is_new = self.open.insert(question, run_id.to_owned()).is_none();
                (!is_new).then(|| ("ASK-03", "a question was opened twice".to_owned()))
            }
            "questions_resolved" => self.resolved(output),
            "forget" => {
                self.runs.remove(run_id);
                self.calling.remove(run_id);
                None
            }
            _ => None,
        }
    }

    /// By INV-REG nothing of the kind happens for a run behind its Stop.
    fn after_stop(&mut self, run_id: &str, what: &str) -> Option<Broken> {
        let is_stopped = self.run(run_id).stopped_at.is_some();
        is_stopped.then(|| ("INV-REG", format!("{run_id} {what} behind its Stop")))
    }

    fn closed_used(&self, agent: &str) -> Option<Broken> {
        let is_closed = self.closed.iter().any(|closed| closed == agent);
        is_closed.then(|| ("INV-OWN", format!("{agent} is used and was closed")))
    }

    /// By INV-EXCL no other run has an unreturned call, but one whose window is over.
    fn beside_another(&self, now_us: u64, run_id: &str, what: &str) -> Option<Broken> {
        let is_left_behind = |id: &str| {
            let stopped_at = self.runs.get(id).and_then(|run| run.stopped_at);
            stopped_at.is_some_and(|at| self.window_over(at, now_us))
        };
        let other = self.calling.iter().find(|id| *id != run_id && !is_left_behind(id))?;
        Some(("INV-EXCL", format!("{run_id} {what} beside the call of {other}")))
    }

    fn invoked(&mut self, now_us: u64, run_id: &str, agent: &str) -> Option<Broken> {
        let broken = self
            .after_stop(run_id, "calls its agent")
            .or_else(|| self.closed_used(agent))
            .or_else(|| self.beside_another(now_us, run_id, "calls its agent"));
        self.run(run_id).called = Some(agent.to_owned());
        self.calling.insert(run_id.to_owned());
        broken
    }

    fn signalled(&mut self, run_id: &str, agent: &str, signal: &str) -> Option<Broken> {
        let run = self.run(run_id);
        let is_called = match &run.called {
            Some(called) => called == agent,
            None => run.is_partial,
        };
        if !is_called {
            return Some(("REG-08", format!("{agent} is pressed, {run_id} does not call it")));
        }
        run.interrupts += u32::from(signal == "interrupt");
        (run.interrupts > 1).then(|| ("STOP-08", format!("{run_id} is interrupted twice")))
    }

    fn settling(&mut self, run_id: &str, output: &Value) -> Option<Broken> {
        let outcome = output.get("verdict").map_or("", |verdict| text(verdict, "outcome"));
        let stop_of = self.stop_of.clone();
        let run = self.run(run_id);
        run.settling = Some(outcome.to_owned());
        if run.has_ended {
            return Some(("INV-TERM", format!("{run_id} is settled behind its end")));
        }
        if outcome != "cancelled" || run.may_be_cancelled || run.is_partial {
            return None;
        }
        Some(match stop_of {
            Some(named) => ("STOP-13", format!("a Stop of {named} cancels {run_id}")),
            None => ("STOP-21", format!("{run_id} is cancelled and nobody stopped it")),
        })
    }

    /// The Stop that ends a run is answered when the store answered the settlement; a repeated one at once, and
    /// never is one of a run that is over accepted.
    fn stop_accepted(&self, run_id: &str, output: &Value) -> Option<Broken> {
        let Some(run) = self.runs.get(run_id) else {
            return Some(("STOP-06", format!("{run_id} is over and its Stop accepted")));
        };
        let asks = output.get("asks").and_then(Value::as_array).into_iter().flatten();
        let is_first =
            asks.filter_map(Value::as_str).any(|ask| run.stopped_by.as_deref() == Some(ask));
        (is_first && !run.is_settled && !run.is_partial)
            .then(|| ("STOP-04", format!("the Stop of {run_id} is answered before it is settled")))
    }

    fn ended(&mut self, run_id: &str, outcome: &str) -> Option<Broken> {
        let run = self.run(run_id);
        run.has_ended = true;
        let settled = run.settling.take()?;
        (settled != outcome)
            .then(|| ("INV-TERM", format!("{run_id} is settled {settled} and shown as {outcome}")))
    }

    fn start_answered(&mut self, now_us: u64, answer: &Value) -> Option<Broken> {
        let run_id = text(answer, "run_id");
        let run = self.runs.get(run_id);
        match text(answer, "answer") {
            "started" if run.is_none_or(|run| !run.is_durable && !run.is_partial) => {
                Some(("DI-5", format!("{run_id} is acknowledged before it is durable")))
            }
            "refused" if text(answer, "code") == "session_busy" => {
                let run = run.filter(|run| run.has_ended)?;
                let is_over = self.window_over(run.stopped_at?, now_us);
                is_over.then(|| ("INV-LIVE", format!("{run_id} blocks behind its window")))
            }
            _ => None,
        }
    }

    fn resolved(&mut self, output: &Value) -> Option<Broken> {
        let questions = output.get("questions").and_then(Value::as_array)?;
        let is_partial = self.runs.get(text(output, "run_id")).is_some_and(|run| run.is_partial);
        let mut broken = None;
        for question in questions.iter().filter_map(Value::as_str) {
            if self.open.remove(question).is_none() && !is_partial {
                broken = Some(("ASK-03", format!("{question} is resolved and was not open")));
            }
        }
        broken
    }

    /// By ASK-04 and ASK-05 no question is open behind the step of a Stop or of an end.
    fn left_open(&self) -> Option<Broken> {
        self.open.iter().find_map(|(question, run_id)| {
            // A run that is not known any more was forgotten in this step.
            let rule = match self.runs.get(run_id).map(|run| (run.has_ended, run.stopped_at)) {
                None | Some((true, _)) => "ASK-05",
                Some((false, Some(_))) => "ASK-04",
                Some((false, None)) => return None,
            };
            Some((rule, format!("{question} of {run_id} is open")))
        })
    }

    fn close(&mut self, agent: &str) {
        if self.closed.len() == CLOSED_AGENTS_MAX {
            self.closed.pop_front();
        }
        self.closed.push_back(agent.to_owned());
    }

    fn window_over(&self, stopped_at_us: u64, now_us: u64) -> bool {
        let window_us = self.unwind_us.unwrap_or(UNWIND.as_micros());
        now_us.saturating_sub(stopped_at_us) >= window_us
    }

    fn run(&mut self, run_id: &str) -> &mut Run {
        self.runs.entry(run_id.to_owned()).or_default()
    }
}

fn is_acceptance(answer: &Value) -> bool {
    text(answer, "outcome") == "accepted"
}

pub(super) fn text<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry.get(field).and_then(Value::as_str).unwrap_or_default()
}
