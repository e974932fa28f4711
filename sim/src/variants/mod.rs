//! Faulty variants: each gets one decision of the rules wrong, as the catalogue of races says servers do.

mod admission;
mod endings;
mod registration;
mod stops;

pub(crate) use admission::{
    CancellingRowIgnored, LaunchFailureLeftBehind, RowNeverReclaimed, SecondStartReplacesFirst,
};
pub(crate) use endings::{
    RowWaitsForTeardown, SettledBeforeAppendAnswered, WaitingRowsSurviveStop,
};
pub(crate) use registration::{
    AbsentOwnerPermits, BeginUnchecked, BorrowedAgentCleanedUp, InvocationUnchecked,
    PublishedWhenRefused, RebuiltAfterOutput, RegistrationUnchecked, RetiredByAgentObject,
};
pub(crate) use stops::{
    AnsweredBeforeSettled, InterruptedOnce, RecoveryToldEarly, RepeatInterrupts,
    ReturnedWorkerForgotten, SettledStopAccepted,
};
