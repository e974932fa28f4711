//! The words a race file is made of. Each holds what the grammar allows, so that what is written can be
//! read.

use std::fmt;
use std::str::FromStr;

/// A text is not what the grammar calls by this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no {what}: {rule}")]
pub struct NameError {
    what: &'static str,
    rule: &'static str,
    text: String,
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $rule:literal, $is_right:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                let is_right: fn(&str) -> bool = $is_right;
                if is_right(text) {
                    return Ok(Self(text.to_owned()));
                }
                Err(NameError { what: $what, rule: $rule, text: text.chars().take(40).collect() })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// An actor, a verb, or the name of a label.
    Word,
    "word",
    "it has one or more characters, no space, comma, parenthesis or control character",
    |text| {
        let is_plain = |c: char| !c.is_control() && !" (),".contains(c);
        !text.is_empty() && text.chars().all(is_plain)
    }
);
name!(
    /// An argument of a label.
    Argument,
    "argument",
    "it has one or more characters, no comma, parenthesis or line feed",
    |text| !text.is_empty() && !text.contains([',', '(', ')', '\n'])
);
name!(
    /// The name of a scenario or variant.
    Slug,
    "name",
    "it has lower case letters, digits and hyphens",
    |text| {
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        !text.is_empty() && text.bytes().all(is_plain)
    }
);
name!(
    /// The id of a rule or invariant, `INV-TERM` for instance.
    InvariantId,
    "id",
    "it is that of a rule or invariant, such as STOP-06, INV-TERM or DI-5",
    |text| {
        text.split_once('-').is_some_and(|(family, rest)| {
            let is_upper = |b: u8| b.is_ascii_uppercase();
            !family.is_empty()
                && !rest.is_empty()
                && family.bytes().all(is_upper)
                && rest.bytes().all(|b| is_upper(b) || b.is_ascii_digit())
        })
    }
);
