use runwarden_protocol::ids::AgentId;
use runwarden_protocol::run::guards::{Gate, Guards, Owner, Rules};
use runwarden_protocol::run::worker::CallResult;

/// The start trusts an earlier look at the token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct BeginUnchecked;

impl Guards for BeginUnchecked {
    fn may_begin(_gate: Gate) -> bool {
        true
    }
}

/// A token that is missing in a shared map counts as unset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RegistrationUnchecked;

impl Guards for RegistrationUnchecked {
    fn may_register(_gate: Gate) -> bool {
        true
    }
}

/// The cache entry is written apart from the check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct PublishedWhenRefused;

impl Guards for PublishedWhenRefused {
    fn publishes_refused() -> bool {
        true
    }
}

/// Nothing is tested before the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct InvocationUnchecked;

impl Guards for InvocationUnchecked {
    fn may_invoke(_gate: Gate, registered: AgentId, asked: AgentId) -> bool {
        registered == asked
    }
}

/// A lost agent is replaced whatever it has said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RebuiltAfterOutput;

impl Guards for RebuiltAfterOutput {
    fn may_rebuild(gate: Gate, result: CallResult, _has_output: bool, rebuilds: u8) -> bool {
        Rules::may_rebuild(gate, result, false, rebuilds)
    }
}

/// A refused worker cleans up whatever agent it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct BorrowedAgentCleanedUp;

impl Guards for BorrowedAgentCleanedUp {
    fn cleans_up(_borrowed: bool) -> bool {
        true
    }
}

/// The entry to retire is found by its agent, whoever owns the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RetiredByAgentObject;

impl Guards for RetiredByAgentObject {
    fn may_retire(gate: Gate) -> bool {
        gate.owner != Owner::Absent
    }
}

/// A session without owner counts as free to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct AbsentOwnerPermits;

impl Guards for AbsentOwnerPermits {
    fn may_retire(gate: Gate) -> bool {
        gate.owner != Owner::OtherRun
    }
}

/// A Stop presses the registered agent, called or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct UninvokedInterrupted;

impl Guards for UninvokedInterrupted {
    fn presses_registered() -> bool {
        true
    }
}

/// The evictor takes the oldest agent, used or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct EvictedWhileUsed;

impl Guards for EvictedWhileUsed {
    fn refuses_eviction(_has_row: bool) -> bool {
        false
    }
}
