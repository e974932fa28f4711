//! Writing a race file, keys in the order of the grammar and JSON in its canonical form.

use std::fmt::{self, Display, Formatter};

use crate::record::canonical_json;
use serde_json::Value;

use super::file::{Choice, Expectation, Label, Race};

impl Display for Race {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "race/1")?;
        writeln!(f, "scenario: {}", self.scenario)?;
        writeln!(f, "ring: {}", self.ring.as_str())?;
        if let Some(variant) = &self.variant {
            writeln!(f, "variant: {variant}")?;
        }
        writeln!(f, "scope: {}", self.scope)?;
        writeln!(f, "seed: {}", self.seed)?;
        writeln!(f, "schema: {}", self.schema)?;
        if let Some(init) = &self.init {
            writeln!(f, "init: {}", canonical_json(&Value::Object(init.clone())))?;
        }
        writeln!(f)?;
        for choice in &self.choices {
            writeln!(f, "{choice}")?;
        }
        writeln!(f, "{}", self.expect)?;
        writeln!(f, "digest {}", self.digest)
    }
}

impl Display for Choice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { step, now, actor, verb, label } = self;
        write!(f, "{step} {} {actor} {verb} {label}", now.as_micros())
    }
}

impl Display for Label {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named { name, arguments: None } => write!(f, "{name}"),
            Self::Named { name, arguments: Some(arguments) } => {
                let arguments: Vec<_> =
                    arguments.iter().map(|argument| argument.as_str()).collect();
                write!(f, "{name}({})", arguments.join(","))
            }
            Self::Input(input) => f.write_str(&canonical_json(input)),
        }
    }
}

impl Display for Expectation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => f.write_str("expect ok"),
            Self::Violation(id) => write!(f, "expect violation {id}"),
        }
    }
}
