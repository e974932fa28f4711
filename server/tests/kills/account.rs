//! What a client was told, and whether the store says the same.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use crate::support::stored::Stored;

/// All that the server told about one session.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// The session.
    pub(crate) session: String,
    /// Whether its client seldom stops a run, so that questions are reached.
    pub(crate) is_patient: bool,
    /// Its messages in the order they were sent first.
    pub(crate) sent: Vec<Sent>,
    /// Runs with the outcome a terminal or the answer to a Stop named.
    pub(crate) ended: Vec<(String, String)>,
    /// Accepted steers: run and steer.
    pub(crate) steers: Vec<(String, String)>,
    /// Stops that were accepted.
    pub(crate) stops: usize,
    /// Questions that were answered.
    pub(crate) answers: usize,
    /// The highest number of a row that was shown, by run.
    rows: BTreeMap<String, u64>,
}

/// A message.
#[derive(Debug)]
pub(crate) struct Sent {
    /// Its idempotency key.
    pub(crate) key: String,
    /// Its text, which no other has.
    pub(crate) text: String,
    /// What is to become of it while the session is busy.
    pub(crate) when_busy: &'static str,
    /// What the server said; nothing when it died before.
    pub(crate) reply: Option<Reply>,
    /// Whether it was asked to leave the queue, and that was not refused.
    pub(crate) may_be_removed: bool,
    /// Whether it left the queue.
    pub(crate) is_removed: bool,
}

/// An answer to a message.
#[derive(Debug, PartialEq)]
pub(crate) enum Reply {
    /// It is durable: a run, or a place in the queue.
    Accepted {
        /// The message.
        message: String,
        /// The run, unless it waits.
        run: Option<String>,
    },
    /// It had no effect, for this reason.
    Refused(String),
}

/// Figures of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    accepted: usize,
    queued: usize,
    refused: usize,
    removed: usize,
    stops: usize,
    answers: usize,
    steers: usize,
    outcomes: BTreeMap<String, usize>,
}

impl Account {
    /// Of a new session.
    pub(crate) fn new(session: String, is_patient: bool) -> Self {
        Self { session, is_patient, ..Self::default() }
    }

    /// A new message; its place.
    pub(crate) fn next(&mut self, begin: &str, when_busy: &'static str) -> usize {
        let number = self.sent.len();
        self.sent.push(Sent {
            key: format!("key-{number}"),
            text: format!("{begin} message {number}"),
            when_busy,
            reply: None,
            may_be_removed: false,
            is_removed: false,
        });
        number
    }

    /// Messages whose fate the client was never told.
    pub(crate) fn unanswered(&self) -> Vec<usize> {
        (0..self.sent.len()).filter(|sent| self.sent[*sent].reply.is_none()).collect()
    }

    /// How many messages wait, or did when they were sent.
    pub(crate) fn waiting(&self) -> usize {
        let is_known = |sent: &&Sent| sent.is_waiting() && !sent.may_be_removed;
        self.sent.iter().rev().take(20).filter(is_known).count()
    }

    /// The newest message that was put behind others.
    pub(crate) fn last_waiting(&self) -> Option<usize> {
        self.sent.iter().rposition(|sent| sent.is_waiting() && !sent.may_be_removed)
    }

    /// Takes in the number of a row that was shown.
    pub(crate) fn shown(&mut self, data: &Value) {
        let (Some(run), Some(seq)) = (data["entity_id"].as_str(), data["stream_seq"].as_u64())
        else {
            return;
        };
        let newest = self.rows.entry(run.to_owned()).or_default();
        *newest = seq.max(*newest);
    }

    /// The store of a dead server agrees with all that was told.
    pub(crate) fn check(&self, stored: &Stored) {
        self.check_messages(stored);
        let settled: BTreeMap<_, _> = stored.settlements(&self.session).into_iter().collect();
        for (run, outcome) in &self.ended {
            assert_eq!(settled.get(run), Some(outcome), "{run} was told to be {outcome}");
        }
        for (run, seq) in &self.rows {
            let last = stored.journal(run).len() as u64;
            assert!(*seq <= last, "row {seq} of {run} was shown, the journal has {last}");
        }
        for (run, steer) in &self.steers {
            assert!(stored.has_steer(run, steer), "{steer} of {run} was accepted");
        }
        for run in stored.run_ids(&self.session) {
            let facts = stored.run(&run).unwrap();
            let terminals: Vec<_> = facts.terminals().collect();
            let outcome: Vec<_> = facts.outcome.as_deref().into_iter().collect();
            assert_eq!(terminals, outcome, "terminals of {run}");
            assert_eq!(stored.turn_ends(&run), outcome, "turn journal of {run}");
            assert_eq!(settled.get(&run), facts.outcome.as_ref(), "settlement of {run}");
        }
    }

    /// Nothing waits any more, and no steer is left open.
    pub(crate) fn check_end(&self, stored: &Stored) {
        assert_eq!(stored.queued(&self.session), Vec::<String>::new());
        assert_eq!(stored.pending(&self.session), None);
        for run in stored.run_ids(&self.session) {
            let rows = stored.run(&run).unwrap().rows;
            let count = |event: &str| rows.iter().filter(|row| row.event == event).count();
            assert_eq!(count("steer_accepted"), count("steer_settled"), "{run}");
        }
    }

    /// Each message is there once if it was accepted, at most once if nobody knows, else not at all; those
    /// that waited are in their order.
    fn check_messages(&self, stored: &Stored) {
        let session = &self.session;
        let transcript = stored.messages(session);
        let users = transcript.iter().filter(|row| row.role == "user");
        let mut there: Vec<String> = users.map(|row| row.body.clone().unwrap()).collect();
        there.extend(stored.pending(session));
        there.extend(stored.queued(session));
        for sent in &self.sent {
            let times = there.iter().filter(|text| **text == sent.text).count();
            let allowed = match &sent.reply {
                Some(Reply::Accepted { .. }) if sent.is_removed => 0..=0,
                Some(Reply::Accepted { .. }) if sent.may_be_removed => 0..=1,
                Some(Reply::Accepted { .. }) => 1..=1,
                Some(Reply::Refused(_)) => 0..=0,
                None => 0..=1,
            };
            assert!(allowed.contains(&times), "{times} times in {session}: {sent:?}");
        }
        let place = |text: &String| there.iter().position(|known| known == text);
        let waited: Vec<_> = self
            .sent
            .iter()
            .filter(|sent| sent.is_waiting())
            .filter_map(|sent| place(&sent.text))
            .collect();
        assert!(waited.is_sorted(), "{session} mixed up what waited: {waited:?} of {there:?}");
    }
}

impl Sent {
    /// The action that sends it; the same each time, as an idempotency key wants it.
    pub(crate) fn action(&self, session: &str) -> Value {
        let Self { key, text, when_busy, .. } = self;
        json!({
            "session_id": session, "text": text, "idempotency_key": key, "when_busy": when_busy,
        })
    }

    fn is_waiting(&self) -> bool {
        matches!(self.reply, Some(Reply::Accepted { run: None, .. }))
    }
}

impl Totals {
    /// Adds a session that has come to its end.
    pub(crate) fn add(&mut self, account: &Account, stored: &Stored) {
        for sent in &account.sent {
            match &sent.reply {
                Some(Reply::Accepted { .. }) => self.accepted += 1,
                _ => self.refused += 1,
            }
            self.queued += usize::from(sent.is_waiting());
            self.removed += usize::from(sent.is_removed);
        }
        self.stops += account.stops;
        self.answers += account.answers;
        self.steers += account.steers.len();
        for (_, outcome) in stored.settlements(&account.session) {
            *self.outcomes.entry(outcome).or_default() += 1;
        }
    }

    /// The load was one: what happens often happened, and in a long test everything did.
    pub(crate) fn check(&self, is_long: bool) {
        assert!(self.accepted > 0 && self.queued > 0 && self.stops > 0, "{self}");
        assert!(self.outcomes.contains_key("interrupted"), "{self}");
        let is_all = self.removed > 0 && self.answers > 0 && self.steers > 0;
        assert!(is_all || !is_long, "{self}");
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { accepted, queued, refused, removed, stops, answers, steers, outcomes } = self;
        write!(
            f,
            "{accepted} messages accepted, {queued} of them behind others, {refused} refused, \
             {removed} removed, {stops} Stops accepted, {answers} questions answered, \
             {steers} steers accepted, runs {outcomes:?}"
        )
    }
}
