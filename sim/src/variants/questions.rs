use runwarden_protocol::run::guards::Guards;

/// An answered question stays open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct AnsweredStaysOpen;

impl Guards for AnsweredStaysOpen {
    fn closes_answered() -> bool {
        false
    }
}

/// A Stop leaves its questions to whoever comes later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct OpenBehindStop;

impl Guards for OpenBehindStop {
    fn resolves_at_stop() -> bool {
        false
    }
}

/// A question outlives the call that asked it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct OpenBehindEnd;

impl Guards for OpenBehindEnd {
    fn resolves_at_end() -> bool {
        false
    }
}
