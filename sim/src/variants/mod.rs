//! Faulty variants: each gets one decision of the rules wrong, as the catalogue of races says servers do.

mod admission;
mod endings;
mod questions;
mod registration;
mod stops;

pub(crate) use admission::{
    AgeFromStart, CancellingRowAttachable, CancellingRowIgnored, LaunchFailureLeftBehind,
    ReclaimKeepsOwner, ReservedWithoutOwner, RowNeverReclaimed, RunningRowIgnored,
    SecondStartReplacesFirst, ShorterWindowShown,
};
pub(crate) use endings::{
    EndNeverShown, EndingCalledCancelled, RowWaitsForTeardown, SettledBeforeAppendAnswered,
    TeardownClosesShared, WaitingRowsSurviveStop,
};
pub(crate) use questions::{AnsweredStaysOpen, OpenBehindEnd, OpenBehindStop};
pub(crate) use registration::{
    AbsentOwnerPermits, BeginUnchecked, BorrowedAgentCleanedUp, EvictedWhileUsed,
    InvocationUnchecked, PublishedWhenRefused, RebuiltAfterOutput, RegistrationUnchecked,
    RetiredByAgentObject, UninvokedInterrupted,
};
pub(crate) use stops::{
    AnsweredBeforeSettled, ChannelSearchedOnly, FailedSaveDropsClaim, InterruptedOnce,
    NeverInterrupted, RecoveryToldEarly, RepeatInterrupts, ReturnedWorkerForgotten,
    SessionLookedUpLate, SettledStopAccepted, StopDuringSaveAccepted, StopHitsWhateverRuns,
    StopReleasesOwner,
};
