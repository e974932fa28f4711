use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::ids::{ItemId, QuestionId, RunId, Seq, SessionId};
use crate::journal::row::{ItemKind, Outcome, RowEvent};
use crate::wire::limits::{INTEGER_MAX, STREAM_STATE_BYTES_MAX};

fn content(item: u64, item_kind: ItemKind) -> RowEvent {
    RowEvent::Content { item_id: ItemId::new(item), item_kind }
}

fn note(question: u64) -> RowEvent {
    RowEvent::QuestionAsked { question_id: QuestionId::new(question) }
}

fn say(scene: &mut Scene, item: u64, text: &str) -> Applied {
    scene.apply(scene.last_seq().plus(1), content(item, ItemKind::Text), text)
}

fn new_after(seq: u64) -> Applied {
    Applied { base_seq: Seq::new(seq), is_new: true }
}

fn text(text: &str) -> Content {
    Content::Text(text.to_owned())
}

/// What a client sees: items with their content, however it was cut into rows.
fn shown(scene: &Scene) -> Vec<(u64, ItemKind, Content)> {
    scene
        .items()
        .map(|item| (item.item_id.number(), item.item_kind, item.content.clone()))
        .collect()
}

#[test]
fn the_base_of_a_row_is_the_previous_row_of_its_key() {
    let mut scene = Scene::new();
    let rows = [
        (content(1, ItemKind::Text), 0),
        (note(1), 0),
        (content(2, ItemKind::Thinking), 0),
        (content(1, ItemKind::Text), 1),
        (RowEvent::QuestionResolved { question_id: QuestionId::new(1) }, 2),
        (content(2, ItemKind::Thinking), 3),
        (RowEvent::Terminal { outcome: Outcome::Completed }, 0),
    ];
    for (seq, (event, base)) in (1..).zip(rows) {
        assert_eq!(scene.apply(Seq::new(seq), event, "x"), new_after(base), "row {seq}");
    }
    let seqs: Vec<_> = scene.items().map(|item| (item.first_seq, item.last_seq)).collect();
    assert_eq!(seqs, [(Seq::new(1), Seq::new(4)), (Seq::new(3), Seq::new(6))]);
    assert_eq!(scene.last_seq(), Seq::new(7));
}

#[test]
fn text_is_appended_and_a_value_replaces_the_one_before() {
    let mut scene = Scene::new();
    say(&mut scene, 1, "one ");
    scene.apply(Seq::new(2), content(2, ItemKind::Tool), r#"{"a":1}"#);
    say(&mut scene, 1, "two");
    scene.apply(Seq::new(4), content(2, ItemKind::Tool), r#"{"a":2}"#);
    let value = Content::Value(r#"{"a":2}"#.to_owned());
    let items = [(1, ItemKind::Text, text("one two")), (2, ItemKind::Tool, value)];
    assert_eq!(shown(&scene), items);
}

// JRN-06, SES-42
#[test]
fn an_event_without_a_row_is_shown_and_moves_no_number() {
    let mut scene = Scene::new();
    say(&mut scene, 1, "a");
    scene.apply_degraded(content(1, ItemKind::Text), "b");
    scene.apply_degraded(content(2, ItemKind::Text), "c");
    scene.apply_degraded(note(1), "{}");
    assert!(scene.is_degraded());
    assert_eq!(scene.last_seq(), Seq::new(1));
    assert_eq!(say(&mut scene, 1, "d"), new_after(1));
    assert_eq!(say(&mut scene, 2, "e"), new_after(0));
    assert_eq!(scene.apply(Seq::new(4), note(2), "{}"), new_after(0));
    let items = [(1, ItemKind::Text, text("abd")), (2, ItemKind::Text, text("ce"))];
    assert_eq!(shown(&scene), items);
    assert!(scene.items().all(|item| item.degraded && item.first_seq == Seq::new(1)));
}

#[test]
fn contents_are_left_out_oldest_first_exactly_beyond_the_bound() {
    let room = SCENE_BYTES_MAX - 3 * ITEM_HEAD_BYTES;
    for (bytes, fits) in [(room - 1, true), (room, true), (room + 1, false)] {
        let mut scene = Scene::new();
        say(&mut scene, 1, "old");
        say(&mut scene, 2, "new");
        say(&mut scene, 3, &"x".repeat(bytes - 6));
        let old = if fits { text("old") } else { Content::LeftOut { total_bytes: 3 } };
        let contents: Vec<_> = shown(&scene).into_iter().map(|item| item.2).collect();
        assert_eq!(contents, [old, text("new"), text(&"x".repeat(bytes - 6))]);
        assert!(scene.json_bytes() <= SCENE_BYTES_MAX);
    }
}

#[test]
fn text_behind_left_out_text_only_counts_and_a_new_value_is_shown_again() {
    let mut scene = Scene::new();
    say(&mut scene, 1, "é");
    scene.apply(Seq::new(2), content(2, ItemKind::Tool), "{}");
    say(&mut scene, 3, &"x".repeat(SCENE_BYTES_MAX));
    assert!(scene.items().all(|item| matches!(item.content, Content::LeftOut { .. })));
    assert_eq!(say(&mut scene, 1, "abc"), new_after(1));
    scene.apply(Seq::new(5), content(2, ItemKind::Tool), r#"{"b":2}"#);
    let contents = [
        Content::LeftOut { total_bytes: 5 },
        Content::Value(r#"{"b":2}"#.to_owned()),
        Content::LeftOut { total_bytes: SCENE_BYTES_MAX as u64 },
    ];
    assert_eq!(shown(&scene).into_iter().map(|item| item.2).collect::<Vec<_>>(), contents);
}

#[test]
fn items_beyond_the_bound_are_dropped_oldest_first_and_counted() {
    let mut scene = Scene::new();
    for item in 0..ITEMS_MAX as u64 - 1 {
        say(&mut scene, item, "x");
    }
    for (item, first, dropped) in [(1_000, 0, 0), (1_001, 1, 1), (1_002, 2, 2)] {
        say(&mut scene, item, "x");
        assert_eq!(scene.items().next().unwrap().item_id, ItemId::new(first));
        assert_eq!(scene.items_dropped(), dropped);
        assert!(scene.items().count() <= ITEMS_MAX);
    }
    let held: usize = scene.items().map(|item| ITEM_HEAD_BYTES + item.json_bytes).sum();
    assert_eq!(scene.json_bytes(), held);
}

/// The fullest scenes as the frame they are sent in.
#[test]
fn the_items_of_a_full_scene_fit_their_frame() {
    for (items, body) in [
        (ITEMS_MAX as u64, "\u{1}".repeat(400)),
        (3, "\"\n".repeat(40_000)),
        (1, "é".repeat(99_999)),
    ] {
        let mut scene = Scene::new();
        for item in 0..items {
            let seq = Seq::new(INTEGER_MAX as u64 - items + item);
            scene.apply(seq, content(u64::MAX - item, ItemKind::Thinking), &body);
        }
        let frame = stream_state(&scene);
        assert!(frame.len() <= STREAM_STATE_BYTES_MAX, "{} bytes", frame.len());
        assert!(frame.len() * 2 > STREAM_STATE_BYTES_MAX, "{} bytes", frame.len());
    }
}

fn stream_state(scene: &Scene) -> String {
    let items: Vec<_> = scene
        .items()
        .map(|item| {
            let (text, marker) = match &item.content {
                Content::Text(text) => (Some(text), None),
                Content::Value(value) => panic!("no value is said here: {value}"),
                Content::LeftOut { .. } => {
                    let marker = json!({
                        "node_id": item.item_id, "field": "item",
                        "total_bytes": INTEGER_MAX, "content_revision": INTEGER_MAX,
                    });
                    (None, Some(marker))
                }
            };
            json!({
                "item_id": item.item_id, "item_kind": item.item_kind,
                "first_seq": item.first_seq, "last_seq": item.last_seq,
                "text": text, "value": null, "marker": marker,
            })
        })
        .collect();
    let data = json!({
        "request_id": "r".repeat(128), "generation": INTEGER_MAX,
        "session_id": SessionId::new(u64::MAX), "entity_id": RunId::new(u64::MAX),
        "status": "running", "phase": "cancelling", "stream_seq": INTEGER_MAX,
        "replay": {"state": "quarantined", "reason": "r".repeat(256)},
        "session_revision": INTEGER_MAX, "from_seq": null, "items": items, "deltas": null,
        "steers": [],
    });
    json!({"type": "stream_state", "data": data}).to_string()
}

#[test]
fn a_scene_survives_its_json_form() {
    let mut scene = Scene::new();
    say(&mut scene, 1, "a");
    scene.apply(Seq::new(2), content(2, ItemKind::Tool), "{}");
    scene.apply_degraded(content(3, ItemKind::Notice), "{}");
    let back: Scene = serde_json::from_str(&serde_json::to_string(&scene).unwrap()).unwrap();
    assert_eq!(back, scene);
}

#[derive(Clone, Debug)]
struct Said {
    event: RowEvent,
    body: String,
    chunk: usize,
}

fn said() -> impl Strategy<Value = Vec<Said>> {
    let words = prop_oneof![
        4 => "[a-zé\"🦀]{0,20}",
        2 => (1..9_usize).prop_map(|count| "é\"🦀\n".repeat(count * 900)),
    ];
    let spoken = (1..6_u64, words, 1..5_000_usize).prop_map(|(item, body, chunk)| Said {
        event: content(item, ItemKind::Text),
        body,
        chunk,
    });
    let value = (6..9_u64, 0..30_000_usize).prop_map(|(item, bytes)| Said {
        event: content(item, ItemKind::Tool),
        body: json!({"v": "x".repeat(bytes)}).to_string(),
        chunk: usize::MAX,
    });
    let note = Just(Said { event: note(1), body: "{}".to_owned(), chunk: usize::MAX });
    prop::collection::vec(prop_oneof![5 => spoken, 2 => value, 1 => note], 0..30)
}

fn chunks(said: &Said) -> Vec<String> {
    let mut chunks = vec![String::new()];
    for character in said.body.chars() {
        if chunks.last().is_some_and(|chunk| chunk.len() >= said.chunk) {
            chunks.push(String::new());
        }
        if let Some(chunk) = chunks.last_mut() {
            chunk.push(character);
        }
    }
    chunks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // INV-5
    #[test]
    fn rows_cut_anywhere_and_applied_again_build_the_same_scene(
        said in said(),
        replay_from in 0..200_usize,
    ) {
        let (mut whole, mut cut) = (Scene::new(), Scene::new());
        let mut rows = Vec::new();
        for said in &said {
            whole.apply(whole.last_seq().plus(1), said.event, &said.body);
            rows.extend(chunks(said).into_iter().map(|chunk| (said.event, chunk)));
        }
        let rows: Vec<_> = (1..).map(Seq::new).zip(rows).collect();
        for (seq, (event, body)) in &rows {
            cut.apply(*seq, *event, body);
            prop_assert!(cut.json_bytes() <= SCENE_BYTES_MAX);
        }
        prop_assert_eq!(shown(&cut), shown(&whole));
        let before = cut.clone();
        for (seq, (event, body)) in rows.iter().skip(replay_from) {
            prop_assert!(!cut.apply(*seq, *event, body).is_new);
        }
        prop_assert_eq!(cut, before);
    }
}
