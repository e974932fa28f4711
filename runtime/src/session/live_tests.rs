use std::collections::BTreeMap;
use std::task::Waker;

use proptest::prelude::*;
use runwarden_protocol::delivery::sender::Input;
use runwarden_protocol::ids::{QuestionId, Seq, SteerId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::SteerFate;
use runwarden_protocol::session::scene::Scene;

use super::*;
use crate::outbound::Outbound;

const SESSION: SessionId = SessionId::new(1);
const RUN: RunId = RunId::new(2);
const NOW: Instant = Instant::ZERO;

fn any_row() -> impl Strategy<Value = (RowEvent, String)> {
    let question_id = QuestionId::new(5);
    let steer_id = SteerId::new(6);
    let text = (1..3_u64, "[a-cé\"]{0,3}").prop_map(|(item, text)| {
        let (item_id, item_kind) = (ItemId::new(item), ItemKind::Text);
        (RowEvent::Content { item_id, item_kind }, text)
    });
    let tool = (3..5_u64, 0..9_u32).prop_map(|(item, value)| {
        let (item_id, item_kind) = (ItemId::new(item), ItemKind::Tool);
        (RowEvent::Content { item_id, item_kind }, format!("{{\"value\":{value}}}"))
    });
    let silent = prop_oneof![
        Just(RowEvent::QuestionAsked { question_id }),
        Just(RowEvent::QuestionResolved { question_id }),
        Just(RowEvent::SteerAccepted { steer_id }),
        Just(RowEvent::SteerSettled { steer_id, fate: SteerFate::Consumed }),
    ];
    prop_oneof![4 => text, 2 => tool, 2 => silent.prop_map(|event| (event, "null".to_owned()))]
}

/// The number a frame carries, by the name of its type.
fn number(frame: &NumberedFrame) -> (&'static str, Option<i64>) {
    match frame {
        NumberedFrame::StreamText(frame) => ("stream_text", frame.stream_seq),
        NumberedFrame::StreamUpdate(frame) => ("stream_update", frame.stream_seq),
        NumberedFrame::StreamNote(frame) => ("stream_note", Some(frame.stream_seq)),
        NumberedFrame::SteerSettled(frame) => ("steer_settled", frame.stream_seq),
        other => panic!("no frame of a row: {other:?}"),
    }
}

/// What a client has read of each item, and of the notes under item 0: the last number, and text or names.
type Read = BTreeMap<String, (i64, String)>;

/// Takes what the connection sends now. Each frame goes on where the one before it of its item ended.
fn receive(outbound: &Outbound, read: &mut Read) {
    let Some(batch) = outbound.work(Waker::noop()).batch else { return };
    for text in batch {
        let (key, base, seq, words) = match serde_json::from_str(text.as_str()).unwrap() {
            Frame::StreamText(frame) => {
                (frame.item_id, frame.base_seq, frame.stream_seq, frame.text)
            }
            Frame::StreamNote(frame) => {
                let names = frame.names.concat();
                ("notes".to_owned(), Some(frame.base_seq), Some(frame.stream_seq), names)
            }
            Frame::StreamUpdate(_) | Frame::SteerSettled(_) => continue,
            other => panic!("no frame of a row: {other:?}"),
        };
        let entry = read.entry(key).or_default();
        assert_eq!(base, Some(entry.0), "it begins where the last one ended");
        entry.0 = seq.expect("a row has a number");
        entry.1.push_str(&words);
    }
    outbound.feed(NOW, Input::Sent);
}

proptest! {
    /// JRN-19 [property]: each row is published in one frame that carries its number, one that shows nothing as a note; and
    /// whenever a connection has time to send, merged frames begin behind the row before their first and end with
    /// their last, so that what arrives is every row of an item once.
    #[test]
    fn each_row_has_one_frame(
        rows in prop::collection::vec((any_row(), prop::bool::weighted(0.2)), 1..60),
    ) {
        let (mut scene, outbound) = (Scene::new(), Outbound::new(NOW));
        let (mut read, mut expected) = (Read::new(), Read::new());
        for (seq, ((event, body), has_time)) in (1..).zip(&rows) {
            let base = scene.apply(Seq::new(seq), *event, body).base_seq.get();
            let place = Place { session: SESSION, run_id: RUN, base: Some(base), seq: Some(seq) };
            let (shared, numbered) = frame(PayloadId::new(seq), place, *event, body).unwrap();
            let (kind, words, key) = match event {
                RowEvent::Content { item_id, item_kind: ItemKind::Text } => {
                    ("stream_text", body.as_str(), item_id.to_string())
                }
                RowEvent::Content { .. } => ("stream_update", "", String::new()),
                RowEvent::SteerSettled { .. } => ("steer_settled", "", String::new()),
                RowEvent::QuestionAsked { .. }
                | RowEvent::QuestionResolved { .. }
                | RowEvent::SteerAccepted { .. } => ("stream_note", event.name(), "notes".to_owned()),
                RowEvent::Terminal { .. } => unreachable!("none is made"),
            };
            prop_assert_eq!(number(&numbered), (kind, Some(seq as i64)));
            if !key.is_empty() {
                let entry = expected.entry(key).or_default();
                entry.0 = seq as i64;
                entry.1.push_str(words);
            }
            outbound.offer(NOW, &shared);
            if *has_time {
                receive(&outbound, &mut read);
            }
        }
        for _ in 0..rows.len() {
            receive(&outbound, &mut read);
        }
        prop_assert!(outbound.is_idle());
        prop_assert_eq!(read, expected);
    }
}
