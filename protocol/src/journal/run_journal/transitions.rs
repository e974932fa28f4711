use super::state::{
    APPEND_OUTAGE, BATCH_ROWS_MAX, Input, JOURNAL_BYTES_MAX, NOTE_ROWS_RESERVED, Output, Phase,
    ROW_BYTES_MAX, RowRef, RunJournal, WAITING_ROWS_MAX,
};
use crate::ids::{PayloadId, Seq};
use crate::instant::Instant;
use crate::journal::row::{Outcome, Reason, RowEvent};
use crate::machine::{Machine, Outbox, Reject, TimerKind};

impl Machine for RunJournal {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 2;

    fn step(&mut self, now: Instant, input: Input, out: &mut Outbox<Output>) -> Result<(), Reject> {
        match (self.phase, input) {
            (Phase::Open, Input::HandOver(row)) => self.take(row, out),
            (Phase::Sealed, Input::HandOver(_)) => Err(Reject::Local("journal_sealed")),
            (Phase::Ended { .. }, Input::HandOver(_)) => Err(Reject::Local("journal_ended")),
            (Phase::Deleted, Input::HandOver(_)) => Err(Reject::Local("journal_deleted")),

            (Phase::Open | Phase::Sealed, Input::Persisted { first_seq, count }) => {
                self.persisted(first_seq, count, out)
            }
            (Phase::Open, Input::AppendFailed) => self.failed_while_open(now, out),
            (Phase::Sealed, Input::AppendFailed) => self.drop_batch(out),
            (Phase::Deleted, Input::Persisted { .. } | Input::AppendFailed) => self.drop_batch(out),
            (Phase::Ended { .. }, Input::Persisted { .. } | Input::AppendFailed) => {
                Err(Reject::Local("nothing_in_flight"))
            }

            (Phase::Open, Input::Seal) => self.close(Phase::Sealed, out),
            (Phase::Sealed, Input::Seal) => Ok(()),
            (Phase::Ended { .. }, Input::Seal) => Err(Reject::Local("journal_ended")),
            (Phase::Deleted, Input::Seal) => Err(Reject::Local("journal_deleted")),

            (Phase::Open | Phase::Sealed, Input::SettledRows { count }) => self.skip(count),
            (Phase::Ended { .. }, Input::SettledRows { .. }) => Err(Reject::Local("journal_ended")),
            (Phase::Deleted, Input::SettledRows { .. }) => Err(Reject::Local("journal_deleted")),

            (Phase::Open | Phase::Sealed, Input::Ended { outcome, seq }) => self.end(outcome, seq),
            (Phase::Ended { .. }, Input::Ended { .. }) => Err(Reject::Local("terminal_stands")),
            (Phase::Deleted, Input::Ended { .. }) => Err(Reject::Local("journal_deleted")),

            (Phase::Open | Phase::Sealed | Phase::Ended { .. }, Input::Delete) => {
                self.close(Phase::Deleted, out)
            }
            (Phase::Deleted, Input::Delete) => Err(Reject::Local("journal_deleted")),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Outbox<Output>) {
        match self.deadline() {
            Some((due, _)) if due <= now => self.request_end(Reason::StorageFailed, out),
            Some(_) | None => {}
        }
    }

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        match (self.phase, self.end_requested, self.outage_since) {
            (Phase::Open, None, Some(since)) => {
                Some((since.plus(APPEND_OUTAGE), TimerKind::AppendOutage))
            }
            (Phase::Open, None, None)
            | (Phase::Open, Some(_), _)
            | (Phase::Sealed | Phase::Ended { .. } | Phase::Deleted, _, _) => None,
        }
    }

    fn weight(&self) -> usize {
        let bodies = bytes_of(&self.in_flight) + self.waiting_bytes;
        let rows = self.in_flight.len() + self.waiting.len();
        usize::try_from(bodies).unwrap_or(usize::MAX) + rows * size_of::<RowRef>()
    }

    fn is_terminal(&self) -> bool {
        match self.phase {
            Phase::Deleted => self.in_flight.is_empty(),
            Phase::Open | Phase::Sealed | Phase::Ended { .. } => false,
        }
    }

    fn state_name(&self) -> &'static str {
        match (self.phase, self.in_flight()) {
            (Phase::Open, false) => "open",
            (Phase::Open, true) => "open_in_flight",
            (Phase::Sealed, false) => "sealed",
            (Phase::Sealed, true) => "sealed_in_flight",
            (Phase::Ended { .. }, _) => "ended",
            (Phase::Deleted, false) => "deleted",
            (Phase::Deleted, true) => "deleted_in_flight",
        }
    }
}

impl RunJournal {
    fn take(&mut self, row: RowRef, out: &mut Outbox<Output>) -> Result<(), Reject> {
        if row.event.is_terminal() {
            return Err(Reject::Local("terminal_comes_with_settlement"));
        }
        if row.payload.json_bytes > ROW_BYTES_MAX {
            return Err(Reject::Local("row_too_large"));
        }
        if self.end_requested.is_some() {
            out.push(Output::Discarded { payloads: vec![row.payload.id] });
            return Ok(());
        }
        if !self.has_room_for(row.event) {
            return Err(Reject::Local("journal_backlog_full"));
        }
        let bytes = u64::from(row.payload.json_bytes);
        if self.journal_bytes + bytes > JOURNAL_BYTES_MAX {
            out.push(Output::Discarded { payloads: vec![row.payload.id] });
            self.request_end(Reason::JournalFull, out);
            return Ok(());
        }
        self.journal_bytes += bytes;
        self.waiting_bytes += bytes;
        self.waiting.push_back(row);
        if self.in_flight.is_empty() {
            self.issue(out);
        }
        Ok(())
    }

    fn has_room_for(&self, event: RowEvent) -> bool {
        match event {
            RowEvent::Content { .. } => self.accepts_rows(),
            RowEvent::QuestionAsked { .. }
            | RowEvent::QuestionResolved { .. }
            | RowEvent::SteerAccepted { .. }
            | RowEvent::SteerSettled { .. }
            | RowEvent::Terminal { .. } => {
                self.waiting.len() < WAITING_ROWS_MAX + NOTE_ROWS_RESERVED
            }
        }
    }

    fn persisted(
        &mut self,
        first_seq: Seq,
        count: u32,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        if self.in_flight.is_empty() {
            return Err(Reject::Local("nothing_in_flight"));
        }
        if first_seq != self.last_seq.plus(1) {
            return Err(Reject::Local("seq_not_next"));
        }
        if usize::try_from(count) != Ok(self.in_flight.len()) {
            return Err(Reject::Local("count_not_issued"));
        }
        self.last_seq = self.last_seq.plus(u64::from(count));
        self.outage_since = None;
        let rows = std::mem::take(&mut self.in_flight);
        out.push(Output::Published { first_seq, rows });
        self.go_on(out);
        Ok(())
    }

    fn failed_while_open(&mut self, now: Instant, out: &mut Outbox<Output>) -> Result<(), Reject> {
        let rows = self.take_back_batch()?;
        self.degraded = true;
        self.outage_since.get_or_insert(now);
        out.push(Output::PublishedDegraded { rows });
        self.go_on(out);
        Ok(())
    }

    /// The batch is answered when nobody may see its rows any more.
    fn drop_batch(&mut self, out: &mut Outbox<Output>) -> Result<(), Reject> {
        let rows = self.take_back_batch()?;
        out.push(Output::Discarded { payloads: payloads_of(&rows) });
        out.push(Output::Answered);
        Ok(())
    }

    fn take_back_batch(&mut self) -> Result<Vec<RowRef>, Reject> {
        if self.in_flight.is_empty() {
            return Err(Reject::Local("nothing_in_flight"));
        }
        let rows = std::mem::take(&mut self.in_flight);
        self.journal_bytes -= bytes_of(&rows);
        Ok(rows)
    }

    fn close(&mut self, phase: Phase, out: &mut Outbox<Output>) -> Result<(), Reject> {
        self.phase = phase;
        let dropped: Vec<RowRef> = std::mem::take(&mut self.waiting).into();
        self.journal_bytes -= self.waiting_bytes;
        self.waiting_bytes = 0;
        if !dropped.is_empty() {
            out.push(Output::Discarded { payloads: payloads_of(&dropped) });
        }
        Ok(())
    }

    fn skip(&mut self, count: u32) -> Result<(), Reject> {
        if self.in_flight() {
            return Err(Reject::Local("append_unanswered"));
        }
        self.last_seq = self.last_seq.plus(u64::from(count));
        Ok(())
    }

    fn end(&mut self, outcome: Outcome, seq: Option<Seq>) -> Result<(), Reject> {
        if self.in_flight() {
            return Err(Reject::Local("append_unanswered"));
        }
        if seq.is_some_and(|seq| seq != self.last_seq.plus(1)) {
            return Err(Reject::Local("seq_not_next"));
        }
        self.last_seq = seq.unwrap_or(self.last_seq);
        self.phase = Phase::Ended { outcome };
        Ok(())
    }

    fn request_end(&mut self, reason: Reason, out: &mut Outbox<Output>) {
        self.end_requested = Some(reason);
        out.push(Output::EndRun { reason });
    }

    fn go_on(&mut self, out: &mut Outbox<Output>) {
        if self.waiting.is_empty() {
            out.push(Output::Answered);
        } else {
            self.issue(out);
        }
    }

    fn issue(&mut self, out: &mut Outbox<Output>) {
        let count = self.waiting.len().min(BATCH_ROWS_MAX);
        self.in_flight = self.waiting.drain(..count).collect();
        self.waiting_bytes -= bytes_of(&self.in_flight);
        out.push(Output::Append { rows: self.in_flight.clone() });
    }
}

fn bytes_of(rows: &[RowRef]) -> u64 {
    rows.iter().map(|row| u64::from(row.payload.json_bytes)).sum()
}

fn payloads_of(rows: &[RowRef]) -> Vec<PayloadId> {
    rows.iter().map(|row| row.payload.id).collect()
}
