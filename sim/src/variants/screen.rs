//! Faulty variants of what a client shows and asks for.

use runwarden_protocol::client::screen::{ScreenGuards, SubmitKey};
use runwarden_protocol::ids::RunId;

/// A Stop names the run of the session on screen, whichever session was chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct StopsSessionOnScreen;

impl ScreenGuards for StopsSessionOnScreen {
    fn stopped(_chosen: Option<RunId>, on_screen: Option<RunId>) -> Option<RunId> {
        on_screen
    }
}

/// A session is shown idle when its Stop is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct StoppedShownIdle;

impl ScreenGuards for StoppedShownIdle {
    fn shows_stopped_at_once() -> bool {
        true
    }
}

/// A list that says idle clears the turn in flight, however old it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ListClearsTurn;

impl ScreenGuards for ListClearsTurn {
    fn observation_ends_submit() -> bool {
        true
    }

    fn takes_older(_is_outdated: bool) -> bool {
        true
    }
}

/// The client's own flag holds a send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct OwnFlagHolds;

impl ScreenGuards for OwnFlagHolds {
    fn holds_send(is_shown_busy: bool) -> bool {
        is_shown_busy
    }
}

/// What is unanswered is asked again under a new key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RepeatedUnderNewKey;

impl ScreenGuards for RepeatedUnderNewKey {
    fn repeated_key(key: SubmitKey) -> SubmitKey {
        SubmitKey::new(key.number() + 1)
    }
}
