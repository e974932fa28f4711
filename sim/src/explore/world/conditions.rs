//! What a world is like, apart from its machines.

use runwarden_protocol::journal::row::Reason;

/// What never changes in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// Workers may stay behind for any time. Without it only a call of an agent takes time.
    pub workers_stall: bool,
    /// An agent may ignore even the kill. Without it a killed call returns at once.
    pub agents_wedge: bool,
    /// An agent may be lost in the middle of a call, which a new one may cure.
    pub agents_die: bool,
    /// Agents may ask; a question counts as one of their rows.
    pub agents_ask: bool,
    /// What agents produce is thought, not text.
    pub agents_think: bool,
    /// The server may end a run for this reason, as if it were one of the Stops.
    pub server_ends: Option<Reason>,
    /// The worker of a stopped and settled run may try to save a result of its own, once.
    pub workers_save: bool,
    /// A fault may ask the session to give up its kept agent.
    pub evicts: bool,
    /// All starts carry one idempotency key.
    pub keyed: bool,
    /// A fault of the store may write an append and lose its answer.
    pub appends_unknown: bool,
    /// Clients may queue messages, take them out and end a hold; the drain starts what waits.
    pub queues: bool,
    /// Clients may steer, and agents wait for steers.
    pub steers: bool,
    /// A client may delete the session.
    pub deletes: bool,
    /// An agent may compress its context, so that its run goes on in a continuation, once.
    pub rotates: bool,
    /// The server has one slot for runs, and two other sessions want it too.
    pub slots: bool,
    /// Somebody reads the journal of run 1 page by page.
    pub reads: bool,
    /// A client watches the session in its list: it may list, send, stop, and lose its connection.
    pub screens: bool,
    /// Producers may ask for turns, each as one row of an agent; the drain starts what waits.
    pub wakeups: bool,
    /// A client may change title or agent, once.
    pub changes: bool,
    /// Recovery judges a lost run in one step and settles it in another.
    pub recovers_late: bool,
    /// The store is shared: another process may settle a run whose process lost its lease.
    pub shared: bool,
    /// What is odd when the scenario begins.
    pub oddity: Option<Oddity>,
    /// What is wrong around the machines: the faulty variants that are none of their guards.
    pub fault: Option<Fault>,
}

/// An odd state that no step of a sound session leads to, or only very many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// The channel of run 1 is missing.
    NoChannel,
    /// The journal of run 1 lacks 1 KiB to its bound; each row has 2 KiB.
    NearlyFullJournal,
    /// Two turns of wakeups in a row have failed.
    TwoTurnsFailed,
}

/// A wrong behaviour of clients, store or recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The loss of a connection answers the open questions of its user.
    LossAnswers,
    /// The partial row is copied from the worker's buffers, which are gone once it has returned.
    PartialCopiedLate,
    /// A partial row is kept only if it has text.
    PartialNeedsText,
    /// A settlement closes a turn only if its worker started.
    UnstartedTurnLeftOpen,
    /// The store compares neither owner nor revision.
    SavedUncompared,
    /// A number is given before the store has answered, and stays taken when the append fails.
    NumberTakenEarly,
    /// An append whose answer was lost counts as failed, though it was written.
    UnknownCountsAsFailed,
    /// Recovery at process start leaves a young turn alone.
    YoungTurnLeftAlone,
    /// A refusal is remembered under its key.
    RefusalRemembered,
    /// A key is free again when its answer was lost.
    KeyFreedByLoss,
    /// The drain takes the head out of the store before its turn is accepted.
    HeadRemovedFirst,
    /// The commit that accepts the turn of the head leaves the entry where it is.
    HeadKept,
    /// A worker drains the steers of whichever run uses its agent.
    DrainsByAgent,
    /// A client whose steer is refused stops the run.
    FallsBackToStop,
    /// A start of the process forgets why a queue is held.
    HoldForgotten,
    /// A start of the process forgets the wakeups that wait.
    WakeupsForgotten,
    /// A start of the process forgets which wakeups were taken.
    IdentitiesForgotten,
    /// A start of the process forgets how many turns failed.
    PauseForgotten,
    /// The commit that accepts the turn of a wakeup leaves it where it is.
    ClaimedWakeupKept,
    /// A change of the record is worked out from the copy that its request loaded.
    OldCopySaved,
    /// Recovery clears a turn without comparing whose it is.
    ClearedUncompared,
    /// The journal of a deleted session is made anew for whoever appends to it.
    JournalMadeAnew,
    /// A start is taken whether a slot is free or not.
    SlotsUncounted,
    /// A slot that is freed is told to nobody.
    FreedSlotWakesNobody,
    /// A page of the journal has the end of the journal as cursor.
    CursorAtEnd,
    /// A page of the journal never says that rows remain.
    MoreUnsaid,
    /// The journal takes a second semantic terminal.
    SecondTerminalTaken,
    /// A client stops the run of the session on screen, whichever it chose.
    StopsSessionOnScreen,
    /// A client shows a session as idle when its Stop is asked for.
    StoppedShownIdle,
    /// A list that says idle clears the turn that is in flight.
    ListClearsTurn,
    /// The own flag of a client holds its send.
    OwnFlagHolds,
    /// A client asks again under a new key.
    RepeatedUnderNewKey,
    /// Another process settles a turn however young it is.
    GraceIgnored,
    /// Another process settles a turn though a live process holds its lease.
    LeaseIgnored,
    /// The journal takes rows of a writer whose lease another one has.
    OldEpochAccepted,
}

impl Conditions {
    /// Whether anybody acts behind the machine.
    pub(super) const fn is_outside_busy(&self) -> bool {
        self.changes || self.recovers_late || self.shared
    }

    /// Workers and agents that do what they are asked at once, and nothing else.
    pub const PLAIN: Self = Self {
        workers_stall: false,
        agents_wedge: false,
        agents_die: false,
        agents_ask: false,
        agents_think: false,
        server_ends: None,
        workers_save: false,
        evicts: false,
        keyed: false,
        appends_unknown: false,
        queues: false,
        steers: false,
        deletes: false,
        rotates: false,
        slots: false,
        reads: false,
        screens: false,
        wakeups: false,
        changes: false,
        recovers_late: false,
        shared: false,
        oddity: None,
        fault: None,
    };
}
