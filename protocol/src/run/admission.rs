//! Table A: the answer to a start, first matching line wins (ADM-10).

use serde::{Deserialize, Serialize};

use super::Phase;
use super::guards::Guards;
use super::predicates::{Blocked, may_attach};
use super::storage::STORAGE_RETRY_MS;
use crate::ids::{Revision, RunId};
use crate::wire::actions::WhenBusy;
use crate::wire::codes::Code;

/// What is known about a start beside the session machine's own state. Lines 1 to 3 of table A (a
/// malformed body, an unknown or unwritable session) are answered before a start exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StartFacts {
    /// What the idempotency key did before.
    pub key: KeyFact,
    /// Whether the session's agent is configured.
    pub agent_available: bool,
    /// Whether an attachment is named that does not exist.
    pub attachment_unknown: bool,
    /// Whether the store refuses new runs (LIM-05).
    pub storage_low: bool,
    /// Whether the start carries a granted slot (LIM-03).
    pub slot: SlotFact,
    /// What a message that cannot start now wants (ADM-17).
    #[serde(default, skip_serializing_if = "is_default")]
    pub when_busy: WhenBusy,
    /// Whether it is the head of the session's queue that starts (ADM-14).
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_head: bool,
    /// Whether it is the oldest wakeup that starts (ADM-14).
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_wakeup: bool,
    /// Of a rewrite that starts a turn: the revision its client saw (LIFE-04).
    #[serde(default, skip_serializing_if = "is_default")]
    pub rewrites: Option<Revision>,
    /// Whether it could not be read if a run of the session lives: nothing is reclaimed or swept then (REC-07).
    #[serde(default, skip_serializing_if = "is_default")]
    pub liveness_unreadable: bool,
}

/// What waits in the session, as far as table A asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueFact {
    /// Whether entries wait, so that a message goes behind them (ADM-17).
    pub has_entries: bool,
    /// Whether one more would be too many (STR-08).
    pub is_full: bool,
    /// Whether wakeups pause (STR-16).
    pub are_wakeups_paused: bool,
}

/// What an idempotency key did before (ADM-13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyFact {
    /// There is no key, or it had no effect yet.
    Unused,
    /// It had an effect with the same content.
    SameContent,
    /// It had an effect with other content.
    OtherContent,
}

/// Whether a start carries a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotFact {
    /// Granted.
    Granted,
    /// Refused: a limit is reached.
    Refused {
        /// When to try again.
        retry_after_ms: u32,
    },
}

/// A refused start. It changed nothing (ADM-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartRefusal {
    /// Why.
    pub code: Code,
    /// The run in the way, where one is known (ACT-23).
    pub run_id: Option<RunId>,
    /// Its phase.
    pub phase: Option<Phase>,
    /// Whether a renderer may attach to it.
    pub attachable: Option<bool>,
    /// When to try again.
    pub retry_after_ms: Option<u32>,
}

/// What table A says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Line 4, same content: the first outcome is the answer.
    Repeated,
    /// A refusal.
    Refused(StartRefusal),
    /// Line 16: put it into the queue.
    Queued,
    /// Line 19: reserve, after reclaiming this run's row, if one is named.
    Admitted(Option<RunId>),
}

/// Answers a start by table A, for a session at this revision.
pub fn table_a<G: Guards>(
    facts: &StartFacts,
    may_start: Result<Option<RunId>, Blocked>,
    queue: QueueFact,
    revision: Revision,
) -> Admission {
    match facts.key {
        KeyFact::SameContent => return Admission::Repeated,
        KeyFact::OtherContent => return refused(Code::IdempotencyConflict),
        KeyFact::Unused => {}
    }
    if !facts.agent_available {
        return refused(Code::BackendUnavailable);
    }
    if facts.attachment_unknown {
        return refused(Code::AttachmentUnknown);
    }
    if facts.rewrites.is_some_and(|expected| !G::rewrites_at(expected, revision)) {
        return refused(Code::RegenerationStale);
    }
    if facts.is_wakeup && queue.are_wakeups_paused {
        return refused(Code::WakeupsPaused);
    }
    let is_drained = facts.is_head || facts.is_wakeup;
    let may_wait = !is_drained && facts.when_busy == WhenBusy::Queue;
    if facts.liveness_unreadable && !G::acts_unread() {
        return refused(Code::LivenessUnreadable);
    }
    let reclaim = match may_start {
        Err(Blocked::Unsettled) => return refused(Code::LivenessUnreadable),
        Err(Blocked::Busy(_) | Blocked::Pending(_)) if facts.storage_low => return storage_low(),
        Err(Blocked::Busy(_) | Blocked::Pending(_)) if may_wait => return queued(queue),
        Err(Blocked::Pending(run_id)) => {
            return Admission::Refused(StartRefusal {
                run_id: Some(run_id),
                attachable: Some(false),
                ..StartRefusal::of(Code::SessionBusy)
            });
        }
        Err(Blocked::Busy(row)) => {
            return Admission::Refused(StartRefusal {
                code: Code::SessionBusy,
                run_id: Some(row.run_id),
                phase: Some(row.phase),
                attachable: Some(may_attach::<G>(Some(row))),
                retry_after_ms: None,
            });
        }
        Ok(reclaim) => reclaim,
    };
    if facts.storage_low {
        return storage_low();
    }
    // A rewrite is about its place in the transcript: it never waits behind messages.
    let may_be_behind = !is_drained && facts.rewrites.is_none();
    if may_be_behind && G::goes_behind(queue.has_entries) {
        return queued(queue);
    }
    match facts.slot {
        SlotFact::Granted => Admission::Admitted(reclaim),
        SlotFact::Refused { .. } if may_wait => queued(queue),
        SlotFact::Refused { retry_after_ms } => Admission::Refused(StartRefusal {
            retry_after_ms: Some(retry_after_ms),
            ..StartRefusal::of(Code::ServerBusy)
        }),
    }
}

impl StartRefusal {
    /// A refusal that says no more than its code.
    pub const fn of(code: Code) -> Self {
        Self { code, run_id: None, phase: None, attachable: None, retry_after_ms: None }
    }
}

/// What most starts are is left out of Records.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn refused(code: Code) -> Admission {
    Admission::Refused(StartRefusal::of(code))
}

fn queued(queue: QueueFact) -> Admission {
    if queue.is_full { refused(Code::QueueFull) } else { Admission::Queued }
}

fn storage_low() -> Admission {
    Admission::Refused(StartRefusal {
        retry_after_ms: Some(STORAGE_RETRY_MS),
        ..StartRefusal::of(Code::StorageLow)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instant::Instant;
    use crate::run::guards::Rules;
    use crate::run::predicates::RowView;

    const FINE: StartFacts = StartFacts {
        key: KeyFact::Unused,
        agent_available: true,
        attachment_unknown: false,
        storage_low: false,
        slot: SlotFact::Granted,
        when_busy: WhenBusy::Reject,
        is_head: false,
        is_wakeup: false,
        rewrites: None,
        liveness_unreadable: false,
    };
    const AT: Revision = Revision::new(7);
    const EMPTY: QueueFact =
        QueueFact { has_entries: false, is_full: false, are_wakeups_paused: false };
    const SOME: QueueFact = QueueFact { has_entries: true, ..EMPTY };
    const FULL: QueueFact = QueueFact { has_entries: true, is_full: true, ..EMPTY };

    fn code(facts: StartFacts, may_start: Result<Option<RunId>, Blocked>) -> Option<Code> {
        match table_a::<Rules>(&facts, may_start, EMPTY, AT) {
            Admission::Refused(refusal) => Some(refusal.code),
            Admission::Repeated | Admission::Queued | Admission::Admitted(_) => None,
        }
    }

    fn busy() -> Result<Option<RunId>, Blocked> {
        Err(Blocked::Busy(RowView {
            run_id: RunId::new(9),
            phase: Phase::Cancelling,
            anchor: Instant::ZERO,
            live: true,
            settled: false,
        }))
    }

    /// ADM-10 [unit]: every line of table A this server can reach, each shadowing the lines below it.
    #[test]
    fn the_first_matching_line_answers() {
        let low = StartFacts { storage_low: true, ..FINE };
        let full = StartFacts { slot: SlotFact::Refused { retry_after_ms: 7 }, ..low };
        assert_eq!(code(full, Ok(None)), Some(Code::StorageLow));
        assert_eq!(code(full, busy()), Some(Code::StorageLow));
        assert_eq!(code(full, Err(Blocked::Unsettled)), Some(Code::LivenessUnreadable));
        let foreign = StartFacts { attachment_unknown: true, ..full };
        assert_eq!(code(foreign, Err(Blocked::Unsettled)), Some(Code::AttachmentUnknown));
        let stale =
            StartFacts { rewrites: Some(Revision::new(6)), attachment_unknown: false, ..full };
        assert_eq!(code(stale, Err(Blocked::Unsettled)), Some(Code::RegenerationStale));
        let current = StartFacts { rewrites: Some(AT), ..stale };
        assert_eq!(code(current, Err(Blocked::Unsettled)), Some(Code::LivenessUnreadable));
        let absent = StartFacts { agent_available: false, rewrites: stale.rewrites, ..foreign };
        assert_eq!(code(absent, busy()), Some(Code::BackendUnavailable));
        let conflict = StartFacts { key: KeyFact::OtherContent, ..absent };
        assert_eq!(code(conflict, busy()), Some(Code::IdempotencyConflict));
        let again = StartFacts { key: KeyFact::SameContent, ..absent };
        assert_eq!(table_a::<Rules>(&again, busy(), FULL, AT), Admission::Repeated);
        let refused = StartFacts { storage_low: false, ..full };
        assert_eq!(code(refused, busy()), Some(Code::SessionBusy));
        assert_eq!(code(refused, Ok(None)), Some(Code::ServerBusy));
        assert_eq!(table_a::<Rules>(&FINE, Ok(None), EMPTY, AT), Admission::Admitted(None));
    }

    /// ADM-14 [unit], STR-08 [unit]: a message waits exactly where the rules send it to the queue, a 65th
    /// one is refused, and the head of the queue, or a wakeup, starts by the same lines without waiting.
    #[test]
    fn messages_wait_where_the_rules_send_them_to_the_queue() {
        let patient = StartFacts { when_busy: WhenBusy::Queue, ..FINE };
        let head = StartFacts { is_head: true, ..FINE };
        let wakeup = StartFacts { is_wakeup: true, ..FINE };
        let paused = QueueFact { are_wakeups_paused: true, ..EMPTY };
        let no_slot = SlotFact::Refused { retry_after_ms: 7 };
        let answer = |facts: StartFacts, may_start, queue| match table_a::<Rules>(
            &facts, may_start, queue, AT,
        ) {
            Admission::Queued => "queued",
            Admission::Admitted(_) => "admitted",
            Admission::Refused(refusal) => refusal.code.as_str(),
            Admission::Repeated => "repeated",
        };
        for (facts, may_start, queue, expected) in [
            (FINE, busy(), SOME, "session_busy"),
            (FINE, Ok(None), EMPTY, "admitted"),
            (FINE, Ok(None), SOME, "queued"),
            (FINE, Ok(None), FULL, "queue_full"),
            (patient, busy(), EMPTY, "queued"),
            (patient, busy(), FULL, "queue_full"),
            (patient, Ok(None), EMPTY, "admitted"),
            (patient, Ok(None), SOME, "queued"),
            (patient, Err(Blocked::Unsettled), SOME, "liveness_unreadable"),
            (StartFacts { slot: no_slot, ..patient }, Ok(None), EMPTY, "queued"),
            (StartFacts { slot: no_slot, ..FINE }, Ok(None), EMPTY, "server_busy"),
            (StartFacts { storage_low: true, ..patient }, busy(), SOME, "storage_low"),
            (StartFacts { rewrites: Some(AT), ..FINE }, busy(), EMPTY, "session_busy"),
            (StartFacts { rewrites: Some(AT), ..FINE }, Ok(None), FULL, "admitted"),
            (head, Ok(None), FULL, "admitted"),
            (head, busy(), FULL, "session_busy"),
            (StartFacts { slot: no_slot, ..head }, Ok(None), SOME, "server_busy"),
            (StartFacts { agent_available: false, ..head }, Ok(None), SOME, "backend_unavailable"),
            (wakeup, Ok(None), EMPTY, "admitted"),
            (wakeup, busy(), EMPTY, "session_busy"),
            (wakeup, Err(Blocked::Unsettled), paused, "wakeups_paused"),
            (
                StartFacts { agent_available: false, ..wakeup },
                busy(),
                paused,
                "backend_unavailable",
            ),
            (FINE, Ok(None), paused, "admitted"),
        ] {
            assert_eq!(answer(facts, may_start, queue), expected, "{facts:?} {queue:?}");
        }
    }

    /// ACT-23 [unit]: a busy session names the run in the way, its phase, and whether to attach.
    #[test]
    fn a_busy_session_names_run_phase_and_attachable() {
        let Admission::Refused(refusal) = table_a::<Rules>(&FINE, busy(), SOME, AT) else {
            panic!()
        };
        assert_eq!(refusal.run_id, Some(RunId::new(9)));
        assert_eq!(refusal.phase, Some(Phase::Cancelling));
        assert_eq!(refusal.attachable, Some(false));
    }
}
