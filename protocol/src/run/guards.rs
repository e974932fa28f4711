//! Every decision of the run rules that a faulty implementation gets wrong, one method each.
//!
//! The default body of a method is the rule. Machines are generic over this trait; production uses
//! [`Rules`], and a faulty variant of the simulation overrides one method.

use std::fmt::Debug;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use super::Phase;
use super::limits::SELF_HEAL_MAX;
use super::wakeups::WAKEUP_FAILURES_MAX;
use super::worker::CallResult;
use crate::ids::{AgentId, Revision, SessionId};
use crate::instant::{Duration, Instant};
use crate::journal::row::Outcome;
use crate::wire::codes::Code;

/// What a worker's step is checked against: facts of its run at that very step (REG-07: only what is
/// present and equal permits anything).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Gate {
    /// The retained cancel token is not set.
    pub token_unset: bool,
    /// The run has an open channel in STREAMS.
    pub live: bool,
    /// Who owns the session's writeback.
    pub owner: Owner,
}

/// The owner record as one run sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// This run.
    ThisRun,
    /// Another run.
    OtherRun,
    /// Nobody: no permission either.
    Absent,
}

/// The rules as guards. All methods are pure functions of their arguments.
pub trait Guards: Copy + Clone + Eq + Hash + Debug + Default + Send + Sync + 'static {
    /// May the worker begin? (REG-01)
    fn may_begin(gate: Gate) -> bool {
        gate.token_unset && gate.live
    }

    /// May an agent be registered for the run? (REG-03)
    fn may_register(gate: Gate) -> bool {
        gate.token_unset && gate.live && gate.owner == Owner::ThisRun
    }

    /// May the agent be invoked? (REG-05)
    fn may_invoke(gate: Gate, registered: AgentId, asked: AgentId) -> bool {
        gate.token_unset && gate.live && registered == asked
    }

    /// May a refused worker retire handle and cache entry? (REG-06)
    fn may_retire(gate: Gate) -> bool {
        gate.owner == Owner::ThisRun
    }

    /// Is another agent built for the run after a failed call? Only where the agent is lost, nothing
    /// would be said twice, and the run may still act (table 5.2, REG-14).
    fn may_rebuild(gate: Gate, result: CallResult, has_output: bool, rebuilds: u8) -> bool {
        result == CallResult::Lost
            && !has_output
            && rebuilds < SELF_HEAL_MAX
            && gate.token_unset
            && gate.live
            && gate.owner == Owner::ThisRun
    }

    /// Is an eviction refused? While the session has a row in any phase (REG-13).
    fn refuses_eviction(has_row: bool) -> bool {
        has_row
    }

    /// May agent or model of the session be changed? (LIFE-03)
    fn may_change_agent(may_start: bool) -> bool {
        may_start
    }

    /// Is a rewrite made at the revision that its client saw, and at no other? (LIFE-04)
    fn rewrites_at(expected: Revision, current: Revision) -> bool {
        expected == current
    }

    /// May a write of this run change session, journal, cache or handle? (OWN-02, REC-05)
    fn may_write(owner: Owner) -> bool {
        owner == Owner::ThisRun
    }

    /// Is an interrupt sent for a Stop? Only while an invocation is admitted and unreturned
    /// (REG-08, REG-11).
    fn interrupts(invoked: bool) -> bool {
        invoked
    }

    /// Is a Stop held because a settlement save is in flight? (STOP-07)
    fn holds_stop(saving: bool) -> bool {
        saving
    }

    /// May the canceller's settlement be issued, or must the batch in flight be answered first? (STOP-22)
    fn may_settle(batch_in_flight: bool) -> bool {
        !batch_in_flight
    }

    /// Is output of the agent issued? Never after Stop was accepted (STOP-05).
    fn may_issue(gate: Gate) -> bool {
        gate.token_unset && gate.live && gate.owner == Owner::ThisRun
    }

    /// Does a row in this phase block a start? (ADM-02, ADM-03, ADM-04)
    fn blocks_start(phase: Phase, reclaimable: bool) -> bool {
        match phase {
            Phase::Starting | Phase::Running | Phase::Finalizing => true,
            Phase::Cancelling => !reclaimable,
        }
    }

    /// May a renderer attach to a run in this phase? (ADM-07)
    fn may_attach(phase: Phase) -> bool {
        match phase {
            Phase::Starting | Phase::Running | Phase::Finalizing => true,
            Phase::Cancelling => false,
        }
    }

    /// May the row be reclaimed? (REC-01)
    fn is_reclaimable(
        phase: Phase,
        since: Instant,
        now: Instant,
        live: bool,
        unwind: Duration,
    ) -> bool {
        phase == Phase::Cancelling && now.age_of(since) >= unwind && !live
    }

    /// Does a refused registration publish its agent all the same? Never: all three or none (REG-04).
    fn publishes_refused() -> bool {
        false
    }

    /// Does a refused worker clean its agent up? Only one it made itself and never published (REG-09).
    fn cleans_up(borrowed: bool) -> bool {
        !borrowed
    }

    /// Is a Stop of a settled run answered by its outcome? (STOP-06)
    fn honours_settlement() -> bool {
        true
    }

    /// Does a repeated Stop interrupt again? (STOP-08)
    fn interrupts_again() -> bool {
        false
    }

    /// Is a Stop answered before its settlement is stable? (STOP-04)
    fn answers_at_acceptance() -> bool {
        false
    }

    /// Are rows that wait at acceptance dropped? (STOP-05)
    fn seals() -> bool {
        true
    }

    /// Does a reservation take a session that another run owns? (ADM-09, OWN-01)
    fn replaces_owner() -> bool {
        false
    }

    /// Does a message go behind the entries that wait, also when a turn could start? (ADM-17)
    fn goes_behind(has_entries: bool) -> bool {
        has_entries
    }

    /// Does a Stop by a user hold the queue? (STR-18)
    fn holds_queue() -> bool {
        true
    }

    /// Is a failed launch compensated? (REC-08)
    fn compensates() -> bool {
        true
    }

    /// Does a deletion end the run that it meets, in its own commit? (LIFE-01)
    fn ends_run_with_deletion() -> bool {
        true
    }

    /// Is a deleted session unknown to whoever names it? (LIFE-02)
    fn forgets_deleted() -> bool {
        true
    }

    /// Is an agent that ignores its interrupt ended by force? (REG-15)
    fn escalates() -> bool {
        true
    }

    /// Does a worker that has returned exit when a Stop takes its settlement? (STOP-20)
    fn exits_when_overtaken() -> bool {
        true
    }

    /// Is a Stop of a lost run told its end only when recovery's settlement is stable? (STOP-06, DI-5)
    fn awaits_recovery() -> bool {
        true
    }

    /// Does a Stop press an agent whose call was not admitted? Never (REG-08).
    fn presses_registered() -> bool {
        false
    }

    /// Does a Stop find a run whose channel is missing? Its row counts alone (STOP-03).
    fn finds_run(_live: bool) -> bool {
        true
    }

    /// Does a Stop touch only the run it names? (STOP-13)
    fn stops_named_only() -> bool {
        true
    }

    /// Does the canceller find the session of a run whose worker is gone? It copied the id (STOP-02).
    fn finds_session(_worker_gone: bool) -> bool {
        true
    }

    /// Does an accepted Stop keep its claim when a save failed? (OWN-11)
    fn keeps_claim() -> bool {
        true
    }

    /// Does a Stop give up ownership? (OWN-05)
    fn stop_releases_owner() -> bool {
        false
    }

    /// Does an ending by the server keep the outcome its rule names? (STOP-21)
    fn names_ending() -> bool {
        true
    }

    /// Is the end of a stopped run sent to every subscriber? (STOP-15)
    fn shows_cancelled() -> bool {
        true
    }

    /// Does a reservation take ownership with the row? All or nothing (ADM-08).
    fn reserves_owner() -> bool {
        true
    }

    /// Does reclamation free the ownership of its run? (REC-04)
    fn reclaim_frees_owner() -> bool {
        true
    }

    /// From when on does the window of a stopped row count? From its cancel time (REC-01).
    fn reclaim_anchor(stopped_at: Instant, _started_at: Instant) -> Instant {
        stopped_at
    }

    /// The window by which a session is shown as free: that of admission (REC-03).
    fn shown_window(unwind: Duration) -> Duration {
        unwind
    }

    /// Does the teardown of a settled run close what a successor may use? (OWN-13)
    fn closes_shared() -> bool {
        false
    }

    /// Does an accepted Stop resolve the open questions of its run? (ASK-04)
    fn resolves_at_stop() -> bool {
        true
    }

    /// Does the end of a run resolve its open questions? (ASK-05)
    fn resolves_at_end() -> bool {
        true
    }

    /// Is an answered question closed? (ASK-03)
    fn closes_answered() -> bool {
        true
    }

    /// Is a start answered while a settlement is being saved? No decision waits for a write (REG-12).
    fn decides_at_once() -> bool {
        true
    }

    /// Does a refused start of the head hold the queue? Not where the session or the server was busy (STR-13).
    fn holds_refused_head(code: Code) -> bool {
        !matches!(code, Code::SessionBusy | Code::ServerBusy)
    }

    /// Does a head whose launch failed come back held? (REC-08, STR-13)
    fn holds_returned_head() -> bool {
        true
    }

    /// Is a head whose launch failed put back? (REC-08)
    fn returns_head() -> bool {
        true
    }

    /// May a trigger start the head? Never of a queue that is held (STR-20).
    fn may_start_head(held: bool) -> bool {
        !held
    }

    /// Is the box of a run open from the registration of its agent on? Only from its call on (STR-01).
    fn opens_box_at_registration() -> bool {
        false
    }

    /// Does the box of a run close before the last drain of its worker? (STR-03)
    fn closes_box_at_return() -> bool {
        true
    }

    /// Does a settlement with this outcome settle the steers that nobody read? Each does (STR-04).
    fn settles_steers(_outcome: Outcome) -> bool {
        true
    }

    /// Does the terminal list what it gives back? (STR-07)
    fn lists_returned() -> bool {
        true
    }

    /// Is a registration decided while an append is unanswered? No step waits for another party (REG-12).
    fn registers_beside_appends() -> bool {
        true
    }

    /// Is a queued message confirmed when it is stable? (STR-09)
    fn confirms_stored() -> bool {
        true
    }

    /// Is an entry that is not in the queue any more refused to whoever removes it? (LIFE-06)
    fn removes_waiting_only() -> bool {
        true
    }

    /// Is the end of a hold a trigger? (LIFE-07)
    fn resume_triggers() -> bool {
        true
    }

    /// Does an idle transition start the head? (STR-12)
    fn idle_triggers() -> bool {
        true
    }

    /// May a hold be ended? Not while no turn may start (LIFE-03).
    fn may_resume(may_start: bool) -> bool {
        may_start
    }

    /// Does the semantic terminal of a journal say how a run ended whose settlement is missing? (RST-02)
    fn believes_journal() -> bool {
        true
    }

    /// Is a pending turn that may still be another process's left to it? (ADM-05, RST-03, REC-06)
    fn spares_fresh(is_fresh: bool) -> bool {
        is_fresh
    }

    /// Does a Stop of a call on a remote backend wait for that backend? (STOP-17)
    fn awaits_remote() -> bool {
        true
    }

    /// Does a run go on whose remote backend refused to stop? (STOP-18)
    fn heeds_remote_refusal() -> bool {
        true
    }

    /// Is a stopped run remembered until its remote backend was asked to stop? (STOP-17)
    fn remembers_owed_stop() -> bool {
        true
    }

    /// Does a session take a wakeup that was made for `of`? Only its own (STR-15).
    fn takes_wakeup(of: SessionId, here: SessionId) -> bool {
        of == here
    }

    /// Is a trigger over with its one attempt to start a wakeup? (STR-12)
    fn attempts_once() -> bool {
        true
    }

    /// Does a refused start of a wakeup count as a failed turn? Not where session or server was busy (STR-13).
    fn counts_refused_wakeup(code: Code) -> bool {
        !matches!(code, Code::SessionBusy | Code::ServerBusy)
    }

    /// May a wakeup start after so many failed turns in a row? (STR-16)
    fn may_start_wakeup(failures: u8) -> bool {
        failures < WAKEUP_FAILURES_MAX
    }

    /// Is what a wakeup turn with this outcome asked for kept? (STR-16)
    fn keeps_wakeups_of(outcome: Outcome) -> bool {
        outcome == Outcome::Completed
    }

    /// Does a rotation move the ownership of its run to the continuation? (OWN-06)
    fn moves_owner() -> bool {
        true
    }

    /// Does a rotation move the entries that wait to the continuation? (STR-19)
    fn moves_queue() -> bool {
        true
    }

    /// Is a row reclaimed, or a channel swept, while it cannot be read whether its run lives? (REC-07)
    fn acts_unread() -> bool {
        false
    }

    /// Does the row go in the step that learns of the worker's settlement? (OWN-14)
    fn frees_at_settlement() -> bool {
        true
    }
}

/// The rules as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rules;

impl Guards for Rules {}
