//! Kinds of evidence and the harnesses that give them.

use std::fmt;
use std::str::FromStr;

/// A kind of evidence, the tag behind a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// Fixed input.
    Unit,
    /// Generated input.
    Property,
    /// Every interleaving of a small scope.
    Explore,
    /// Deterministic simulation.
    Sim,
    /// A real server over real sockets.
    E2e,
    /// A real browser.
    Browser,
    /// A measured cost.
    Bench,
}

impl Evidence {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Unit,
        Self::Property,
        Self::Explore,
        Self::Sim,
        Self::E2e,
        Self::Browser,
        Self::Bench,
    ];

    /// The tag as the rules write it.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Unit => "unit",
            Self::Property => "property",
            Self::Explore => "explore",
            Self::Sim => "sim",
            Self::E2e => "e2e",
            Self::Browser => "browser",
            Self::Bench => "bench",
        }
    }

    /// The kinds a file may claim, by its place in the project.
    pub fn of_path(path: &str) -> &'static [Self] {
        let mut parts = path.split('/');
        match (parts.next(), parts.next()) {
            (Some("server"), Some("tests")) => match parts.next() {
                Some("browser") => &[Self::Browser],
                Some(_) | None => &[Self::E2e],
            },
            (Some("sim"), _) if has_explore_part(path) => &[Self::Explore],
            (Some("sim"), _) => &[Self::Sim],
            (Some("benches"), _) => &[Self::Bench],
            _ => &[Self::Unit, Self::Property],
        }
    }

    /// Reads `unit, sim`; none when a word is no tag.
    pub fn list(text: &str) -> Option<Vec<Self>> {
        text.split(',').map(|word| word.trim().parse().ok()).collect()
    }
}

impl FromStr for Evidence {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| kind.tag() == text).ok_or(())
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tag())
    }
}

fn has_explore_part(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with("explore"))
}
