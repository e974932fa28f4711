//! Claims in the comments of tests.

use super::{Evidence, Id};

/// One claim of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What it claims.
    pub id: Id,
    /// The kind of evidence it claims to be.
    pub evidence: Evidence,
    /// Line of the comment, from 1.
    pub line: usize,
}

/// What the comments of one file claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceClaims {
    /// Well-formed claims of tests.
    pub claims: Vec<Claim>,
    /// Lines that begin like a claim and are none, with their text.
    pub malformed: Vec<(usize, String)>,
    /// Claims of something that is no test: its line and text.
    pub not_a_test: Vec<(usize, String)>,
}

/// The claims of a file, by the ending of its path. Other files have none.
pub fn claims_of(path: &str, text: &str) -> SourceClaims {
    let mut found = SourceClaims::default();
    if path.ends_with(".rs") {
        read_rust(text, &mut found);
    } else if path.ends_with(".js") || path.ends_with(".mjs") {
        for (index, line) in text.lines().enumerate() {
            if let Some(comment) = line.trim_start().strip_prefix("// ") {
                found.take(index + 1, comment, true);
            }
        }
    }
    found
}

impl SourceClaims {
    fn take(&mut self, line: usize, comment: &str, is_test: bool) {
        if !begins_like_a_claim(comment) {
            return;
        }
        if !is_test {
            self.not_a_test.push((line, comment.to_owned()));
            return;
        }
        match parse_claims(comment) {
            Some(claims) => self.claims.extend(claims.into_iter().map(|(id, evidence)| Claim {
                id,
                evidence,
                line,
            })),
            None => self.malformed.push((line, comment.to_owned())),
        }
    }
}

/// A doc comment that waits for the item it belongs to.
#[derive(Default)]
struct PendingDoc {
    line: usize,
    text: String,
    is_test: bool,
    open_brackets: usize,
}

fn read_rust(text: &str, found: &mut SourceClaims) {
    let mut pending = PendingDoc::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if let Some(comment) = line.strip_prefix("///") {
            if pending.text.is_empty() {
                pending.line = index + 1;
            } else {
                pending.text.push(' ');
            }
            pending.text.push_str(comment.trim());
        } else if pending.open_brackets > 0 || line.starts_with("#[") {
            pending.is_test |= pending.open_brackets == 0 && is_test_attribute(line);
            pending.open_brackets = brackets_after(pending.open_brackets, line);
        } else if !line.is_empty() && !line.starts_with("//") {
            let doc = std::mem::take(&mut pending);
            found.take(doc.line, &doc.text, doc.is_test);
        }
    }
}

fn is_test_attribute(line: &str) -> bool {
    let path = line.trim_start_matches("#[");
    let end = path.find(|c: char| !(c.is_alphanumeric() || "_:".contains(c)));
    let path = &path[..end.unwrap_or(path.len())];
    matches!(path.rsplit("::").next(), Some("test" | "bench"))
}

fn brackets_after(open: usize, line: &str) -> usize {
    line.chars().fold(open, |open, c| match c {
        '[' => open + 1,
        ']' => open.saturating_sub(1),
        _ => open,
    })
}

/// Whether a comment starts with an id followed by a tag, or with an id and a colon.
fn begins_like_a_claim(comment: &str) -> bool {
    Id::split_from(comment).is_some_and(|(_, rest)| {
        rest.starts_with(" [") || rest.starts_with(':') || rest.starts_with(", ")
    })
}

/// `SND-3 [property], SND-4 [unit, sim]: what it shows`
fn parse_claims(comment: &str) -> Option<Vec<(Id, Evidence)>> {
    let mut claims = Vec::new();
    let mut rest = comment;
    loop {
        let (id, after) = Id::split_from(rest)?;
        let (tags, after) = after.strip_prefix(" [")?.split_once(']')?;
        claims.extend(Evidence::list(tags)?.into_iter().map(|kind| (id.clone(), kind)));
        match after.strip_prefix(", ") {
            Some(next) => rest = next,
            None => break after.starts_with(": ").then_some(claims),
        }
    }
}
