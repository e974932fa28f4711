//! Names of choices, as race files write them: actor, verb, label.

use runwarden_protocol::machine::{Machine, TimerKind};
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::queue::Change;

use super::World;
use super::choices::Choice;
use super::runs::Due;
use super::store::{Call, CallKind, SESSION};

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
            Choice::Queue => {
                let run = self.last_run() + 1;
                format!("client-{} send queue(run_{run})", letter(run))
            }
            Choice::Remove(turn) => format!("user send remove_queued(msg_{turn})"),
            Choice::Resume => "user send resume_queue(ses_1)".to_owned(),
            Choice::StartHead => format!("drain send start_head({})", self.head_name()),
            Choice::StartHeadBusy => format!("drain fault no_slot({})", self.head_name()),
            Choice::StartHeadStale => format!("drain fault no_agent({})", self.head_name()),
            Choice::FreeSlot => "drain send free_slot".to_owned(),
            Choice::Delete => "client-b send delete_session(ses_1)".to_owned(),
            Choice::Rotate(run) => format!("agent-{run} emit compressed(run_{run})"),
            Choice::OtherStart(session) => format!("client-b send start_other(ses_{session})"),
            Choice::OtherEnd(session) => format!("server send ended(ses_{session})"),
            Choice::ReadPage => "reader send read_page(run_1)".to_owned(),
            Choice::Screen(choice) => self.screen_label(choice),
            Choice::Wake => format!("producer send wake(wake_{})", self.next_wakeup()),
            Choice::WakeElsewhere => {
                format!("producer send wake_elsewhere(wake_{})", self.next_wakeup())
            }
            Choice::WakeAgain => "producer send wake_again(wake_1)".to_owned(),
            Choice::WakeBy(run) => format!("agent-{run} emit wake(wake_{})", self.next_wakeup()),
            Choice::StartWakeup => format!("drain send start_wakeup(wake_{})", self.wakeup_due()),
            Choice::StartWakeupBusy => format!("drain fault no_slot(wake_{})", self.wakeup_due()),
            Choice::StartWakeupStale => format!("drain fault no_agent(wake_{})", self.wakeup_due()),
            Choice::Steer(run) => format!("client-{} send steer(run_{run})", letter(run)),
            Choice::WantSteer(run) => format!("agent-{run} emit steer_wanted(run_{run})"),
            Choice::ReadSteer => "agent answer steer_read".to_owned(),
            Choice::Drain(run) => format!("worker-{run} send drain(run_{run})"),
            Choice::ChangeTitle => "client-a send change_title(ses_1)".to_owned(),
            Choice::ChangeAgent => "client-a send change_agent(ses_1)".to_owned(),
            Choice::Recover => format!("recovery send settle(run_{})", self.judged_name()),
            Choice::LoseLease => "store fault lease_lost".to_owned(),
            Choice::TakeOver => "recovery send take_over".to_owned(),
            Choice::AppendLate(run) => format!("worker-{run} send append(run_{run})"),
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
                format!("store {verb} {}({})", answer_name(kind, is_written), subject(run))
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
        let other = if next == self.next_judgement() { "grace" } else { "stop_bound" };
        deadline.map_or(other, |(_, kind)| timer(kind))
    }

    fn head_name(&self) -> String {
        self.queue.head_due.map_or_else(String::new, |turn| format!("msg_{turn}"))
    }

    fn judged_name(&self) -> u8 {
        self.outside.judged.unwrap_or_default()
    }

    fn crash_name(&self, written: u8) -> String {
        let calls = self.store.calls.iter().enumerate();
        let names: Vec<_> = calls
            .filter(|(bit, _)| written & (1 << bit) != 0)
            .map(|(_, call)| format!("{}:{}", answer_name(call.kind, true), subject(call.run)))
            .collect();
        if names.is_empty() { String::new() } else { format!("({})", names.join(",")) }
    }
}

fn subject(run: u8) -> String {
    if run == SESSION { "ses_1".to_owned() } else { format!("run_{run}") }
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
        (CallKind::AppendLate, true) => "appended",
        (CallKind::AppendLate, false) => "append_failed",
        (CallKind::Queue { change, .. }, _) => change_name(change, is_written),
        (CallKind::Delete { .. }, true) => "deleted",
        (CallKind::Delete { .. }, false) => "deletion_failed",
        (CallKind::Wakeups { .. }, true) => "wakeups_changed",
        (CallKind::Wakeups { .. }, false) => "wakeups_failed",
        (CallKind::Rotate { .. }, true) => "rotated",
        (CallKind::Rotate { .. }, false) => "rotation_failed",
        (CallKind::Change { .. }, true) => "changed",
        (CallKind::Change { .. }, false) => "change_failed",
    }
}

fn change_name(change: Change, is_written: bool) -> &'static str {
    match (change, is_written) {
        (Change::Append { .. }, true) => "queued",
        (Change::Append { .. }, false) => "queueing_failed",
        (Change::Remove { .. }, true) => "removed",
        (Change::Remove { .. }, false) => "removal_failed",
        (Change::Release { .. }, true) => "released",
        (Change::Release { .. }, false) => "release_failed",
        (Change::Hold, true) => "held",
        (Change::Hold, false) => "hold_failed",
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
        TimerKind::RemoteStopWait => "remote_stop_wait",
        TimerKind::ResultAge => "result_age",
        TimerKind::RingAge => "ring_age",
    }
}
