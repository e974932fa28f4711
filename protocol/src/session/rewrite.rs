//! What an intentional reduction leaves of a transcript, and the words of the turn that begins behind it
//! (LIFE-05).

use serde::{Deserialize, Serialize};

use crate::ids::Revision;
use crate::journal::row::Outcome;
use crate::session::record::Role;
use crate::wire::actions::RewriteOperation;

/// The transcript as a rewrite finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The revision it was read at.
    pub revision: Revision,
    /// Rows of the transcript.
    pub total: u64,
    /// The turn of the named row, or without a name the last turn; none when there is no such row.
    pub turn: Option<Turn>,
}

/// One turn of the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Position of its first row.
    pub first: u64,
    /// Position of the named row, or of the last row of the turn.
    pub at: u64,
    /// Who that row is from.
    pub role: Role,
    /// The user's words.
    pub words: Option<String>,
    /// Whether it has an answer, complete or not.
    pub is_answered: bool,
    /// How its run ended.
    pub outcome: Outcome,
}

/// A reduction of the visible transcript: the rows from `kept` on go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reduction {
    /// Rows that stay; the next baseline (SDB-04).
    pub kept: u64,
}

/// What a rewrite does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// It reduces the transcript.
    Reduce(Reduction),
    /// It reduces the transcript and starts a turn with these words.
    Start(Reduction, String),
    /// Nothing would go.
    Nothing,
}

/// The named row is not one that the operation can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message is not one that {0:?} can be about")]
pub struct WrongTarget(pub RewriteOperation);

/// What an operation does to this transcript. `text` is the new text of an edit.
///
/// # Errors
/// [`WrongTarget`] when there is no such row, or the operation cannot be about it: an edit names a message of
/// the user, regenerate a row of a turn that has an answer, retry a row of a turn that did not complete.
pub fn plan(
    op: RewriteOperation,
    text: Option<String>,
    target: Target,
) -> Result<Plan, WrongTarget> {
    let Target { total, turn, revision: _ } = target;
    let wrong = WrongTarget(op);
    if op == RewriteOperation::Clear {
        return Ok(reduce(0, total));
    }
    let turn = turn.ok_or(wrong)?;
    let again = |words: Option<String>| {
        let reduction = Reduction { kept: turn.first };
        words.map(|words| Plan::Start(reduction, words)).ok_or(wrong)
    };
    match op {
        RewriteOperation::Edit if turn.role == Role::User => again(text),
        RewriteOperation::Regenerate if turn.is_answered => again(turn.words),
        RewriteOperation::Retry if turn.outcome != Outcome::Completed => again(turn.words),
        RewriteOperation::Edit | RewriteOperation::Regenerate | RewriteOperation::Retry => {
            Err(wrong)
        }
        RewriteOperation::Undo => Ok(reduce(turn.first, total)),
        RewriteOperation::Truncate => Ok(reduce(turn.at + 1, total)),
        RewriteOperation::Clear => Ok(reduce(0, total)),
    }
}

fn reduce(kept: u64, total: u64) -> Plan {
    if kept < total { Plan::Reduce(Reduction { kept }) } else { Plan::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;
    use RewriteOperation::{Clear, Edit, Regenerate, Retry, Truncate, Undo};

    /// Two turns: user, answer, then user, partial answer, marker.
    fn target(at: u64) -> Target {
        let (first, role, outcome) = match at {
            0 => (0, Role::User, Outcome::Completed),
            1 => (0, Role::Assistant, Outcome::Completed),
            2 => (2, Role::User, Outcome::Cancelled),
            3 => (2, Role::Assistant, Outcome::Cancelled),
            _ => (2, Role::System, Outcome::Cancelled),
        };
        let words = Some(format!("words {first}"));
        let turn = Some(Turn { first, at, role, words, is_answered: true, outcome });
        Target { revision: Revision::new(5), total: 5, turn }
    }

    fn kept(op: RewriteOperation, at: u64) -> Option<u64> {
        match plan(op, None, target(at)) {
            Ok(Plan::Reduce(reduction) | Plan::Start(reduction, _)) => Some(reduction.kept),
            Ok(Plan::Nothing) => Some(5),
            Err(_) => None,
        }
    }

    #[test]
    fn each_operation_keeps_what_stands_before_its_place() {
        for at in 0..5 {
            let first = if at < 2 { 0 } else { 2 };
            assert_eq!(kept(Truncate, at), Some(at + 1), "the named row stays");
            assert_eq!(kept(Undo, at), Some(first), "the whole turn goes");
            assert_eq!(kept(Clear, at), Some(0));
            assert_eq!(kept(Regenerate, at), Some(first));
            assert_eq!(kept(Retry, at), (first == 2).then_some(2), "only what did not complete");
        }
        assert_eq!(plan(Truncate, None, target(4)), Ok(Plan::Nothing));
    }

    #[test]
    fn an_edit_starts_with_its_own_text_and_the_others_with_the_words_that_were() {
        let start = |kept, words: &str| Ok(Plan::Start(Reduction { kept }, words.to_owned()));
        assert_eq!(plan(Edit, Some("new".to_owned()), target(2)), start(2, "new"));
        assert_eq!(plan(Edit, Some("new".to_owned()), target(3)), Err(WrongTarget(Edit)));
        assert_eq!(plan(Regenerate, None, target(1)), start(0, "words 0"));
        assert_eq!(plan(Retry, None, target(4)), start(2, "words 2"));
    }

    #[test]
    fn without_such_a_row_only_clear_has_something_to_say() {
        let empty = Target { revision: Revision::new(1), total: 0, turn: None };
        for op in [Edit, Regenerate, Retry, Undo, Truncate] {
            assert_eq!(plan(op, Some("x".to_owned()), empty.clone()), Err(WrongTarget(op)));
        }
        assert_eq!(plan(Clear, None, empty), Ok(Plan::Nothing));
        let unanswered = Turn { is_answered: false, ..target(2).turn.unwrap() };
        let target = Target { turn: Some(unanswered), ..target(2) };
        assert_eq!(plan(Regenerate, None, target), Err(WrongTarget(Regenerate)));
    }
}
