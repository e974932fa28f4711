use proptest::prelude::*;

use super::*;
use crate::ids::SessionId;

const RUN: RunId = RunId::new(7);
const TURN: TurnId = MessageId::new(70);

fn row(seq: u64, item: u64, kind: ItemKind, body: &str) -> JournalRow {
    JournalRow {
        run_id: RUN,
        session_id: SessionId::new(1),
        seq: Seq::new(seq),
        created_at: Instant::from_millis(seq),
        event: RowEvent::Content { item_id: ItemId::new(item), item_kind: kind },
        body: body.to_owned(),
    }
}

fn terminal(seq: u64) -> JournalRow {
    JournalRow {
        event: RowEvent::Terminal { outcome: Outcome::Completed },
        ..row(seq, 0, ItemKind::Text, "{}")
    }
}

fn fold(rows: &[JournalRow]) -> Option<Answer> {
    let mut fold = AnswerFold::new();
    for row in rows {
        fold.push(row).unwrap();
    }
    fold.finish()
}

fn pending() -> PendingTurn {
    PendingTurn {
        turn_id: TURN,
        run_id: RUN,
        text: "why?".to_owned(),
        pending_started_at: Instant::from_millis(1),
        agent: "demo".to_owned(),
        model: None,
    }
}

fn ending<'a>(pending: &'a PendingTurn, answer: Option<Answer>, stored: bool) -> Ending<'a> {
    Ending {
        run_id: RUN,
        turn_id: TURN,
        outcome: Outcome::Cancelled,
        marker: Some(Marker::Cancelled),
        pending: Some(pending),
        user_row_stored: stored,
        answer,
        row_ids: [MessageId::new(71), MessageId::new(72)],
        head_id: Some(MessageId::new(60)),
        usage: Usage::default(),
        at: Instant::from_millis(9),
        revision: Revision::new(3),
    }
}

#[test]
fn items_stand_in_order_of_their_first_row_and_the_body_is_their_text() {
    let answer = fold(&[
        row(1, 5, ItemKind::Thinking, "hm "),
        row(2, 9, ItemKind::Text, "né"),
        row(3, 2, ItemKind::Tool, r#"{"status":"running"}"#),
        row(4, 5, ItemKind::Thinking, "yes"),
        row(5, 1, ItemKind::Text, "b"),
        row(6, 9, ItemKind::Text, "a"),
        row(7, 2, ItemKind::Tool, r#"{"status":"done"}"#),
        terminal(8),
    ])
    .unwrap();
    assert_eq!(answer.body, "néab");
    let order: Vec<u64> = answer.items.iter().map(|item| item.item_id.number()).collect();
    assert_eq!(order, [5, 9, 2, 1]);
    assert_eq!(answer.items[0].text.as_deref(), Some("hm yes"));
    assert_eq!(answer.items[1].chars, Some(3));
    assert_eq!((answer.items[1].first_seq.get(), answer.items[1].last_seq.get()), (2, 6));
    assert_eq!(answer.items[2].value, Some(serde_json::json!({"status": "done"})));
    assert_eq!(answer.items[3].chars, Some(1));
}

#[test]
fn a_run_without_content_leaves_no_answer() {
    assert_eq!(fold(&[]), None);
    assert_eq!(fold(&[terminal(1)]), None);
    assert!(fold(&[row(1, 1, ItemKind::Text, "")]).is_some());
}

#[test]
fn a_row_that_no_run_wrote_is_reported_and_changes_nothing() {
    let mut fold = AnswerFold::new();
    fold.push(&row(1, 1, ItemKind::Text, "a")).unwrap();
    let broken = fold.push(&row(2, 2, ItemKind::Tool, "{"));
    assert_eq!(broken, Err(FoldError::NotJson { seq: Seq::new(2) }));
    let other = fold.push(&row(3, 1, ItemKind::Notice, "1"));
    assert_eq!(other, Err(FoldError::OtherKind { seq: Seq::new(3), item_id: ItemId::new(1) }));
    assert_eq!(fold.finish().unwrap().items.len(), 1);
}

fn any_rows() -> impl Strategy<Value = Vec<JournalRow>> {
    let kinds = [
        ItemKind::Text,
        ItemKind::Thinking,
        ItemKind::Interim,
        ItemKind::Tool,
        ItemKind::Compression,
        ItemKind::Notice,
    ];
    prop::collection::vec((0..12_u64, "[a-zß😀]{0,4}"), 0..40).prop_map(move |parts| {
        let number = |(index, (item, text)): (usize, (u64, String))| {
            let kind = kinds[(item % 6) as usize];
            let body = if kind.is_text() { text } else { serde_json::to_string(&text).unwrap() };
            row(index as u64 + 1, item, kind, &body)
        };
        parts.into_iter().enumerate().map(number).collect()
    })
}

proptest! {
    /// STOP-10 [property]: the one answer row holds exactly what the stored rows held.
    #[test]
    fn an_answer_holds_exactly_the_stored_rows(rows in any_rows()) {
        let Some(answer) = fold(&rows) else {
            prop_assert!(rows.is_empty());
            return Ok(());
        };
        let mut rest: Vec<char> = answer.body.chars().collect();
        for item in &answer.items {
            let of_item: Vec<&JournalRow> = rows
                .iter()
                .filter(|row| matches!(row.event, RowEvent::Content { item_id, .. } if item_id == item.item_id))
                .collect();
            let text: String = of_item.iter().map(|row| row.body.as_str()).collect();
            prop_assert_eq!(item.first_seq, of_item[0].seq);
            prop_assert_eq!(item.last_seq, of_item[of_item.len() - 1].seq);
            match item.item_kind {
                ItemKind::Text => {
                    let own: String = rest.drain(..item.chars.unwrap() as usize).collect();
                    prop_assert_eq!(own, text);
                }
                ItemKind::Thinking | ItemKind::Interim => {
                    prop_assert_eq!(item.text.as_ref(), Some(&text));
                }
                ItemKind::Tool | ItemKind::Compression | ItemKind::Notice => {
                    let newest = serde_json::from_str(&of_item[of_item.len() - 1].body).unwrap();
                    prop_assert_eq!(item.value.as_ref(), Some(&newest));
                }
            }
        }
        prop_assert!(rest.is_empty());
        prop_assert!(answer.items.windows(2).all(|pair| pair[0].first_seq < pair[1].first_seq));
    }

    /// STOP-09 [property], STOP-12 [property], RST-04 [property]: prompt, answer and marker are each added once, in
    /// this order, each after the one before; a prompt stored under its turn id is not added again.
    #[test]
    fn a_settlement_adds_prompt_answer_and_marker_once(journal in any_rows(), stored: bool) {
        let pending = pending();
        let answer = fold(&journal);
        let expected_roles: Vec<Role> = [
            (!stored).then_some(Role::User),
            answer.is_some().then_some(Role::Assistant),
            Some(Role::System),
        ]
        .into_iter()
        .flatten()
        .collect();
        let rows = rows(ending(&pending, answer, stored));
        let roles: Vec<Role> = rows.iter().map(|row| row.role).collect();
        prop_assert_eq!(roles, expected_roles);
        let mut head = Some(MessageId::new(60));
        for row in &rows {
            prop_assert_eq!(row.predecessor, head);
            prop_assert_eq!(row.session_revision, Revision::new(3));
            head = Some(row.message_id);
        }
        if !stored {
            prop_assert_eq!(rows[0].message_id, TURN);
            prop_assert_eq!(rows[0].body.as_deref(), Some("why?"));
            prop_assert_eq!(rows[0].created_at, pending.pending_started_at);
        }
    }
}
