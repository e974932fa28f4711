//! `docs/spec/delivered.toml`: which rules are delivered.

use serde::Deserialize;

use super::{Catalogue, Id};

/// Rules of one family that are delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Range {
    /// All of it.
    Family(String),
    /// The numbers from the first to the last.
    Numbers(String, u32, u32),
}

/// The delivered ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// In the order of the file.
    pub ranges: Vec<Range>,
}

/// Why `delivered.toml` cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveredError {
    /// It is not TOML, or has a key or type of its own.
    #[error("delivered.toml: {0}")]
    Malformed(String),
    /// An entry is neither a family nor a range.
    #[error("delivered.toml: {0:?} is not FAMILY, FAMILY-n or FAMILY-n..m")]
    Entry(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    delivered: Vec<String>,
}

impl Delivered {
    /// Reads the file.
    ///
    /// # Errors
    /// [`DeliveredError`] naming the entry.
    pub fn parse(text: &str) -> Result<Self, DeliveredError> {
        let file: File =
            toml::from_str(text).map_err(|error| DeliveredError::Malformed(error.to_string()))?;
        let ranges = file
            .delivered
            .into_iter()
            .map(|entry| Range::parse(&entry).ok_or(DeliveredError::Entry(entry)))
            .collect::<Result<_, _>>()?;
        Ok(Self { ranges })
    }

    /// Whether `id` is delivered.
    pub fn contains(&self, id: &Id) -> bool {
        self.ranges.iter().any(|range| range.contains(id))
    }

    /// Ranges that name something the rules do not have.
    pub fn unknown(&self, catalogue: &Catalogue) -> Vec<String> {
        self.ranges
            .iter()
            .filter_map(|range| match range {
                Range::Family(family) => {
                    (!catalogue.rules.keys().any(|id| id.family == *family)).then(|| family.clone())
                }
                Range::Numbers(family, first, last) => [first, last]
                    .into_iter()
                    .map(|number| Id::numbered(family, *number))
                    .find(|id| !catalogue.rules.contains_key(id))
                    .map(|id| id.to_string()),
            })
            .collect()
    }
}

impl Range {
    fn parse(entry: &str) -> Option<Self> {
        if entry.len() >= 2 && entry.bytes().all(|b| b.is_ascii_uppercase()) {
            return Some(Self::Family(entry.to_owned()));
        }
        let (first, rest) = Id::split_from(entry)?;
        let number = first.number()?;
        let last = match rest.strip_prefix("..") {
            Some(last) => last.parse().ok()?,
            None if rest.is_empty() => number,
            None => return None,
        };
        (number <= last).then_some(Self::Numbers(first.family, number, last))
    }

    fn contains(&self, id: &Id) -> bool {
        match self {
            Self::Family(family) => id.family == *family,
            Self::Numbers(family, first, last) => {
                id.family == *family && id.number().is_some_and(|n| (*first..=*last).contains(&n))
            }
        }
    }
}
