//! The judgement of one run.

use super::event::Event;

/// What a trace has shown of one run so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunAudit {
    /// Number of the last row that was shown; none while the trace does not tell.
    shown: Option<u64>,
    /// Number of the last row that is durable; none while the trace does not tell.
    durable: Option<u64>,
    /// Record of the run's latest commit.
    committed_at: Option<u64>,
    ended: bool,
}

/// The invariant that is broken, and how.
pub(super) type Broken = (&'static str, String);

impl RunAudit {
    /// Takes the next event, of record `n`.
    pub(super) fn take(&mut self, n: u64, event: Event) -> Option<Broken> {
        match event {
            Event::Admitted => self.start(0),
            Event::Recovered { last_seq } => self.start(last_seq),
            Event::Persisted { first_seq, count } => {
                self.durable = Some(first_seq.saturating_add(count).saturating_sub(1));
                None
            }
            Event::Committed => {
                self.committed_at = Some(n);
                None
            }
            Event::Published { first_seq, rows } => self.publish(first_seq, rows),
            Event::PublishedDegraded => self.after_the_end(),
            Event::Ended { seq, settled_rows } => self.end(n, seq, settled_rows),
        }
    }

    fn start(&mut self, last_seq: u64) -> Option<Broken> {
        self.shown = Some(last_seq);
        self.durable = Some(last_seq);
        None
    }

    fn publish(&mut self, first_seq: u64, rows: u64) -> Option<Broken> {
        let due = self.shown.map(|shown| shown + 1);
        let last = first_seq.saturating_add(rows).saturating_sub(1);
        self.shown = Some(last);
        if let Some(broken) = self.after_the_end() {
            return Some(broken);
        }
        if self.durable.is_none_or(|durable| durable < last) {
            let detail = format!("rows {first_seq} to {last} were published before persisted");
            return Some(("DI-5", detail));
        }
        match due {
            Some(due) if due != first_seq => Some(hole("published rows", due, first_seq)),
            None if first_seq == 0 => Some(hole("published rows", 1, 0)),
            Some(_) | None => None,
        }
    }

    fn end(&mut self, n: u64, seq: Option<u64>, settled_rows: u64) -> Option<Broken> {
        if std::mem::replace(&mut self.ended, true) {
            return Some(("INV-TERM", "the run ended twice".to_owned()));
        }
        if self.committed_at != Some(n) {
            let detail = "the run ended before its settlement was committed";
            return Some(("DI-5", detail.to_owned()));
        }
        match (self.shown.map(|shown| shown + settled_rows + 1), seq) {
            (Some(due), Some(seq)) if due != seq => Some(hole("the terminal row", due, seq)),
            (Some(_) | None, _) => None,
        }
    }

    fn after_the_end(&self) -> Option<Broken> {
        self.ended.then(|| ("DI-7", "rows were published after the run ended".to_owned()))
    }
}

fn hole(what: &str, due: u64, found: u64) -> Broken {
    ("INV-SEQ", format!("{what}: number {due} was due, {found} came"))
}
