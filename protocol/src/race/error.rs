//! Why a text is no race file.

use super::names::NameError;
use super::{FILE_BYTES_MAX, LINE_BYTES_MAX, LINES_MAX};

/// A text that is no race file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct RaceError {
    /// The first wrong line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a line, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file is too large.
    #[error("the file passes {FILE_BYTES_MAX} bytes here: shrink or cut the schedule")]
    FileTooLarge,
    /// There are too many lines.
    #[error("a file has at most {LINES_MAX} lines: shrink or cut the schedule")]
    TooManyLines,
    /// The line is too long.
    #[error("a line has at most {LINE_BYTES_MAX} bytes: this one must be shorter")]
    LineTooLong,
    /// The line is not UTF-8.
    #[error("the line is not UTF-8: save the file in this encoding")]
    NotUtf8,
    /// The line ends with CR LF.
    #[error("the line ends with CR LF: save the file with LF alone")]
    CarriageReturn,
    /// The last line has no LF.
    #[error("the line has no LF: end the file with one")]
    NoLineFeed,
    /// The file ends too early.
    #[error("the file ends here: {0} is due")]
    Ends(&'static str),
    /// The first line is another one.
    #[error("the first line is `race/1`; another version needs another release of this tool")]
    Version,
    /// A line of the head is no `key: value`.
    #[error("a line of the head is `key: value`, and an empty line ends it")]
    Header,
    /// A key is unknown.
    #[error("{0:?} is no key: write scenario, ring, variant, scope, seed, schema or init")]
    UnknownKey(String),
    /// A key stands twice.
    #[error("`{0}` stands here for the second time: remove one")]
    RepeatedKey(&'static str),
    /// A required key is missing.
    #[error("the head ends without `{0}`: add it")]
    MissingKey(&'static str),
    /// The ring is unknown.
    #[error("the ring is `explore`, `weave` or `turmoil`")]
    Ring,
    /// The scope has another form.
    #[error(
        "{0:?} is no part of a scope: `key:number` of clients, events, stops, drops, crashes or cap, each once, with commas"
    )]
    Scope(String),
    /// A number is none.
    #[error("`{0}` is a decimal number below 2^64")]
    Number(&'static str),
    /// `init` has another form.
    #[error("`init` is one JSON object, machine name to state, without fractions: {0}")]
    Init(String),
    /// A choice has another form.
    #[error(
        "a choice is `step now_us actor verb label`, with one space between; or `expect` is due"
    )]
    Choice,
    /// The numbers of the steps do not grow.
    #[error("the step's number must be above {0}")]
    StepNotGrowing(u64),
    /// Time falls.
    #[error("time falls: the step's time must be at least {0}")]
    TimeFalls(u64),
    /// A name is wrong.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A label has another form.
    #[error("a label is a word, with its arguments as `word(a,b)`")]
    Label,
    /// The label of an `input` is no input.
    #[error("behind `input` stands the input of a Record as JSON: {0}")]
    Input(String),
    /// The expectation has another form.
    #[error("write `expect ok` or `expect violation ID`")]
    Expect,
    /// The digest has another form.
    #[error("write `digest ` with 16 lowercase hex digits")]
    Digest,
    /// Something follows the digest.
    #[error("the file ends with its digest: remove what follows")]
    AfterDigest,
}
