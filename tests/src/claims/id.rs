//! Ids of rules, invariants and scenarios.

use std::fmt;
use std::str::FromStr;

/// What stands behind the family in an [`Id`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A number: `SND-7` and `SND-07` have the same.
    Number(u32),
    /// A name, as in `INV-REG`.
    Name(String),
}

/// Id of a rule, invariant, scenario, acceptance entry or measurement, such as `SND-7`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    /// The letters before the dash.
    pub family: String,
    /// What follows it.
    pub key: Key,
}

impl Id {
    /// The id of `family` with `number`.
    pub fn numbered(family: &str, number: u32) -> Self {
        Self { family: family.to_owned(), key: Key::Number(number) }
    }

    /// The number, if it has one.
    pub fn number(&self) -> Option<u32> {
        match self.key {
            Key::Number(number) => Some(number),
            Key::Name(_) => None,
        }
    }

    /// The id at the start of `text` and what follows it.
    pub fn split_from(text: &str) -> Option<(Self, &str)> {
        let end = text
            .find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-'))
            .unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        Some((word.parse().ok()?, rest))
    }
}

impl FromStr for Id {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (family, key) = text.split_once('-').ok_or(())?;
        let letters = |word: &str| word.len() >= 2 && word.bytes().all(|b| b.is_ascii_uppercase());
        if !letters(family) {
            return Err(());
        }
        let key = if !key.is_empty() && key.bytes().all(|b| b.is_ascii_digit()) {
            Key::Number(key.parse().map_err(|_| ())?)
        } else if letters(key) {
            Key::Name(key.to_owned())
        } else {
            return Err(());
        };
        Ok(Self { family: family.to_owned(), key })
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Key::Number(number) => write!(f, "{}-{number}", self.family),
            Key::Name(name) => write!(f, "{}-{name}", self.family),
        }
    }
}
