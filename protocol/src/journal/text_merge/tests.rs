use proptest::prelude::*;

use super::*;
use crate::ids::{ItemId, RunId, SessionId};
use crate::instant::{Duration, Instant};
use crate::journal::row::ItemKind;
use crate::json_bytes::json_text_bytes;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope, TimerKind};
use crate::matrix::assert_matrix;
use crate::wire::frames::{Frame, StreamText, TextKind};
use crate::wire::limits::{DELTA_BYTES_MAX, INTEGER_MAX};

const NOW: Instant = Instant::from_millis(1_000);

fn step_at(merge: &mut TextMerge, now: Instant, input: Input) -> Result<Vec<Output>, Reject> {
    let mut out = Outbox::new();
    merge.step(now, input, &mut out)?;
    Ok(out.drain().collect())
}

fn ticked(merge: &mut TextMerge, now: Instant) -> Vec<Output> {
    let mut out = Outbox::new();
    merge.tick(now, &mut out);
    out.drain().collect()
}

fn text(item: u64, text: &str) -> Input {
    let (item_id, item_kind) = (ItemId::new(item), ItemKind::Text);
    Input::Text { item_id, item_kind, text: text.to_owned() }
}

fn rows(item: u64, texts: &[&str]) -> Output {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    Output::Rows { item_id: ItemId::new(item), item_kind: ItemKind::Text, texts }
}

fn after(start: Instant, ms: u64) -> Instant {
    start.plus(Duration::from_millis(ms))
}

/// Pieces around the bound. Nothing starts after the second due tick, which keeps the scope finite.
struct Small;

impl Scope<TextMerge> for Small {
    fn inputs(&self, merge: &TextMerge) -> Vec<Input> {
        let piece = |item_kind, text: &str| Input::Text {
            item_id: ItemId::new(1),
            item_kind,
            text: text.to_owned(),
        };
        let is_late = |(due, _)| due > after(Instant::ZERO, 30);
        if merge.deadline().is_some_and(is_late) {
            return vec![Input::Flush];
        }
        let refused = [piece(ItemKind::Thinking, "t"), piece(ItemKind::Tool, "t")];
        let nearly_full = "x".repeat(ROW_JSON_BYTES_MAX - 1);
        let mut inputs = vec![Input::Flush, text(1, "")];
        inputs.extend(refused);
        if merge.weight() < 2 {
            inputs.push(text(2, &nearly_full));
        }
        if merge.weight() < 2 || merge.weight() == nearly_full.len() {
            inputs.extend([text(1, "a"), text(2, "é"), text(2, "\u{1}")]);
        }
        inputs
    }
}

#[test]
fn the_laws_hold_in_every_state_of_a_small_scope() {
    let report = laws(TextMerge::new(), &Small, ROW_JSON_BYTES_MAX).unwrap();
    assert_eq!(report.state_names.keys().copied().collect::<Vec<_>>(), ["collecting", "empty"]);
    assert_matrix!("journal_text_merge", &report.matrix);
}

/// SES-47 [unit]: text of one item produced within 30 ms becomes one row, text at 30 ms the next one.
#[test]
fn text_within_thirty_milliseconds_is_one_row() {
    let mut merge = TextMerge::new();
    assert_eq!(step_at(&mut merge, NOW, text(1, "a")), Ok(vec![]));
    assert_eq!(step_at(&mut merge, after(NOW, 29), text(1, "b")), Ok(vec![]));
    let due = after(NOW, 30);
    assert_eq!(merge.deadline(), Some((due, TimerKind::TextMerge)));
    assert_eq!(ticked(&mut merge, Instant::from_micros(due.as_micros() - 1)), []);
    let mut late = merge.clone();
    assert_eq!(ticked(&mut merge, due), [rows(1, &["ab"])]);
    assert_eq!(merge, TextMerge::Empty);
    assert_eq!(step_at(&mut late, due, text(1, "c")), Ok(vec![rows(1, &["ab"])]));
    assert_eq!(late.deadline(), Some((after(due, 30), TimerKind::TextMerge)));
}

#[test]
fn another_item_or_event_is_preceded_by_the_text_before_it() {
    let mut merge = TextMerge::new();
    step_at(&mut merge, NOW, text(1, "a")).unwrap();
    assert_eq!(step_at(&mut merge, NOW, text(2, "b")), Ok(vec![rows(1, &["a"])]));
    assert_eq!(step_at(&mut merge, NOW, Input::Flush), Ok(vec![rows(2, &["b"])]));
    assert_eq!(step_at(&mut merge, NOW, Input::Flush), Ok(vec![]));
}

#[test]
fn a_row_is_cut_at_its_bound() {
    for (bytes, full, left) in [
        (ROW_JSON_BYTES_MAX - 1, 0, ROW_JSON_BYTES_MAX - 1),
        (ROW_JSON_BYTES_MAX, 1, 0),
        (ROW_JSON_BYTES_MAX + 1, 1, 1),
    ] {
        let mut merge = TextMerge::new();
        let out = step_at(&mut merge, NOW, text(1, &"x".repeat(bytes))).unwrap();
        assert_eq!((out.len(), merge.weight()), (full, left));
    }
}

#[test]
fn a_character_is_never_cut_and_counts_as_it_is_escaped() {
    for (character, width) in [("é", 2), ("\n", 2), ("\"", 2), ("\u{1}", 6), ("🦀", 4)] {
        let mut merge = TextMerge::new();
        let head = "x".repeat(ROW_JSON_BYTES_MAX - width + 1);
        step_at(&mut merge, NOW, text(1, &head)).unwrap();
        let out = step_at(&mut merge, NOW, text(1, character)).unwrap();
        assert_eq!(out, [rows(1, &[&head])]);
        assert_eq!(step_at(&mut merge, NOW, Input::Flush), Ok(vec![rows(1, &[character])]));
    }
}

#[test]
fn a_piece_has_at_most_its_bound() {
    for (bytes, taken) in
        [(PIECE_BYTES_MAX - 1, true), (PIECE_BYTES_MAX, true), (PIECE_BYTES_MAX + 1, false)]
    {
        let result = step_at(&mut TextMerge::new(), NOW, text(1, &"x".repeat(bytes)));
        assert_eq!(result.is_ok(), taken);
        assert!(taken || result == Err(Reject::Local("piece_too_long")));
    }
}

#[test]
fn what_is_no_text_of_the_item_is_turned_away() {
    let mut merge = TextMerge::new();
    step_at(&mut merge, NOW, text(1, "a")).unwrap();
    let piece =
        |item_kind| Input::Text { item_id: ItemId::new(1), item_kind, text: "b".to_owned() };
    let tool = step_at(&mut merge, NOW, piece(ItemKind::Tool));
    assert_eq!(tool, Err(Reject::Local("not_a_text_item")));
    let thinking = step_at(&mut merge, NOW, piece(ItemKind::Thinking));
    assert_eq!(thinking, Err(Reject::Local("item_kind_changed")));
}

/// JRN-20 [unit]: the live frame of the largest row, with the longest ids and numbers, stays within
/// 3,584 bytes.
#[test]
fn the_frame_of_the_largest_row_keeps_the_entry_limit() {
    let mut merge = TextMerge::new();
    let out = step_at(&mut merge, NOW, text(u64::MAX, &"\u{1}".repeat(1_000))).unwrap();
    let [Output::Rows { item_id, texts, .. }] = &out[..] else { panic!("{out:?}") };
    let frame = Frame::StreamText(StreamText {
        session_id: SessionId::new(u64::MAX).to_string(),
        entity_id: RunId::new(u64::MAX).to_string(),
        item_id: item_id.to_string(),
        item_kind: TextKind::Thinking,
        base_seq: Some(INTEGER_MAX),
        stream_seq: Some(INTEGER_MAX),
        replay_degraded: false,
        text: texts[0].clone(),
    });
    let bytes = frame.to_text().len();
    assert!(bytes <= DELTA_BYTES_MAX, "{bytes}");
    let envelope = bytes - json_text_bytes(&texts[0]);
    assert!(envelope <= ENVELOPE_BYTES, "{envelope}");
}

#[derive(Clone, Debug)]
enum Act {
    Text(u64, String),
    Flush,
    Wait(u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let piece = prop_oneof![
        4 => "[a-z\"\n\u{1}é🦀]{0,12}",
        1 => (1..2_000_usize).prop_map(|count| "é\"\u{1}🦀 ".repeat(count)),
    ];
    let act = prop_oneof![
        6 => (1..3_u64, piece).prop_map(|(item, text)| Act::Text(item, text)),
        1 => Just(Act::Flush),
        2 => (1..20_u64).prop_map(Act::Wait),
    ];
    prop::collection::vec(act, 0..40)
}

/// Whole texts in the order their items spoke.
fn push(spoken: &mut Vec<(u64, String)>, item: u64, text: &str) {
    match spoken.last_mut() {
        Some((last, said)) if *last == item => said.push_str(text),
        Some(_) | None if text.is_empty() => {}
        Some(_) | None => spoken.push((item, text.to_owned())),
    }
}

proptest! {
    #[test]
    fn rows_are_the_text_in_order_small_and_never_late(acts in acts()) {
        let (mut merge, mut now) = (TextMerge::new(), NOW);
        let (mut said, mut made) = (Vec::new(), Vec::new());
        let mut take = |outputs: Vec<Output>| {
            for Output::Rows { item_id, texts, .. } in outputs {
                for text in texts {
                    assert!(!text.is_empty() && json_text_bytes(&text) <= ROW_JSON_BYTES_MAX);
                    push(&mut made, item_id.number(), &text);
                }
            }
        };
        for act in acts {
            match act {
                Act::Text(item, piece) => {
                    push(&mut said, item, &piece);
                    take(step_at(&mut merge, now, text(item, &piece)).unwrap());
                }
                Act::Flush => take(step_at(&mut merge, now, Input::Flush).unwrap()),
                Act::Wait(ms) => {
                    now = after(now, ms);
                    take(ticked(&mut merge, now));
                }
            }
            prop_assert!(merge.deadline().is_none_or(|(due, _)| due > now));
            prop_assert!(merge.weight() <= ROW_JSON_BYTES_MAX);
        }
        take(step_at(&mut merge, now, Input::Flush).unwrap());
        prop_assert_eq!(made, said);
    }
}
