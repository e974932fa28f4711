//! A model of the store: what is durable, and calls that wait for an answer.

use runwarden_protocol::ids::{Revision, Seq, TurnId};
use runwarden_protocol::journal::row::Outcome;
use runwarden_protocol::run::queue::Change;
use runwarden_protocol::run::settlement::Verdict;
use runwarden_protocol::wire::codes::Code;
use smallvec::SmallVec;

use super::FEW;
use super::conditions::Fault;
use super::steers::SteerRows;

/// The run of a call that belongs to the session itself.
pub(super) const SESSION: u8 = 0;

/// The store of one session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Store {
    pub(super) revision: Revision,
    /// The run of the pending turn.
    pub(super) pending: Option<u8>,
    /// What is durable of each run, by number.
    pub(super) runs: SmallVec<[StoredRun; FEW]>,
    /// The run that used the one idempotency key.
    pub(super) key_used_by: Option<u8>,
    /// Entries of the queue by turn, the head first.
    pub(super) queue: SmallVec<[u8; FEW]>,
    /// Why nothing of it starts.
    pub(super) held: Option<Code>,
    /// Everything of the session is that of its continuation.
    pub(super) is_rotated: bool,
    /// Nothing is left but the tombstones of its runs (JRN-12).
    pub(super) is_deleted: bool,
    /// Calls without answer, in the order they were issued.
    pub(super) calls: SmallVec<[Call; FEW]>,
}

/// What is durable of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct StoredRun {
    pub(super) is_admitted: bool,
    /// Rows before the terminal.
    pub(super) rows: u8,
    pub(super) terminal: Option<Outcome>,
    /// User turns, markers and answer rows in the transcript.
    pub(super) prompts: u8,
    pub(super) markers: u8,
    /// Rows that the partial row of a run without answer holds.
    pub(super) partial: u8,
    pub(super) turn: Turn,
    /// The revision that admitted it.
    pub(super) admitted_at: Revision,
    /// The entry of the queue that it was.
    pub(super) entry: Option<u8>,
    /// Whether its start was undone.
    pub(super) is_undone: bool,
}

/// The turn's own journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Turn {
    #[default]
    None,
    Submitted,
    Started,
    Ended,
}

/// A call of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Call {
    pub(super) run: u8,
    pub(super) kind: CallKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CallKind {
    Admit {
        expected: Revision,
        /// The entry of the queue that goes with it.
        entry: Option<u8>,
    },
    Compensate {
        expected: Revision,
        /// The hold with which its entry comes back.
        requeue: Option<Code>,
    },
    Settle {
        expected: Revision,
        verdict: Verdict,
        hold: Option<Code>,
        steers: SteerRows,
    },
    Append {
        count: u8,
        steers: SteerRows,
    },
    /// A worker saves by itself, from the revision it knows. The machine hears nothing of it.
    SaveLate {
        expected: Revision,
        /// Whether another process has the lease.
        is_fenced: bool,
    },
    /// A worker appends though another process has the lease. The machine hears nothing of it.
    AppendLate,
    /// A change of the queue.
    Queue {
        change: Change,
        held: Option<Code>,
        expected: Revision,
    },
    /// The deletion of the session, with the run that ends in it.
    Delete {
        expected: Revision,
        run: Option<(u8, Verdict)>,
    },
    /// A change of the wakeups.
    Wakeups {
        expected: Revision,
    },
    /// The rotation to the continuation.
    Rotate {
        expected: Revision,
    },
    /// A change of the record, worked out from the record as it was at `loaded`.
    Change {
        expected: Revision,
        loaded: Revision,
    },
}

/// What a call wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Commit { revision: Revision, terminal_seq: Option<Seq> },
    Rows { first_seq: Seq, count: u32 },
}

impl Store {
    pub(super) fn new() -> Self {
        Self {
            revision: Revision::new(1),
            pending: None,
            key_used_by: None,
            queue: SmallVec::new(),
            held: None,
            is_rotated: false,
            is_deleted: false,
            runs: SmallVec::new(),
            calls: SmallVec::new(),
        }
    }

    pub(super) fn run(&self, run: u8) -> StoredRun {
        self.runs.get(usize::from(run) - 1).copied().unwrap_or_default()
    }

    /// Whether an append of the run waits for its answer.
    pub(super) fn is_appending(&self, run: u8) -> bool {
        let is_append = |call: &Call| matches!(call.kind, CallKind::Append { .. });
        self.calls.iter().any(|call| call.run == run && is_append(call))
    }

    /// Whether a settlement of the run waits for its answer.
    pub(super) fn is_settling(&self, run: u8) -> bool {
        let is_settlement = |call: &Call| matches!(call.kind, CallKind::Settle { .. });
        self.calls.iter().any(|call| call.run == run && is_settlement(call))
    }

    /// Carries out a call; none when the store refuses it (OWN-03, OWN-04, JRN-08). A settlement with a
    /// marker keeps `partial` rows.
    pub(super) fn write(
        &mut self,
        call: Call,
        partial: u8,
        fault: Option<Fault>,
    ) -> Option<Written> {
        let run = call.run;
        let is_made_anew = fault == Some(Fault::JournalMadeAnew);
        if self.is_deleted && !(is_made_anew && call.kind == CallKind::AppendLate) {
            return None;
        }
        match call.kind {
            CallKind::Admit { expected, entry } => {
                let is_free = self.pending.is_none() && expected == self.revision;
                let is_taken = is_free && (entry.is_none() || self.take_head(entry, fault));
                is_taken.then(|| self.admit(run, entry))
            }
            CallKind::Compensate { expected, requeue } => {
                self.is_due(run, expected).then(|| self.compensate(run, requeue))
            }
            CallKind::Settle { expected, verdict, hold, steers } => {
                self.is_due(run, expected).then(|| {
                    if hold.is_some() {
                        self.hold(hold);
                    }
                    self.settle(run, verdict, partial, steers, fault)
                })
            }
            CallKind::Append { count, .. } => {
                let stored = self.stored(run);
                if stored.terminal.is_some() {
                    return None;
                }
                let first_seq = Seq::new(u64::from(stored.rows) + 1);
                stored.rows += count;
                Some(Written::Rows { first_seq, count: u32::from(count) })
            }
            CallKind::SaveLate { expected, is_fenced } => {
                if fault == Some(Fault::SecondTerminalTaken) && self.run(run).terminal.is_some() {
                    self.stored(run).terminal = Some(Outcome::Completed);
                    return Some(self.commit(None));
                }
                let is_compared = fault != Some(Fault::SavedUncompared);
                if is_compared && (is_fenced || !self.is_due(run, expected)) {
                    return None;
                }
                self.pending = None;
                Some(self.commit(None))
            }
            CallKind::AppendLate => {
                if !is_made_anew && fault != Some(Fault::OldEpochAccepted) {
                    return None;
                }
                let stored = self.stored(run);
                stored.rows += 1;
                Some(Written::Rows { first_seq: Seq::new(u64::from(stored.rows)), count: 1 })
            }
            CallKind::Queue { change, held, expected } => {
                (expected == self.revision).then(|| self.change_queue(change, held))
            }
            CallKind::Delete { expected, run } => {
                (expected == self.revision).then(|| self.delete(run, partial, fault))
            }
            CallKind::Rotate { expected } => (expected == self.revision).then(|| {
                self.is_rotated = true;
                self.hold(Some(Code::SessionRotated));
                self.commit(None)
            }),
            CallKind::Wakeups { expected } | CallKind::Change { expected, .. } => {
                (expected == self.revision).then(|| self.commit(None))
            }
        }
    }

    /// Whether the pending turn is that of the run, and the record is the one its writer knows.
    fn is_due(&self, run: u8, expected: Revision) -> bool {
        self.pending == Some(run) && expected == self.revision
    }

    fn admit(&mut self, run: u8, entry: Option<u8>) -> Written {
        self.pending = Some(run);
        self.key_used_by = Some(run);
        let written = self.commit(None);
        let revision = self.revision;
        let stored = self.stored(run);
        stored.is_admitted = true;
        stored.turn = Turn::Submitted;
        stored.admitted_at = revision;
        stored.entry = entry;
        written
    }

    fn compensate(&mut self, run: u8, requeue: Option<Code>) -> Written {
        self.pending = None;
        self.key_used_by = None;
        let stored = self.stored(run);
        stored.terminal = Some(Outcome::Failed);
        stored.turn = Turn::Ended;
        stored.is_undone = true;
        if let (Some(entry), Some(_)) = (stored.entry, requeue) {
            self.queue.insert(0, entry);
            self.hold(requeue);
        }
        self.commit(None)
    }

    fn settle(
        &mut self,
        run: u8,
        verdict: Verdict,
        partial: u8,
        steers: SteerRows,
        fault: Option<Fault>,
    ) -> Written {
        self.pending = None;
        let stored = self.stored(run);
        stored.terminal = Some(verdict.outcome);
        stored.prompts += 1;
        if verdict.marker.is_some() {
            stored.markers += 1;
            // Rows that settle steers are shown as notes and keep with the rest.
            stored.partial = partial + steers.settled();
        }
        let is_left_open =
            stored.turn == Turn::Submitted && fault == Some(Fault::UnstartedTurnLeftOpen);
        if !is_left_open {
            stored.turn = Turn::Ended;
        }
        stored.rows += steers.settled();
        let terminal_seq = Seq::new(u64::from(stored.rows) + 1);
        self.commit(Some(terminal_seq))
    }

    /// The run ends in the same commit, and nothing of the session is left (LIFE-01).
    fn delete(&mut self, run: Option<(u8, Verdict)>, partial: u8, fault: Option<Fault>) -> Written {
        self.is_deleted = true;
        self.queue.clear();
        self.held = None;
        match run {
            Some((run, verdict)) => self.settle(run, verdict, partial, SteerRows::default(), fault),
            None => self.commit(None),
        }
    }

    /// Takes the head out, with its turn.
    fn take_head(&mut self, entry: Option<u8>, fault: Option<Fault>) -> bool {
        match fault {
            Some(Fault::HeadRemovedFirst | Fault::HeadKept) => true,
            _ if self.queue.first().copied() != entry => false,
            _ => {
                self.queue.remove(0);
                self.hold(self.held);
                true
            }
        }
    }

    fn change_queue(&mut self, change: Change, held: Option<Code>) -> Written {
        let number = |turn: TurnId| u8::try_from(turn.number()).expect("messages are few");
        match change {
            Change::Append { turn_id, .. } => self.queue.push(number(turn_id)),
            Change::Remove { turn_id, .. } => {
                self.queue.retain(|entry| *entry != number(turn_id));
            }
            Change::Release { .. } | Change::Hold => {}
        }
        self.hold(held);
        self.commit(None)
    }

    /// A queue without entries has no hold (LIFE-06).
    fn hold(&mut self, held: Option<Code>) {
        self.held = held.filter(|_| !self.queue.is_empty());
    }

    fn commit(&mut self, terminal_seq: Option<Seq>) -> Written {
        self.revision = self.revision.plus(1);
        Written::Commit { revision: self.revision, terminal_seq }
    }

    pub(super) fn stored(&mut self, run: u8) -> &mut StoredRun {
        let index = usize::from(run) - 1;
        if self.runs.len() <= index {
            self.runs.resize(index + 1, StoredRun::default());
        }
        &mut self.runs[index]
    }
}
