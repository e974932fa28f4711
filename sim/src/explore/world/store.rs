//! A model of the store: what is durable, and calls that wait for an answer.

use runwarden_protocol::ids::{Revision, Seq};
use runwarden_protocol::journal::row::Outcome;
use runwarden_protocol::run::settlement::Verdict;
use smallvec::SmallVec;

use super::FEW;
use super::conditions::Fault;

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
    },
    Compensate {
        expected: Revision,
    },
    Settle {
        expected: Revision,
        verdict: Verdict,
    },
    Append {
        count: u8,
    },
    /// A worker saves by itself, from the revision it knows. The machine hears nothing of it.
    SaveLate {
        expected: Revision,
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
        match call.kind {
            CallKind::Admit { expected } => {
                if self.pending.is_some() || expected != self.revision {
                    return None;
                }
                self.pending = Some(run);
                self.key_used_by = Some(run);
                let written = self.commit(None);
                let revision = self.revision;
                let stored = self.stored(run);
                stored.is_admitted = true;
                stored.turn = Turn::Submitted;
                stored.admitted_at = revision;
                Some(written)
            }
            CallKind::Compensate { expected } => {
                if self.pending != Some(run) || expected != self.revision {
                    return None;
                }
                self.pending = None;
                self.key_used_by = None;
                let stored = self.stored(run);
                stored.terminal = Some(Outcome::Failed);
                stored.turn = Turn::Ended;
                Some(self.commit(None))
            }
            CallKind::Settle { expected, verdict } => {
                if self.pending != Some(run) || expected != self.revision {
                    return None;
                }
                self.pending = None;
                let stored = self.stored(run);
                stored.terminal = Some(verdict.outcome);
                stored.prompts += 1;
                if verdict.marker.is_some() {
                    stored.markers += 1;
                    stored.partial = partial;
                }
                let is_left_open =
                    stored.turn == Turn::Submitted && fault == Some(Fault::UnstartedTurnLeftOpen);
                if !is_left_open {
                    stored.turn = Turn::Ended;
                }
                let terminal_seq = Seq::new(u64::from(stored.rows) + 1);
                Some(self.commit(Some(terminal_seq)))
            }
            CallKind::Append { count } => {
                let stored = self.stored(run);
                if stored.terminal.is_some() {
                    return None;
                }
                let first_seq = Seq::new(u64::from(stored.rows) + 1);
                stored.rows += count;
                Some(Written::Rows { first_seq, count: u32::from(count) })
            }
            CallKind::SaveLate { expected } => {
                let is_compared = fault != Some(Fault::SavedUncompared);
                if is_compared && (self.pending != Some(run) || expected != self.revision) {
                    return None;
                }
                self.pending = None;
                Some(self.commit(None))
            }
        }
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
