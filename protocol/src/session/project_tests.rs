use proptest::prelude::*;

use super::*;
use crate::ids::{ItemId, Revision, SessionId};
use crate::journal::row::{ItemKind, JournalRow, RowEvent};
use crate::session::context::{Speaker, message};
use crate::session::record::Usage as StoredUsage;
use crate::session::settle::{self, AnswerFold, Ending};
use crate::wire::structures::{QuestionKind, TerminalReason};

const OWNER: PrincipalId = PrincipalId::new(1);

fn head() -> SessionHead {
    SessionHead {
        session_id: SessionId::new(4),
        owner: OWNER,
        title: "title".to_owned(),
        revision: Revision::new(9),
        transcript_generation: 0,
        transcript_generation_baseline: 0,
        truncation_watermark: Revision::new(0),
        agent: "demo".to_owned(),
        model: None,
        archived: false,
        shared: true,
        created_at: Instant::from_millis(1),
        activity_at: Instant::from_millis(5),
        message_count: 2,
        head_id: Some(MessageId::new(8)),
        pending: None,
        usage: StoredUsage::default(),
        queue_length: 0,
        queue_held: None,
    }
}

fn answer(items: Vec<StoredItem>) -> StoredRow {
    StoredRow {
        message_id: MessageId::new(8),
        role: Role::Assistant,
        status: Outcome::Cancelled,
        predecessor: Some(MessageId::new(7)),
        created_at: Instant::from_millis(5),
        body: Some("hi".to_owned()),
        run_id: RunId::new(1),
        agent: Some("demo".to_owned()),
        model: None,
        usage: Some(StoredUsage { input: Some(3), ..StoredUsage::UNKNOWN }),
        items,
        marker: None,
        reason: None,
        session_revision: Revision::new(6),
    }
}

fn item(kind: ItemKind) -> StoredItem {
    StoredItem {
        item_id: ItemId::new(1),
        item_kind: kind,
        first_seq: Seq::new(1),
        last_seq: Seq::new(2),
        chars: None,
        text: None,
        value: None,
    }
}

fn live(run: Option<LiveRun>) -> Live {
    Live { status: SessionStatus::Idle, run }
}

fn question(number: usize, prompt: String) -> Question {
    Question {
        question_id: format!("que_{number:016x}"),
        run_id: None,
        kind: QuestionKind::Question,
        question_version: 1,
        prompt,
        marker: None,
        options: Vec::new(),
        multi: false,
        allow_custom: true,
        expires_at: 0,
    }
}

/// HIS-16 [unit], SES-3 [unit]: an answer's items are in `extra` without its text, and every row carries the revision
/// it was read at beside the one of its content.
#[test]
fn an_answer_row_lists_its_items_beside_its_text() {
    let text = StoredItem { chars: Some(2), ..item(ItemKind::Text) };
    let thinking = StoredItem { text: Some("hm".to_owned()), ..item(ItemKind::Thinking) };
    let tool = StoredItem { value: Some(json!({"name": "t"})), ..item(ItemKind::Tool) };
    let shown = row(&answer(vec![text, thinking, tool]), &head());
    assert_eq!((shown.content_revision, shown.session_revision), (6, 9));
    assert_eq!(shown.status, RowStatus::Cancelled);
    assert_eq!(shown.usage.unwrap().input, Some(3));
    let common = r#""item_id":"item_0000000000000001","first_seq":1,"last_seq":2"#;
    let expected: Value = serde_json::from_str(&format!(
        r#"{{"items":[{{{common},"item_kind":"text","chars":2}},
            {{{common},"item_kind":"thinking","text":"hm"}},
            {{{common},"item_kind":"tool","value":{{"name":"t"}}}}]}}"#
    ))
    .unwrap();
    assert_eq!(Value::Object(shown.extra), expected);
}

#[test]
fn a_marker_row_names_its_marker_and_a_pending_turn_is_a_user_row() {
    let marker = StoredRow {
        role: Role::System,
        marker: Some(EndMarker::Interrupted),
        body: None,
        usage: Some(StoredUsage::default()),
        ..answer(Vec::new())
    };
    let shown = row(&marker.clone(), &head());
    assert_eq!(Value::Object(shown.extra), json!({"marker": "interrupted"}));
    let ended = StoredRow { reason: Some(TerminalReason::RunMax), ..marker };
    let expected =
        json!({"marker": "interrupted", "reason": "run_max", "run_id": "run_0000000000000001"});
    assert_eq!(Value::Object(row(&ended, &head()).extra), expected);
    assert_eq!(shown.usage, None, "nothing of it is known");
    let pending = PendingTurn {
        turn_id: MessageId::new(20),
        run_id: RunId::new(1),
        text: "why?".to_owned(),
        pending_started_at: Instant::from_millis(6),
        agent: "demo".to_owned(),
        model: None,
    };
    let shown = pending_row(&pending, &head());
    assert_eq!((shown.role, shown.status), (WireRole::User, RowStatus::Pending));
    assert_eq!(shown.predecessor, Some(MessageId::new(8).to_string()));
    assert_eq!(shown.body.as_deref(), Some("why?"));
    assert!(shown.extra.is_empty());
}

/// SES-12 [unit]: 32,768 bytes stay inline, one more is a marker; a tool's output keeps its prefix.
#[test]
fn large_values_are_cut_to_markers() {
    let sized = |bytes: usize| json!("x".repeat(bytes - 2));
    let (value, marker) = inline_value(&sized(INLINE_RESULT_BYTES_MAX), "n", 1);
    assert!(value.is_some() && marker.is_none());
    let (value, marker) = inline_value(&sized(INLINE_RESULT_BYTES_MAX + 1), "n", 1);
    let marker = marker.unwrap();
    assert_eq!(value, None);
    assert_eq!((marker.field, marker.total_bytes), (DetailField::Item, 32_769));

    let output = format!("{}ü{}", "x".repeat(INLINE_RESULT_BYTES_MAX - 1), "y".repeat(9));
    let (value, marker) = inline_value(&json!({"name": "t", "output": output}), "n", 1);
    let value = value.unwrap();
    let marker = marker.unwrap();
    assert_eq!(value["name"], "t");
    assert_eq!(value["output"].as_str().unwrap().len(), INLINE_RESULT_BYTES_MAX - 1);
    assert_eq!(marker.field, DetailField::ToolOutput);
    assert_eq!(marker.total_bytes, output.len() as i64);

    let output = "x".repeat(INLINE_RESULT_BYTES_MAX);
    let tool = json!({"name": "t", "output": output});
    assert_eq!(inline_value(&tool, "n", 1), (Some(tool), None));
    let input = json!({"input": "x".repeat(40_000), "output": "short"});
    assert_eq!(inline_value(&input, "n", 1).1.unwrap().field, DetailField::Item);
}

/// SDB-05 [unit]: an item carries run, counts and generations; `writable` is the owner's.
#[test]
fn a_session_item_says_what_runs_and_who_may_write() {
    let run = LiveRun {
        run_id: RunId::new(2),
        phase: RunPhase::Cancelling,
        attachable: false,
        last_seq: Seq::new(3),
    };
    let shown = session_item(&head(), live(Some(run)), OWNER, 1);
    let shown_run = shown.run.unwrap();
    assert_eq!((shown_run.phase, shown_run.attachable), (RunPhase::Cancelling, false));
    assert_eq!((shown.activity_at, shown.message_count, shown.open_error_total), (5, 2, 1));
    assert_eq!((shown.transcript_generation, shown.transcript_generation_baseline), (0, 0));
    assert_eq!((shown.queue_length, shown.continuation_session_id), (0, None));
    assert!(shown.writable);
    assert!(!session_item(&head(), live(None), PrincipalId::new(2), 0).writable);
    assert!(manifest(&head(), live(Some(run)), ManifestParts::default()).running.is_empty());
    let attachable = LiveRun { attachable: true, ..run };
    let shown = manifest(&head(), live(Some(attachable)), ManifestParts::default());
    assert_eq!(shown.running[&run.run_id.to_string()], 3);
}

#[test]
fn a_chain_tail_has_at_most_512_ids() {
    for (length, shown) in [(0, 0), (511, 511), (512, 512), (513, 512)] {
        let chain_tail: Vec<MessageId> = (0..length).map(MessageId::new).collect();
        let newest = chain_tail.last().map(|id| id.to_string());
        let parts = ManifestParts { chain_tail, ..ManifestParts::default() };
        let manifest = manifest(&head(), live(None), parts);
        assert_eq!(manifest.chain_tail.len(), shown);
        assert_eq!(manifest.chain_tail.last().cloned(), newest);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// SES-4 [property]: whatever is open, a manifest is at most 262,144 bytes and holds no body; a cut prompt says where the rest is.
    #[test]
    fn a_manifest_fits(
        prompts in prop::collection::vec((0..32_768_usize, "[a\u{1}ü]"), 0..120),
        options in 0..40_usize,
        tail in 0..600_u64,
        errors in 0..120_usize,
    ) {
        let mut head = head();
        head.title = "\u{1}".repeat(256);
        let open_questions: Vec<Question> = prompts
            .iter()
            .enumerate()
            .map(|(number, (length, character))| Question {
                options: vec!["o".repeat(64); options],
                ..question(number, character.repeat(length / character.len()))
            })
            .collect();
        let parts = ManifestParts {
            chain_tail: (0..tail).map(MessageId::new).collect(),
            open_error_ids: vec![format!("err_{:032x}", 1); errors],
            open_error_total: errors as u64,
            open_questions: open_questions.clone(),
            ..ManifestParts::default()
        };
        let shown = manifest(&head, live(None), parts);
        prop_assert!(json_bytes(&shown) <= MANIFEST_BYTES_MAX);
        prop_assert!(shown.open_error_ids.len() <= MANIFEST_LIST_MAX);
        for (shown, asked) in shown.open_questions.iter().zip(&open_questions) {
            prop_assert!(asked.prompt.starts_with(&shown.prompt));
            prop_assert_eq!(shown.marker.is_some(), shown.prompt != asked.prompt);
        }
    }
}

/// Rows of a run that was stopped, of any kinds; each item has its own kind, and its words name it.
fn stopped_rows() -> impl Strategy<Value = Vec<JournalRow>> {
    let kinds = prop::sample::select(vec![
        ItemKind::Thinking,
        ItemKind::Interim,
        ItemKind::Tool,
        ItemKind::Compression,
        ItemKind::Notice,
        ItemKind::Text,
    ]);
    prop::collection::vec(kinds, 1..12).prop_map(|kinds| {
        let rows = kinds.into_iter().zip(1_u64..);
        rows.map(|(kind, number)| JournalRow {
            run_id: RunId::new(1),
            session_id: SessionId::new(4),
            seq: Seq::new(number),
            created_at: Instant::from_millis(number),
            event: RowEvent::Content { item_id: ItemId::new(number), item_kind: kind },
            body: match kind {
                ItemKind::Text => format!("text{number} "),
                ItemKind::Thinking | ItemKind::Interim => format!("hidden{number} "),
                ItemKind::Tool | ItemKind::Compression | ItemKind::Notice => {
                    json!({"output": format!("hidden{number}")}).to_string()
                }
            },
        })
        .collect()
    })
}

proptest! {
    /// STOP-11 [property]: what a stopped run leaves is a row that shows every item, also when it holds thinking and
    /// tool records alone; a provider is sent its text only, and nothing of a row without text.
    #[test]
    fn a_partial_row_shows_every_record_and_sends_its_text_only(rows in stopped_rows()) {
        let mut fold = AnswerFold::new();
        for row in &rows {
            fold.push(row).unwrap();
        }
        let ending = Ending {
            run_id: RunId::new(1),
            turn_id: MessageId::new(7),
            outcome: Outcome::Cancelled,
            marker: Some(EndMarker::Cancelled),
            pending: None,
            user_row_stored: true,
            answer: fold.finish(),
            row_ids: [MessageId::new(8), MessageId::new(9)],
            head_id: None,
            usage: StoredUsage::default(),
            at: Instant::from_millis(9),
            revision: Revision::new(6),
        };
        let stored = settle::rows(ending);
        let partial = stored.iter().find(|row| row.role == Role::Assistant).expect("a partial row");
        let shown = row(partial, &head());
        prop_assert_eq!((shown.role, shown.status), (WireRole::Assistant, RowStatus::Cancelled));
        let items = shown.extra["items"].as_array().expect("items");
        prop_assert_eq!(items.len(), rows.len());
        for (item, journaled) in items.iter().zip(&rows) {
            let RowEvent::Content { item_kind, .. } = journaled.event else { unreachable!() };
            let is_shown = match item_kind {
                ItemKind::Text => item["chars"] == journaled.body.chars().count(),
                ItemKind::Thinking | ItemKind::Interim => item["text"] == journaled.body.as_str(),
                ItemKind::Tool | ItemKind::Compression | ItemKind::Notice => {
                    item["value"].to_string().as_str() == journaled.body
                }
            };
            prop_assert!(is_shown, "{item} of {journaled:?}");
        }
        let texts = rows.iter().filter(|row| row.body.starts_with("text"));
        let said: String = texts.map(|row| row.body.as_str()).collect();
        let sent = message(partial.role, partial.body.as_deref());
        prop_assert_eq!(sent, (!said.is_empty()).then_some((Speaker::Assistant, &*said)));
    }
}
