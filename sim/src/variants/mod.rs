//! Faulty variants: each gets one decision of the rules wrong, as the catalogue of races says servers do.

mod admission;
mod deletion;
mod endings;
mod questions;
mod queue;
mod registration;
mod rotation;
mod screen;
mod steers;
mod stops;
mod wakeups;

pub(crate) use admission::{
    AgeFromStart, AgentChangedWhileBusy, CancellingRowAttachable, CancellingRowIgnored,
    LaunchFailureLeftBehind, ReclaimKeepsOwner, ReservedWithoutOwner, RowNeverReclaimed,
    RunningRowIgnored, SecondStartReplacesFirst, ShorterWindowShown,
};
pub(crate) use deletion::{DeletedBesideItsRun, DeletedStillKnown};
pub(crate) use endings::{
    EndNeverShown, EndingCalledCancelled, RowWaitsForTeardown, SettledBeforeAppendAnswered,
    TeardownClosesShared, WaitingRowsSurviveStop,
};
pub(crate) use questions::{AnsweredStaysOpen, OpenBehindEnd, OpenBehindStop};
pub(crate) use queue::{
    BusyHeadHolds, ConfirmedUnstored, FailedHeadDropped, FailedHeadStartsAgain, HeldQueueStarts,
    IdleStartsNothing, OvertakesQueue, RemovedBehindItsStart, ResumeStartsNothing,
    ResumedWhileBusy, StaleHeadWaits, StopLeavesQueue,
};
pub(crate) use registration::{
    AbsentOwnerPermits, BeginUnchecked, BorrowedAgentCleanedUp, EvictedWhileUsed,
    InvocationUnchecked, PublishedWhenRefused, RebuiltAfterOutput, RegistrationUnchecked,
    RetiredByAgentObject, UninvokedInterrupted,
};
pub(crate) use rotation::{OwnerLeftBehind, QueueForgotten};
pub(crate) use screen::{
    ListClearsTurn, OwnFlagHolds, RepeatedUnderNewKey, StoppedShownIdle, StopsSessionOnScreen,
};
pub(crate) use steers::{
    BoxOpenBeforeCall, BoxOpenBehindDrain, OnlySuccessSettles, RegistrationWaitsForAppend,
    ReturnedUnlisted,
};
pub(crate) use stops::{
    AnsweredBeforeSettled, ChannelSearchedOnly, DecisionWaitsForSave, FailedSaveDropsClaim,
    InterruptedOnce, NeverInterrupted, RecoveryToldEarly, RepeatInterrupts,
    ReturnedWorkerForgotten, SessionLookedUpLate, SettledStopAccepted, StopDuringSaveAccepted,
    StopHitsWhateverRuns, StopReleasesOwner,
};
pub(crate) use wakeups::{
    AllStartAtOnce, FailedTurnWakes, NeverPaused, RefusalSpendsAttempt, RunsInAnotherSession,
    StaleWakeupUncounted,
};
