//! Stored sessions as the wire shows them.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::record::{Marker as EndMarker, PendingTurn, Role, SessionHead, StoredItem, StoredRow};
use crate::ids::{MessageId, PrincipalId, RunId, Seq};
use crate::instant::Instant;
use crate::journal::row::Outcome;
use crate::wire::JsonObject;
use crate::wire::limits::{
    CHAIN_TAIL_MAX, INLINE_RESULT_BYTES_MAX, INTEGER_MAX, MANIFEST_BYTES_MAX, MANIFEST_LIST_MAX,
    SCHEMA_VERSION, SUMMARY_CHARS_MAX,
};
use crate::wire::structures::{
    DetailField, Manifest, Marker, Question, QueueState, Role as WireRole, Row, RowStatus, RunItem,
    RunPhase, SessionItem, SessionStatus, Usage,
};

/// What the session's machine knows beside the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// What the session is doing.
    pub status: SessionStatus,
    /// Its run, if it has a row.
    pub run: Option<LiveRun>,
}

/// The row of a run, as clients see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveRun {
    /// The run.
    pub run_id: RunId,
    /// Its phase.
    pub phase: RunPhase,
    /// What `may_attach` answers.
    pub attachable: bool,
    /// Number of its newest row.
    pub last_seq: Seq,
}

/// What a manifest says beside the record and the live run.
#[derive(Clone, Debug, Default)]
pub struct ManifestParts {
    /// Open generation of the client, echoed.
    pub generation: i64,
    /// Newest ids of the chain, oldest first.
    pub chain_tail: Vec<MessageId>,
    /// Open error records of the principal in the session, newest first; the first 100 are listed.
    pub open_error_ids: Vec<String>,
    /// All of them.
    pub open_error_total: u64,
    /// Open questions; the first 100 are listed.
    pub open_questions: Vec<Question>,
}

/// A settled row read at a revision of its session (SES-3).
pub fn row(stored: &StoredRow, head: &SessionHead) -> Row {
    let mut extra = JsonObject::new();
    if stored.role == Role::Assistant {
        let revision = int(stored.session_revision.get());
        let items = stored.items.iter().map(|item| item_value(item, revision)).collect();
        extra.insert("items".to_owned(), Value::Array(items));
    }
    if let Some(marker) = stored.marker {
        let name = match marker {
            EndMarker::Cancelled => "cancelled",
            EndMarker::Interrupted => "interrupted",
        };
        extra.insert("marker".to_owned(), json!(name));
    }
    if let Some(reason) = stored.reason {
        extra.insert("reason".to_owned(), json!(reason.as_str()));
        extra.insert("run_id".to_owned(), json!(stored.run_id.to_string()));
    }
    Row {
        message_id: stored.message_id.to_string(),
        group_root: stored.message_id.to_string(),
        role: match stored.role {
            Role::User => WireRole::User,
            Role::Assistant => WireRole::Assistant,
            Role::System => WireRole::System,
        },
        created_at: millis(stored.created_at),
        predecessor: stored.predecessor.map(|id| id.to_string()),
        caller: None,
        status: row_status(stored.status),
        content_revision: int(stored.session_revision.get()),
        session_revision: int(head.revision.get()),
        body: stored.body.clone(),
        summary: None,
        detail: None,
        tool_result: None,
        attachments: Vec::new(),
        agent: stored.agent.clone(),
        model: stored.model.clone(),
        usage: stored.usage.and_then(usage),
        refs: Vec::new(),
        extra,
    }
}

/// The accepted, unsettled turn as the row it will become, with status `pending` (INV-2, CTX-05).
pub fn pending_row(pending: &PendingTurn, head: &SessionHead) -> Row {
    let revision = int(head.revision.get());
    Row {
        message_id: pending.turn_id.to_string(),
        group_root: pending.turn_id.to_string(),
        role: WireRole::User,
        created_at: millis(pending.pending_started_at),
        predecessor: head.head_id.map(|id| id.to_string()),
        caller: None,
        status: RowStatus::Pending,
        content_revision: revision,
        session_revision: revision,
        body: Some(pending.text.clone()),
        summary: None,
        detail: None,
        tool_result: None,
        attachments: Vec::new(),
        agent: None,
        model: None,
        usage: None,
        refs: Vec::new(),
        extra: JsonObject::new(),
    }
}

/// A session in a list, for a principal that may read it (SDB-05).
pub fn session_item(
    head: &SessionHead,
    live: Live,
    reader: PrincipalId,
    open_error_total: u64,
) -> SessionItem {
    SessionItem {
        session_id: head.session_id.to_string(),
        title: head.title.clone(),
        status: live.status,
        head_id: head.head_id.map(|id| id.to_string()),
        session_revision: int(head.revision.get()),
        open_error_total: int(open_error_total),
        activity_at: millis(head.activity_at),
        message_count: int(head.message_count),
        transcript_generation: int(head.transcript_generation),
        transcript_generation_baseline: int(head.transcript_generation_baseline),
        run: live.run.map(|run| RunItem {
            run_id: run.run_id.to_string(),
            phase: run.phase,
            attachable: run.attachable,
        }),
        continuation_session_id: None,
        queue_length: int(head.queue_length),
        queue_held: head.queue_held,
        agent: head.agent.clone(),
        model: head.model.clone(),
        archived: head.archived,
        shared: head.shared,
        writable: head.owner == reader,
        usage: usage(head.usage),
    }
}

/// The first answer to an open, at most 262,144 bytes: prompts of questions are cut to a prefix with a
/// marker and the chain tail is shortened until it fits (SES-4).
pub fn manifest(head: &SessionHead, live: Live, parts: ManifestParts) -> Manifest {
    let running = live.run.filter(|run| run.attachable);
    let tail = parts.chain_tail.len().saturating_sub(CHAIN_TAIL_MAX);
    let mut manifest = Manifest {
        session_id: head.session_id.to_string(),
        generation: parts.generation,
        title: head.title.clone(),
        status: live.status,
        head_id: head.head_id.map(|id| id.to_string()),
        session_revision: int(head.revision.get()),
        graph_revision: 0,
        schema_version: SCHEMA_VERSION,
        transcript_generation: int(head.transcript_generation),
        transcript_generation_baseline: int(head.transcript_generation_baseline),
        agent: head.agent.clone(),
        model: head.model.clone(),
        chain_tail: parts.chain_tail[tail..].iter().map(|id| id.to_string()).collect(),
        chain_length: int(head.message_count),
        counts: BTreeMap::from([("messages".to_owned(), int(head.message_count))]),
        features: BTreeMap::from([("archived".to_owned(), head.archived)]),
        running: running
            .map(|run| (run.run_id.to_string(), int(run.last_seq.get())))
            .into_iter()
            .collect(),
        queue: QueueState { length: int(head.queue_length), held: head.queue_held },
        continuation_session_id: None,
        open_error_ids: parts.open_error_ids.into_iter().take(MANIFEST_LIST_MAX).collect(),
        open_error_total: int(parts.open_error_total),
        open_questions: parts.open_questions.into_iter().take(MANIFEST_LIST_MAX).collect(),
    };
    fit_questions(&mut manifest);
    fit_chain_tail(&mut manifest);
    manifest
}

/// Bytes of a value in its JSON form.
pub fn json_bytes<T: Serialize>(value: &T) -> usize {
    serde_json::to_string(value).expect("wire types have string keys and no fallible value").len()
}

/// The longest prefix of at most this many bytes that ends on a character boundary.
pub fn prefix(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// A short form of a text: its first 512 characters.
pub fn summary(text: &str) -> String {
    text.chars().take(SUMMARY_CHARS_MAX).collect()
}

/// The stored usage on the wire; `None` when nothing of it is known.
pub fn usage(usage: super::record::Usage) -> Option<Usage> {
    (usage != super::record::Usage::UNKNOWN).then(|| Usage {
        input: usage.input.map(int),
        output: usage.output.map(int),
        cached: usage.cached.map(int),
        cost: usage.cost.map(int),
        context_used: usage.context_used.map(int),
        context_max: usage.context_max.map(int),
    })
}

/// A counter as a wire integer.
pub fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(INTEGER_MAX).min(INTEGER_MAX)
}

fn millis(at: Instant) -> i64 {
    int(at.as_millis())
}

const fn row_status(outcome: Outcome) -> RowStatus {
    match outcome {
        Outcome::Completed => RowStatus::Completed,
        Outcome::Cancelled => RowStatus::Cancelled,
        Outcome::Failed => RowStatus::Failed,
        Outcome::Interrupted => RowStatus::Interrupted,
        Outcome::Superseded => RowStatus::Superseded,
    }
}

fn item_value(item: &StoredItem, revision: i64) -> Value {
    let mut object = JsonObject::new();
    object.insert("item_id".to_owned(), json!(item.item_id));
    object.insert("item_kind".to_owned(), json!(item.item_kind));
    object.insert("first_seq".to_owned(), json!(int(item.first_seq.get())));
    object.insert("last_seq".to_owned(), json!(int(item.last_seq.get())));
    if let Some(chars) = item.chars {
        object.insert("chars".to_owned(), json!(int(chars)));
    }
    if let Some(text) = &item.text {
        object.insert("text".to_owned(), json!(text));
    }
    if let Some(value) = &item.value {
        let node_id = item.item_id.to_string();
        let (value, marker) = inline_value(value, &node_id, revision);
        if let Some(value) = value {
            object.insert("value".to_owned(), value);
        }
        if let Some(marker) = marker {
            object.insert("marker".to_owned(), json!(marker));
        }
    }
    Value::Object(object)
}

/// The value of an item as far as it stays inline, and where the rest is: above 32,768 bytes a tool's
/// output is a prefix, any other value is left out (SES-12).
pub fn inline_value(
    value: &Value,
    node_id: &str,
    content_revision: i64,
) -> (Option<Value>, Option<Marker>) {
    const OUTPUT: &str = "output";
    if json_bytes(value) <= INLINE_RESULT_BYTES_MAX {
        return (Some(value.clone()), None);
    }
    let marker = |field, total| Marker {
        node_id: node_id.to_owned(),
        field,
        total_bytes: int(total as u64),
        content_revision,
    };
    let whole = || marker(DetailField::Item, json_bytes(value));
    let Value::Object(fields) = value else { return (None, Some(whole())) };
    let others: JsonObject = fields
        .iter()
        .filter(|(name, _)| *name != OUTPUT)
        .map(|(name, field)| (name.clone(), field.clone()))
        .collect();
    let Some(output) = fields.get(OUTPUT) else { return (None, Some(whole())) };
    if json_bytes(&others) > INLINE_RESULT_BYTES_MAX {
        return (None, Some(whole()));
    }
    let text = match output {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut shown = others;
    let cut = prefix(&text, INLINE_RESULT_BYTES_MAX);
    if cut.len() == text.len() {
        shown.insert(OUTPUT.to_owned(), output.clone());
        return (Some(Value::Object(shown)), None);
    }
    shown.insert(OUTPUT.to_owned(), json!(cut));
    (Some(Value::Object(shown)), Some(marker(DetailField::ToolOutput, text.len())))
}

fn fit_questions(manifest: &mut Manifest) {
    /// Bytes of everything in a manifest but its questions, a full chain tail included.
    const OTHERS_BYTES: usize = 65_536;
    /// Smallest prefix of a prompt that is still of use.
    const PROMPT_BYTES_MIN: usize = 256;
    let budget = MANIFEST_BYTES_MAX - OTHERS_BYTES;
    let mut prompt_bytes = INLINE_RESULT_BYTES_MAX;
    while json_bytes(&manifest.open_questions) > budget && prompt_bytes > PROMPT_BYTES_MIN {
        prompt_bytes /= 2;
        for question in &mut manifest.open_questions {
            cut_prompt(question, prompt_bytes);
        }
    }
    while json_bytes(&manifest.open_questions) > budget {
        manifest.open_questions.pop();
    }
}

/// Cuts a prompt to a prefix, with a marker that says where the rest is (SES-12).
pub(super) fn cut_prompt(question: &mut Question, bytes_max: usize) {
    if question.prompt.len() <= bytes_max {
        return;
    }
    if question.marker.is_none() {
        question.marker = Some(Marker {
            node_id: question.question_id.clone(),
            field: DetailField::Question,
            total_bytes: int(question.prompt.len() as u64),
            content_revision: question.question_version,
        });
    }
    question.prompt = prefix(&question.prompt, bytes_max).to_owned();
}

fn fit_chain_tail(manifest: &mut Manifest) {
    let bytes = json_bytes(manifest);
    let excess = bytes.saturating_sub(MANIFEST_BYTES_MAX);
    let Some(id_bytes) = manifest.chain_tail.first().map(|id| id.len() + 3) else { return };
    let oldest = excess.div_ceil(id_bytes).min(manifest.chain_tail.len());
    manifest.chain_tail.drain(..oldest);
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
