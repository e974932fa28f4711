//! How a session is given to a client that knew it before: what it missed, or all anew (tables 5.5.1 and 5.5.2).

use super::project::{cut_prompt, int, json_bytes, prefix};
use crate::ids::{Revision, Seq};
use crate::wire::actions::KnownState;
use crate::wire::frames::SessionResume;
use crate::wire::limits::{
    MANIFEST_LIST_MAX, RESUME_BEST_EFFORT_BYTES, RESUME_GUARANTEE_BYTES, RESUME_GUARANTEE_DELTAS,
    SCHEMA_VERSION,
};
use crate::wire::structures::{RecoveryReason, ResumeMode};

/// What the server has to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given<'a> {
    /// Its store, as `welcome` names it.
    pub store_id: &'a str,
    /// Revision of the session.
    pub revision: Revision,
    /// Commits after the known revision, if all of them are kept; meant only for a known revision that is not above.
    pub commits: Option<usize>,
}

/// What is known of an entity that the client named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entity {
    /// It is live.
    Running {
        /// Its newest row.
        last_seq: Seq,
        /// Whether its replay is complete and ring or journal covers what is missing.
        is_covered: bool,
    },
    /// It has ended.
    Ended {
        /// Its newest row.
        last_seq: Seq,
    },
    /// Neither store nor memory knows it.
    Unknown,
}

/// What the client gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// A manifest; with a reason where known values could not be used.
    Manifest(Option<RecoveryReason>),
    /// What it missed.
    Resume {
        /// Commits and live deltas that are missing.
        missing: usize,
        /// How each entity goes on.
        streams: Vec<Stream>,
    },
}

/// How an entity goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The entity.
    pub entity_id: String,
    /// What the client does.
    pub mode: ResumeMode,
    /// The seq it knows.
    pub from_seq: Seq,
    /// The newest one.
    pub last_seq: Seq,
}

/// The answer to an open. `named` says of each entity in the known values what it is now, in their order; `running` are
/// the live ones and their newest rows.
pub fn plan(
    known: Option<&KnownState>,
    given: Given<'_>,
    named: &[Entity],
    running: &[(String, Seq)],
) -> Plan {
    let Some(known) = known else { return Plan::Manifest(None) };
    let refused = |reason| Plan::Manifest(Some(reason));
    if known.store_id != given.store_id {
        return refused(RecoveryReason::ClientAhead);
    }
    if known.schema_version != SCHEMA_VERSION {
        return refused(RecoveryReason::Schema);
    }
    let named = || known.stream_seqs.iter().zip(named);
    let is_ahead = named().any(|((_, seq), entity)| match entity {
        Entity::Running { last_seq, .. } | Entity::Ended { last_seq } => *seq > int(last_seq.get()),
        Entity::Unknown => false,
    });
    if known.session_revision > int(given.revision.get()) || is_ahead {
        return refused(RecoveryReason::ClientAhead);
    }
    let Some(commits) = given.commits else { return refused(RecoveryReason::Evicted) };
    if named().any(|(_, entity)| *entity == Entity::Unknown) {
        return refused(RecoveryReason::Restart);
    }
    let mut streams: Vec<Stream> =
        named().filter_map(|((id, seq), entity)| stream(id, *seq, *entity)).collect();
    for (entity_id, last_seq) in running {
        if !known.stream_seqs.contains_key(entity_id) {
            let (entity_id, mode) = (entity_id.clone(), ResumeMode::Fetch);
            streams.push(Stream { entity_id, mode, from_seq: Seq::ZERO, last_seq: *last_seq });
        }
    }
    let deltas = streams.iter().filter(|stream| stream.mode == ResumeMode::Deltas);
    let rows: u64 = deltas.map(|stream| stream.last_seq.get() - stream.from_seq.get()).sum();
    let missing = commits.saturating_add(usize::try_from(rows).unwrap_or(usize::MAX));
    Plan::Resume { missing, streams }
}

/// Most bytes of a `session_resume` that lacks so many deltas; one that is larger becomes a manifest with reason
/// `delta_budget` (SES-21, SES-22).
pub const fn bytes_max(missing: usize) -> usize {
    if missing <= RESUME_GUARANTEE_DELTAS {
        RESUME_GUARANTEE_BYTES
    } else {
        RESUME_BEST_EFFORT_BYTES
    }
}

/// Cuts what can be had otherwise until the answer fits: questions to prefixes of their prompts, then their number,
/// then the words of steers. `false` when the deltas alone are too large.
pub fn fit(resume: &mut SessionResume, bytes_max: usize) -> bool {
    /// Prompts are cut no shorter than this.
    const PROMPT_BYTES_MIN: usize = 64;
    resume.open_error_ids.truncate(MANIFEST_LIST_MAX);
    resume.open_questions.truncate(MANIFEST_LIST_MAX);
    let mut prompt_bytes = bytes_max;
    while !fits(resume, bytes_max) && prompt_bytes > PROMPT_BYTES_MIN {
        prompt_bytes /= 2;
        for question in &mut resume.open_questions {
            cut_prompt(question, prompt_bytes);
        }
    }
    while !fits(resume, bytes_max) && resume.open_questions.pop().is_some() {}
    if !fits(resume, bytes_max) {
        let terminals = resume.streams.iter_mut().filter_map(|stream| stream.terminal.as_mut());
        for steer in terminals.flat_map(|terminal| &mut terminal.returned_steers) {
            steer.text = prefix(&steer.text, PROMPT_BYTES_MIN).to_owned();
        }
    }
    fits(resume, bytes_max)
}

fn stream(entity_id: &str, known: i64, entity: Entity) -> Option<Stream> {
    let from_seq = Seq::new(u64::try_from(known).unwrap_or(0));
    let (mode, last_seq) = match entity {
        Entity::Running { last_seq, .. } if last_seq == from_seq => return None,
        Entity::Running { last_seq, is_covered: true } => (ResumeMode::Deltas, last_seq),
        Entity::Running { last_seq, is_covered: false } => (ResumeMode::Fetch, last_seq),
        Entity::Ended { last_seq } => (ResumeMode::Terminal, last_seq),
        Entity::Unknown => return None,
    };
    Some(Stream { entity_id: entity_id.to_owned(), mode, from_seq, last_seq })
}

fn fits(resume: &SessionResume, bytes_max: usize) -> bool {
    /// What a frame has around its data (2.2).
    const ENVELOPE: &str = r#"{"type":"session_resume","data":}"#;
    ENVELOPE.len() + json_bytes(resume) <= bytes_max
}

#[cfg(test)]
#[path = "resume_tests.rs"]
mod tests;
