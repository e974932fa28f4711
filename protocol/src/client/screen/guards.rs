//! The decisions of a screen, one method per guard; the defaults are the rules.

use std::fmt::Debug;
use std::hash::Hash;

use super::state::SubmitKey;
use crate::ids::RunId;

/// The guards of a screen. A faulty variant overrides one of them.
pub trait ScreenGuards: Copy + Eq + Hash + Debug + Default + Send + Sync + 'static {
    /// The run that a Stop names: that of the session the user chose (STOP-19).
    fn stopped(chosen: Option<RunId>, _on_screen: Option<RunId>) -> Option<RunId> {
        chosen
    }

    /// Is a session shown as idle once its Stop is asked for? Only when its run has ended (STOP-19).
    fn shows_stopped_at_once() -> bool {
        false
    }

    /// Does an observation end a submit that is unanswered? Only its own answer does (OBS-07).
    fn observation_ends_submit() -> bool {
        false
    }

    /// Does an observation count for a session of which the client learned something since it asked? (OBS-07)
    fn takes_older(is_outdated: bool) -> bool {
        !is_outdated
    }

    /// Is a send held back? Never because the client itself takes the session for busy (OBS-07).
    fn holds_send(_is_shown_busy: bool) -> bool {
        false
    }

    /// The key under which a submit is asked again: its own (ADM-13).
    fn repeated_key(key: SubmitKey) -> SubmitKey {
        key
    }
}

/// The rules as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules;

impl ScreenGuards for Rules {}
