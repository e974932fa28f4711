//! Names of choices, as race files write them: actor, verb, label.

use runwarden_protocol::machine::{Machine, TimerKind};
use runwarden_protocol::run::guards::Guards;

use super::World;
use super::choices::Choice;
use super::runs::Due;
use super::store::{Call, CallKind};

impl<G: Guards> World<G> {
    /// The name of a choice that this world offers.
    pub fn label(&self, choice: Choice) -> String {
        match choice {
            Choice::Start => {
                let run = self.last_run() + 1;
                format!("client-{} send start(run_{run})", letter(run))
            }
            Choice::StartOther => {
                let run = self.last_run() + 1;
                format!("client-{} send start_other(run_{run})", letter(run))
            }
            Choice::End(run) => format!("server send end(run_{run})"),
            Choice::Answer(number) => {
                let answers = self.questions[usize::from(number) - 1].answers;
                format!("client-{} send answer_question(que_{number})", letter(answers + 1))
            }
            Choice::Stop(run) => format!("client-{} send stop_run(run_{run})", letter(run)),
            Choice::Drop(run) => format!("link fault drop(client-{})", letter(run)),
            Choice::Store { call, is_written } => {
                let Call { run, kind } = self.store.calls[usize::from(call)];
                let verb = if is_written { "answer" } else { "fault" };
                format!("store {verb} {}(run_{run})", answer_name(kind, is_written))
            }
            Choice::Unknown(call) => {
                let Call { run, .. } = self.store.calls[usize::from(call)];
                format!("store fault append_unknown(run_{run})")
            }
            Choice::Work(run) => format!("worker-{run} answer {}", self.work_name(run, true)),
            Choice::FailWork(run) => format!("worker-{run} fault {}", self.work_name(run, false)),
            Choice::LoseWorker(run) => format!("worker-{run} fault lost(run_{run})"),
            Choice::LoseAgent(run) => format!("agent-{run} fault lost(run_{run})"),
            Choice::Evict => "evictor send evict".to_owned(),
            Choice::SaveLate(run) => format!("worker-{run} send save(run_{run})"),
            Choice::Ask(run) => format!("agent-{run} emit question(run_{run})"),
            Choice::Emit(run) if self.conditions.agents_think => {
                format!("agent-{run} emit thought(run_{run})")
            }
            Choice::Emit(run) => format!("agent-{run} emit text(run_{run})"),
            Choice::Complete(run) => format!("agent-{run} emit completed(run_{run})"),
            Choice::Fail(run) => format!("agent-{run} emit failed(run_{run})"),
            Choice::Fire => format!("clock fire {}", self.timer_name()),
            Choice::Crash(written) => format!("server fault crash{}", self.crash_name(written)),
        }
    }

    fn work_name(&self, run: u8, is_done: bool) -> String {
        let name = match (self.runs[usize::from(run) - 1].due, is_done) {
            (Due::Launch, true) => "launched",
            (Due::Launch, false) => "launch_failed",
            (Due::Begin, _) => "began",
            (Due::Construct, true) => "constructed",
            (Due::Construct, false) => "construction_failed",
            (Due::Register, _) => "registration_asked",
            (Due::Prepare(_), _) => "invocation_asked",
            (Due::Exit, _) => "exited",
            (Due::Nothing | Due::Call { .. }, _) => "idle",
        };
        format!("{name}(run_{run})")
    }

    fn timer_name(&self) -> &'static str {
        let next = self.next_time();
        let deadline = self.lineage.deadline().filter(|(at, _)| Some(*at) == next);
        deadline.map_or("stop_bound", |(_, kind)| timer(kind))
    }

    fn crash_name(&self, written: u8) -> String {
        let calls = self.store.calls.iter().enumerate();
        let names: Vec<_> = calls
            .filter(|(bit, _)| written & (1 << bit) != 0)
            .map(|(_, call)| format!("{}:run_{}", answer_name(call.kind, true), call.run))
            .collect();
        if names.is_empty() { String::new() } else { format!("({})", names.join(",")) }
    }
}

fn letter(run: u8) -> char {
    char::from(b'a' + (run - 1) % 26)
}

fn answer_name(kind: CallKind, is_written: bool) -> &'static str {
    match (kind, is_written) {
        (CallKind::Admit { .. }, true) => "admitted",
        (CallKind::Admit { .. }, false) => "admission_failed",
        (CallKind::Compensate { .. }, true) => "compensated",
        (CallKind::Compensate { .. }, false) => "compensation_failed",
        (CallKind::Settle { .. }, true) => "settled",
        (CallKind::Settle { .. }, false) => "settlement_failed",
        (CallKind::Append { .. }, true) => "persisted",
        (CallKind::Append { .. }, false) => "append_failed",
        (CallKind::SaveLate { .. }, true) => "saved",
        (CallKind::SaveLate { .. }, false) => "save_failed",
    }
}

fn timer(kind: TimerKind) -> &'static str {
    match kind {
        TimerKind::Unwind => "unwind",
        TimerKind::StopTerm => "stop_term",
        TimerKind::StopKill => "stop_kill",
        TimerKind::QuestionExpiry => "question_expiry",
        TimerKind::AgentSilence => "agent_silence",
        TimerKind::RunMax => "run_max",
        TimerKind::AppendOutage => "append_outage",
        TimerKind::UnsettledRetry => "unsettled_retry",
        TimerKind::TextMerge => "text_merge",
        TimerKind::Heartbeat => "heartbeat",
        TimerKind::SendStall => "send_stall",
        TimerKind::ConnectionLease => "connection_lease",
        TimerKind::ShutdownDrain => "shutdown_drain",
        TimerKind::ResultAge => "result_age",
    }
}
