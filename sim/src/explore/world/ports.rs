//! The ports: what the machine asks for is checked and noted, to be answered by a later choice.

use runwarden_protocol::ids::{AgentId, AskId, RunId, Seq};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::Outcome;
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::lineage::StartAnswer;
use runwarden_protocol::run::stop::{Answer, StopSignal};
use runwarden_protocol::run::{Phase, limits};
use runwarden_runtime::dispatch::{Announcement, PortCall, Release, StoreCall, WorkerCall};

use super::check::ensure;
use super::runs::{Due, RunModel, Start};
use super::steers::SteerRows;
use super::store::{Call, CallKind, Turn};
use super::take::Cause;
use super::{Broken, World};

impl<G: Guards> World<G> {
    pub(super) fn call(&mut self, cause: Cause, call: PortCall) -> Result<(), Broken> {
        match call {
            PortCall::Store(run_id, call) => self.store_call(number(run_id), call),
            PortCall::Change { expected, .. } => self.change_called(expected),
            PortCall::Delete { run, expected, .. } => self.delete_called(run, expected),
            PortCall::Rotate { run_id, expected, .. } => {
                self.rotation_called(number(run_id), expected)
            }
            PortCall::Queue(call) => self.queue_call(call),
            PortCall::Wakeups(call) => self.wakeup_call(call),
            PortCall::Worker(run_id, call) => self.worker_call(number(run_id), call),
            PortCall::CloseAgent(agent) => self.close_agent(cause, agent),
            PortCall::Release(Release::Run(run_id)) => {
                self.run(number(run_id)).due = Due::Nothing;
                Ok(())
            }
            PortCall::Release(Release::Slot(run_id)) => self.release_slot(run_id),
            PortCall::Release(Release::Payloads(_)) | PortCall::TellCache(_) => Ok(()),
            PortCall::Announce(announcement) => self.announce(cause, announcement),
        }
    }

    fn store_call(&mut self, run: u8, call: StoreCall) -> Result<(), Broken> {
        let kind = match call {
            StoreCall::Admit { expected, is_head, turn_id, wakeups, .. } => {
                self.note_wakeups(wakeups);
                ensure(!self.store.is_deleted, "LIFE-02", || {
                    format!("run {run} is admitted in a session that is deleted")
                })?;
                self.check_admission(run)?;
                ensure(is_head || self.store.queue.is_empty(), "ADM-17", || {
                    format!("run {run} overtakes {:?}, which wait", self.store.queue)
                })?;
                let turn = u8::try_from(turn_id.number()).expect("turns are few");
                CallKind::Admit { expected, entry: is_head.then_some(turn) }
            }
            StoreCall::Compensate { expected, requeue, wakeups, .. } => {
                self.note_wakeups(wakeups);
                CallKind::Compensate { expected, requeue }
            }
            StoreCall::Settle { expected, verdict, hold, steers, wakeups, .. } => {
                self.note_wakeups(wakeups);
                let is_appending = self.store.is_appending(run);
                ensure(!is_appending, "STOP-22", || {
                    format!("run {run} is settled while an append is unanswered")
                })?;
                ensure(!self.store.is_settling(run), "OWN-11", || {
                    format!("run {run} is settled twice at once")
                })?;
                let steers = SteerRows::of_settled(&steers);
                CallKind::Settle { expected, verdict, hold, steers }
            }
            StoreCall::StartWorker { .. } => {
                self.store.stored(run).turn = Turn::Started;
                return ensure(
                    self.runs[usize::from(run) - 1].stopped_at.is_none(),
                    "REG-01",
                    || format!("the worker of run {run} began after its Stop"),
                );
            }
            StoreCall::Append { rows } => {
                ensure(!self.store.is_appending(run), "JRN-01", || {
                    format!("rows of run {run} are issued while others are unanswered")
                })?;
                let model = self.run(run);
                ensure(model.stopped_at.is_none(), "STOP-05", || {
                    format!("rows of run {run} are issued after its Stop")
                })?;
                let count = u8::try_from(rows.len()).expect("few rows are produced");
                CallKind::Append { count, steers: SteerRows::of_rows(&rows) }
            }
        };
        self.store.calls.push(Call { run, kind });
        Ok(())
    }

    fn worker_call(&mut self, run: u8, call: WorkerCall) -> Result<(), Broken> {
        let due = match call {
            WorkerCall::Launch => Due::Launch,
            WorkerCall::Construct => Due::Construct,
            // The construction may come to its end all the same.
            WorkerCall::AbandonConstruction => return Ok(()),
            // No call of this world runs on a remote backend.
            WorkerCall::StopRemote => return Ok(()),
            WorkerCall::AskRegistration => Due::Register,
            WorkerCall::Prepare(agent) => {
                self.check_agent_use(run, agent)?;
                self.agent(agent).registered_by = Some(run);
                Due::Prepare(agent)
            }
            WorkerCall::Invoke(agent) => {
                self.check_agent_use(run, agent)?;
                self.check_exclusive(run)?;
                self.check_first_words(run)?;
                Due::Call { agent, is_interrupted: false, is_killed: false }
            }
            WorkerCall::HandSteer(steer_id) => return self.steer_handed(run, steer_id),
            WorkerCall::Signal(agent, signal) => return self.signal(run, agent, signal),
            WorkerCall::Exit => Due::Exit,
        };
        self.run(run).due = due;
        Ok(())
    }

    fn signal(&mut self, run: u8, agent: AgentId, signal: StopSignal) -> Result<(), Broken> {
        let model = self.run(run);
        let Due::Call { agent: called, is_interrupted, is_killed } = &mut model.due else {
            return Err(Broken {
                rule: "REG-08",
                detail: format!("{agent} is pressed for run {run}, which calls no agent"),
            });
        };
        ensure(*called == agent, "REG-11", || format!("{agent} is not the agent of run {run}"))?;
        *is_interrupted = true;
        match signal {
            StopSignal::Interrupt => model.interrupts += 1,
            StopSignal::Terminate => {}
            StopSignal::Kill => *is_killed = true,
        }
        ensure(model.interrupts <= 1, "STOP-08", || {
            format!("the agent of run {run} is interrupted twice")
        })
    }

    fn close_agent(&mut self, cause: Cause, agent: AgentId) -> Result<(), Broken> {
        let has_row = self.lineage.row().is_some();
        ensure(cause != Cause::Evictor || !has_row, "REG-13", || {
            format!("{agent} is evicted while the session has a row")
        })?;
        let registered_by = self.agent(agent).registered_by;
        if let (Cause::Port(by), Some(registered_by)) = (cause, registered_by) {
            let is_called = |model: &RunModel| matches!(model.due, Due::Call { agent: called, .. } if called == agent);
            // The kept agent of a deleted session goes with whichever row was its last.
            let is_left = self.lineage.is_deleted() && !self.runs.iter().any(is_called);
            ensure(by == registered_by || is_left, "INV-OWN", || {
                format!("run {by} closes {agent}, which run {registered_by} registered")
            })?;
        }
        self.agent(agent).is_closed = true;
        Ok(())
    }

    fn announce(&mut self, cause: Cause, announcement: Announcement) -> Result<(), Broken> {
        match announcement {
            Announcement::Start { ask, answer } => self.start_answered(ask, answer),
            Announcement::Stop { run_id, asks, answer } => {
                let is_repeat = matches!(cause, Cause::Stop { is_repeat: true, .. });
                self.stop_answered(number(run_id), asks.len(), answer, is_repeat)
            }
            Announcement::Rows { run_id, first_seq, rows } => {
                self.rows_shown(number(run_id), first_seq, rows.len())
            }
            Announcement::Phase { run_id, phase: Phase::Starting, .. } => {
                self.screen_told_run(number(run_id), false);
                Ok(())
            }
            Announcement::Phase { run_id, phase: Phase::Cancelling, since } => {
                self.stopped(cause, number(run_id), since)
            }
            Announcement::Ended { run_id, outcome, seq, steers, .. } => {
                let run = number(run_id);
                self.check_returned(run, &steers)?;
                self.ended(run, outcome, seq, SteerRows::of_settled(&steers).settled())
            }
            Announcement::QuestionOpened { question_id, expires_at, .. } => {
                self.question_opened(question_id, expires_at);
                Ok(())
            }
            Announcement::QuestionRefused { question_id } => {
                self.question_refused(question_id);
                Ok(())
            }
            Announcement::QuestionsResolved { questions, outcome, .. } => {
                self.questions_resolved(cause, &questions, outcome)
            }
            Announcement::AnswerRefused { question_id, .. } => self.answer_refused(question_id),
            Announcement::Change { answer, .. } => {
                self.change_answered(answer);
                Ok(())
            }
            Announcement::Deletion { answer, .. } => self.deletion_answered(answer),
            Announcement::Rotated { run_id, .. } => self.rotated(number(run_id)),
            Announcement::RotationRefused { run_id } => {
                self.rotation_refused(number(run_id));
                Ok(())
            }
            Announcement::Steer { ask, answer, .. } => self.steer_answered(ask, answer),
            Announcement::Queue { ask, answer } => self.queue_answered(ask, answer),
            Announcement::Idle => {
                self.queue_triggered();
                self.wakeups_triggered();
                Ok(())
            }
            Announcement::Phase { .. } | Announcement::Session { .. } => Ok(()),
        }
    }

    fn start_answered(&mut self, ask: AskId, answer: StartAnswer) -> Result<(), Broken> {
        let run = u8::try_from(ask.number()).expect("a start has the number of its run");
        let is_admitted = self.store.run(run).is_admitted;
        let is_key_used = self.store.key_used_by.or(self.turn_of_screen()).is_some();
        ensure(is_key_used || !matches!(answer, StartAnswer::Repeated), "ADM-13", || {
            format!("start {run} is told the outcome of a key that had none")
        })?;
        if let StartAnswer::Queued { turn_id, position, .. } = answer {
            self.check_queued(turn_id, position)?;
        }
        if let StartAnswer::Refused(refusal) = answer {
            self.wakeup_refused(run, refusal.code)?;
        }
        let model = self.run(run);
        let start = match answer {
            StartAnswer::Started { .. } => {
                ensure(is_admitted, "DI-5", || {
                    format!("run {run} is acknowledged before it is durable")
                })?;
                Start::Acknowledged
            }
            StartAnswer::Queued { .. } => Start::Queued,
            StartAnswer::Unstored | StartAnswer::Repeated | StartAnswer::Refused(_) => {
                Start::Refused
            }
        };
        if model.start == Start::Waiting {
            model.start = start;
        }
        self.screen_told_start(run, answer);
        self.slot_told(run, answer)
    }

    fn stop_answered(
        &mut self,
        run: u8,
        asks: usize,
        answer: Answer,
        is_repeat: bool,
    ) -> Result<(), Broken> {
        let stored = self.store.run(run);
        let asks = u8::try_from(asks).expect("few Stops are asked");
        self.screen_told_stop(run, answer);
        let model = self.run(run);
        model.stops_waiting = model.stops_waiting.saturating_sub(asks);
        let gave_up = model.saves_failed > limits::SAVE_RETRIES;
        match answer {
            // A repeated Stop is answered while the row is cancelling (STOP-08); the phase is shown.
            Answer::Accepted if is_repeat => Ok(()),
            Answer::Accepted => {
                let ended_otherwise = stored.terminal.is_some() && model.stopped_at.is_none();
                ensure(!ended_otherwise, "STOP-06", || {
                    format!("a Stop of run {run} is accepted after its end: {:?}", stored.terminal)
                })?;
                ensure(stored.terminal.is_some() || gave_up, "STOP-04", || {
                    format!("a Stop of run {run} is answered before its terminal is stable")
                })
            }
            Answer::AlreadyEnded { status } => {
                let is_true = stored.terminal == Some(status) || !stored.is_admitted;
                ensure(is_true, "STOP-06", || {
                    format!(
                        "a Stop of run {run} is told {status:?}, it ended {:?}",
                        stored.terminal
                    )
                })
            }
            Answer::Unknown => ensure(!stored.is_admitted, "STOP-03", || {
                format!("run {run} is called unknown, and the session had it")
            }),
            Answer::Refused | Answer::RemoteRefused => Ok(()),
        }
    }

    fn stopped(&mut self, cause: Cause, run: u8, since: Instant) -> Result<(), Broken> {
        if let Cause::Stop { run: named, .. } = cause {
            ensure(named == run, "STOP-13", || format!("a Stop of run {named} stops run {run}"))?;
        }
        ensure(!self.store.is_settling(run), "STOP-07", || {
            format!("a Stop of run {run} is accepted while its settlement is being saved")
        })?;
        let model = self.run(run);
        model.stopped_at = Some(since);
        if model.stops_waiting > 0 {
            self.hold_queue();
        }
        Ok(())
    }

    fn rows_shown(&mut self, run: u8, first: Option<Seq>, count: usize) -> Result<(), Broken> {
        let stored = self.store.run(run);
        let model = self.run(run);
        ensure(model.ended.is_none(), "DI-7", || format!("rows of run {run} follow its end"))?;
        let Some(first) = first else {
            return ensure(model.stopped_at.is_none(), "STOP-22", || {
                format!("rows of run {run} are shown after its Stop and not stored")
            });
        };
        let due = u64::from(model.shown) + 1;
        ensure(first.get() == due, "INV-SEQ", || {
            format!("row {} of run {run} is shown, {due} was due", first.get())
        })?;
        model.shown += u8::try_from(count).expect("few rows are produced");
        ensure(model.shown <= stored.rows, "DI-5", || {
            format!("rows of run {run} are shown before they are durable")
        })
    }

    fn ended(
        &mut self,
        run: u8,
        outcome: Outcome,
        seq: Option<Seq>,
        settled: u8,
    ) -> Result<(), Broken> {
        let stored = self.store.run(run);
        let model = self.run(run);
        ensure(model.ended.is_none(), "INV-TERM", || format!("run {run} ends twice"))?;
        let is_as_said = model.ending.is_none_or(|ending| ending == outcome || model.is_stop_asked);
        ensure(is_as_said, "STOP-21", || {
            format!("run {run} was ended by the server as {:?} and is {outcome:?}", model.ending)
        })?;
        model.ended = Some(outcome);
        self.screen_told_run(run, true);
        let model = self.run(run);
        if model.stopped_at.is_none() {
            // A worker that settled its run has nothing left to do.
            model.due = Due::Nothing;
        }
        ensure(stored.terminal == Some(outcome), "DI-5", || {
            format!("run {run} is shown {outcome:?}, the store holds {:?}", stored.terminal)
        })?;
        let due = u64::from(model.shown) + u64::from(settled) + 1;
        if outcome == Outcome::Cancelled {
            self.check_hold_stored(run)?;
        }
        ensure(seq.is_none_or(|seq| seq.get() == due), "INV-SEQ", || {
            format!("the terminal of run {run} has number {seq:?}, {due} was due")
        })
    }

    pub(super) fn run(&mut self, run: u8) -> &mut RunModel {
        &mut self.runs[usize::from(run) - 1]
    }
}

fn number(run_id: RunId) -> u8 {
    u8::try_from(run_id.number()).expect("runs are few")
}
