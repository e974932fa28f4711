//! Bounds, fates and timers of the sender queue, one by one, and the laws over a small scope.

use serde_json::json;

use super::{Fate, Input, Offer, Outcome, Output, Owed, Rules, SenderQueue, WaiterId};
use crate::delivery::frame::{EntityId, FrameKey, Parts, QueuedFrame, TerminalRole};
use crate::delivery::limits::{ABSORBED_MAX, FOREIGN_FRAMES_MAX, MARKS_MAX, WAITERS_MAX};
use crate::ids::{ItemId, PayloadId, PayloadRef, RunId, SessionId};
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope, TimerKind};
use crate::matrix::assert_matrix;
use crate::wire::Class;
use crate::wire::close::Close;
use crate::wire::frames::SyncReason;

const SESSION: SessionId = SessionId::new(1);
const RUN: EntityId = EntityId::Run(RunId::new(1));
const PUSH: FrameKey = FrameKey::Terminal { session: Some(SESSION), role: TerminalRole::Push };
const END: FrameKey =
    FrameKey::Terminal { session: Some(SESSION), role: TerminalRole::End { entity: RUN } };
const QUESTIONS: FrameKey = FrameKey::QuestionsList { session: SESSION };

fn queue() -> SenderQueue {
    SenderQueue::new(Instant::ZERO)
}

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn frame(key: FrameKey, bytes: u32) -> QueuedFrame {
    QueuedFrame::new(key, bytes, Parts::None)
}

fn text(item: u64) -> FrameKey {
    FrameKey::StreamText { session: SESSION, entity: RUN, item: ItemId::new(item) }
}

fn row(item: u64, seq: u64, bytes: u32) -> QueuedFrame {
    let body = PayloadRef { id: PayloadId::new(seq), json_bytes: bytes };
    QueuedFrame::new(text(item), 100, body).with_range(Some(seq - 1), Some(seq))
}

fn step(queue: &mut SenderQueue, input: Input) -> Vec<Output> {
    let mut out = Outbox::new();
    queue.step(at(0), input, &mut out).expect("listed input");
    out.drain().collect()
}

fn offer_all(queue: &mut SenderQueue, frame: QueuedFrame, waiter: Option<u64>) -> Vec<Output> {
    step(queue, Input::Offer(Offer { frame, waiter: waiter.map(WaiterId) }))
}

fn offer(queue: &mut SenderQueue, frame: QueuedFrame) -> Outcome {
    match offer_all(queue, frame, None).first() {
        Some(Output::Reported { outcome }) => *outcome,
        other => panic!("no report first: {other:?}"),
    }
}

fn fates(outputs: &[Output]) -> Vec<(Vec<u64>, Fate)> {
    outputs
        .iter()
        .filter_map(|output| match output {
            Output::Resolved { waiters, fate } => {
                Some((waiters.iter().map(|waiter| waiter.0).collect(), *fate))
            }
            _ => None,
        })
        .collect()
}

fn owed(outputs: &[Output]) -> Vec<Owed> {
    outputs
        .iter()
        .filter_map(|output| match output {
            Output::Owe { owed } => Some(owed.clone()),
            _ => None,
        })
        .flatten()
        .collect()
}

/// Each class at its frame cap −1, at it and above it (SND-3).
#[test]
fn each_class_stops_at_its_frame_cap() {
    let classes = [(text(9), 184), (QUESTIONS, 184), (FrameKey::Pong, 192), (PUSH, 256)];
    for (key, cap) in classes {
        for (held, fits) in [(cap - 2, true), (cap - 1, true), (cap, false)] {
            let mut queue = queue();
            for _ in 0..held {
                offer(&mut queue, frame(PUSH, 10));
            }
            let admitted = offer(&mut queue, frame(key, 10)) == Outcome::Admitted;
            assert_eq!(admitted, fits, "{key:?} beside {held} frames");
        }
    }
}

/// Each class at its byte cap −1, at it and above it (SND-3).
#[test]
fn each_class_stops_at_its_byte_cap() {
    let classes = [(QUESTIONS, 3_080_192u32), (FrameKey::Pong, 3_145_728), (PUSH, 4_194_304)];
    for (key, cap) in classes {
        for (over, fits) in [(-1i64, true), (0, true), (1, false)] {
            let mut queue = queue();
            offer(&mut queue, frame(PUSH, 1_000_000));
            let bytes = u32::try_from(i64::from(cap) - 1_000_000 + over).unwrap();
            let admitted = offer(&mut queue, frame(key, bytes)) == Outcome::Admitted;
            assert_eq!(admitted, fits, "{key:?} {over}");
        }
    }
}

/// SND-4 [unit]: the size of plain and merged frames equals the length of the encoded JSON.
#[test]
fn sizes_equal_the_encoded_json() {
    let texts = ["a", "", "é \"quoted\" \n", "tail"];
    for (begin, seqs) in [(0u64, [1u64, 9, 10, 1_000]), (99, [100, 101, 999_999, 9_999_999])] {
        let encode = |from: u64, to: u64, text: &str| {
            json!({"type": "stream_text", "data": {"base_seq": from, "stream_seq": to, "text": text}})
                .to_string()
        };
        let head = encode(0, 0, "").len() as u32 - 2;
        let mut whole: Option<QueuedFrame> = None;
        let (mut from, mut all) = (begin, String::new());
        for (text, to) in texts.iter().zip(seqs) {
            let json_bytes = serde_json::to_string(text).unwrap().len() as u32 - 2;
            let body = PayloadRef { id: PayloadId::new(to), json_bytes };
            let one = QueuedFrame::new(super::tests::text(1), head, body)
                .with_range(Some(from), Some(to));
            assert_eq!(one.bytes(), encode(from, to, text).len());
            all.push_str(text);
            whole = Some(match whole {
                None => one,
                Some(mut whole) => {
                    let predicted = whole.merged_bytes(whole.bytes(), &one);
                    whole.merge(one);
                    assert_eq!(whole.bytes(), predicted);
                    whole
                }
            });
            assert_eq!(whole.as_ref().unwrap().bytes(), encode(begin, to, &all).len());
            from = to;
        }
    }
}

/// SND-4 [unit]: lists of names and ops count their commas, and a missing number counts as `null`.
#[test]
fn list_sizes_equal_the_encoded_json() {
    let key = FrameKey::SessionDelta { session: SESSION };
    let encode = |to: Option<u64>, ops: &[&str]| {
        json!({"from_revision": null, "to_revision": to, "ops": ops}).to_string()
    };
    let head = encode(Some(1), &[]).len() as u32 - 5;
    let part = |n: u64| PayloadRef { id: PayloadId::new(n), json_bytes: 4 };
    let mut whole = QueuedFrame::new(key, head, part(1)).with_range(None, None);
    assert_eq!(whole.bytes(), encode(None, &["aa"]).len());
    let later = QueuedFrame::new(key, head, vec![part(2), part(3)]).with_range(None, Some(41));
    assert_eq!(whole.merged_bytes(whole.bytes(), &later), whole.bytes() - 4 + 2 + 10);
    whole.merge(later);
    assert_eq!(whole.bytes(), encode(Some(41), &["aa", "aa", "aa"]).len());
}

/// SND-6 [unit]: replies and foreign frames are terminal, and the 17th foreign frame is refused.
#[test]
fn foreign_frames_are_terminal_and_few() {
    let foreign = FrameKey::Terminal { session: None, role: TerminalRole::Foreign };
    let reply = FrameKey::Terminal { session: None, role: TerminalRole::Reply };
    assert_eq!((foreign.class(), reply.class()), (Class::Terminal, Class::Terminal));
    let mut queue = queue();
    offer(&mut queue, frame(PUSH, 10));
    for n in 0..FOREIGN_FRAMES_MAX {
        assert_eq!(offer(&mut queue, frame(foreign, 10)), Outcome::Admitted, "{n}");
    }
    let refused = offer_all(&mut queue, frame(foreign, 10), Some(5));
    assert_eq!(refused[0], Output::Reported { outcome: Outcome::Refused });
    assert_eq!(fates(&refused), [(vec![5], Fate::Superseded)]);
    step(&mut queue, Input::Sent);
    assert_eq!(offer(&mut queue, frame(foreign, 10)), Outcome::Admitted);
}

/// A merged frame of 65,535 and 65,536 bytes is made, one of 65,537 becomes a new frame (SND-7).
#[test]
fn merging_stops_at_its_bound() {
    for (over, outcome) in
        [(-1i64, Outcome::Coalesced), (0, Outcome::Coalesced), (1, Outcome::Admitted)]
    {
        let mut queue = queue();
        offer(&mut queue, frame(PUSH, 10));
        offer(&mut queue, row(1, 1, 30_000));
        let bytes = u32::try_from(65_536 - 30_000 - 102 + over).unwrap();
        assert_eq!(offer(&mut queue, row(1, 2, bytes)), outcome, "{over}");
    }
}

/// A hole, another key and a frame of the session in between prevent merging (SND-7).
#[test]
fn only_the_newest_contiguous_frame_merges() {
    let mut queue = queue();
    offer(&mut queue, frame(PUSH, 10));
    assert_eq!(offer(&mut queue, row(1, 1, 5)), Outcome::Admitted);
    assert_eq!(offer(&mut queue, row(1, 2, 5)), Outcome::Coalesced);
    assert_eq!(offer(&mut queue, row(1, 4, 5)), Outcome::Admitted);
    assert_eq!(offer(&mut queue, row(2, 5, 5)), Outcome::Admitted);
    assert_eq!(offer(&mut queue, row(1, 5, 5)), Outcome::Admitted);
    offer(&mut queue, frame(PUSH, 10));
    assert_eq!(offer(&mut queue, row(1, 6, 5)), Outcome::Admitted);
    offer(&mut queue, frame(FrameKey::Pong, 10));
    assert_eq!(offer(&mut queue, row(1, 7, 5)), Outcome::Coalesced);
}

/// At most 64 names share a note and at most 1,024 parts a text, beyond which a frame begins (SND-7).
#[test]
fn merged_parts_are_bounded() {
    let note = FrameKey::StreamNote { session: SESSION, entity: RUN };
    for (key, parts_max) in [(note, 64), (text(1), 1_024)] {
        let mut queue = queue();
        offer(&mut queue, frame(PUSH, 10));
        for n in 0..=parts_max {
            let body = PayloadRef { id: PayloadId::new(n), json_bytes: 3 };
            let one = QueuedFrame::new(key, 100, body).with_range(Some(n), Some(n + 1));
            let fresh = n == 0 || n == parts_max;
            let expected = if fresh { Outcome::Admitted } else { Outcome::Coalesced };
            assert_eq!(offer(&mut queue, one), expected, "{n}");
        }
    }
}

/// A refused row marks its entity; its rows stay refused until it is restored (SND-8, SND-9).
#[test]
fn a_gap_lasts_until_the_entity_is_restored() {
    let mut queue = full();
    assert_eq!(offer(&mut queue, row(1, 1, 5)), Outcome::Refused);
    assert!(queue.is_gap(SESSION, Some(RUN)));
    while !queue.is_idle() {
        step(&mut queue, Input::Sent);
    }
    assert_eq!(offer(&mut queue, row(1, 2, 5)), Outcome::Refused);
    step(&mut queue, Input::EntityRestored { session: SESSION, entity: RUN });
    assert_eq!(offer(&mut queue, row(1, 3, 5)), Outcome::Admitted);
}

/// Marks are served at 92 frames, in the order set, and each only once (SND-10, SND-13).
#[test]
fn marks_are_served_once_when_drained() {
    let mut queue = full();
    offer(&mut queue, row(1, 1, 5));
    offer(&mut queue, frame(QUESTIONS, 5));
    offer(&mut queue, frame(FrameKey::RecoveryRequired, 5));
    assert_eq!(queue.marks(), 2, "a control frame still fits");
    let mut frames = Vec::new();
    let mut seen = Vec::new();
    while !queue.is_idle() {
        seen.extend(owed(&step(&mut queue, Input::Sent)));
        frames.push((queue.frames(), seen.len()));
    }
    assert!(frames.iter().all(|(frames, seen)| (*frames > 92) == (*seen == 0)), "{frames:?}");
    let sync = Owed::SyncRequired { session: SESSION, entity: Some(RUN), reason: SyncReason::Gap };
    assert_eq!(seen, [sync, Owed::Newest { key: QUESTIONS }]);
    assert_eq!(offer(&mut queue, frame(QUESTIONS, 5)), Outcome::Admitted);
    assert_eq!(queue.marks(), 1, "the gap stands, the key is clean");
}

/// An equal version is superseded, a newer one takes the tail, one that does not fit leaves the old (SND-11, SND-12).
#[test]
fn the_newest_snapshot_wins_if_it_fits() {
    let mut queue = queue();
    offer(&mut queue, frame(PUSH, 10));
    let list = |version: u64, bytes: u32| frame(QUESTIONS, bytes).with_version(version);
    offer(&mut queue, list(4, 10));
    assert_eq!(offer(&mut queue, list(4, 10)), Outcome::Superseded);
    assert_eq!(offer(&mut queue, list(3, 10)), Outcome::Superseded);
    offer(&mut queue, frame(PUSH, 10));
    assert_eq!(offer(&mut queue, list(5, 20)), Outcome::Coalesced);
    let versions: Vec<_> = queue.queued().map(|frame| frame.version).collect();
    assert_eq!(versions, [0, 5]);
    assert_eq!(offer(&mut queue, list(6, 3_080_192)), Outcome::Refused);
    assert_eq!((queue.queued().count(), queue.marks()), (2, 1));
    assert_eq!(offer(&mut queue, list(7, 20)), Outcome::Coalesced);
    assert_eq!(queue.marks(), 0);
}

/// SND-16 [unit], SND-22 [unit]: a terminal that cannot fit closes with 1013 and evicts nothing.
#[test]
fn a_hopeless_terminal_overflows() {
    let mut queue = queue();
    offer_all(&mut queue, frame(PUSH, 10), Some(1));
    offer_all(&mut queue, row(1, 1, 5), Some(2));
    let end = offer_all(&mut queue, frame(PUSH, 4_194_300), Some(3));
    assert_eq!(end[0], Output::Reported { outcome: Outcome::Refused });
    assert_eq!(fates(&end), [(vec![2, 3], Fate::Overflow), (vec![1], Fate::Stopped)]);
    assert_eq!(end.last(), Some(&Output::Close { reason: Close::StateRecoveryAfterOverflow }));
    assert_eq!((queue.frames(), queue.bytes(), queue.marks()), (0, 0, 0));
}

/// SND-21 [unit]: the oldest entity's rows make room, its waiters are superseded, its own end says so.
#[test]
fn evicted_rows_make_room_for_a_terminal() {
    for (key, complete) in [(PUSH, true), (END, false)] {
        let mut queue = queue();
        offer(&mut queue, frame(PUSH, 1_000_000));
        offer_all(&mut queue, row(1, 1, 1_500_000), Some(7));
        offer(&mut queue, frame(QUESTIONS, 10));
        offer(&mut queue, row(2, 2, 10));
        let outputs = offer_all(&mut queue, frame(key, 2_000_000), None);
        assert_eq!(outputs[0], Output::Reported { outcome: Outcome::Admitted });
        assert_eq!(fates(&outputs), [(vec![7], Fate::Superseded)]);
        let payloads = vec![PayloadId::new(1), PayloadId::new(2)];
        assert!(outputs.contains(&Output::Dropped { payloads }));
        let keys: Vec<_> = queue.queued().map(|frame| (frame.key, frame.complete)).collect();
        assert_eq!(keys, [(QUESTIONS, true), (key, complete)]);
        assert_eq!(queue.is_gap(SESSION, Some(RUN)), key == PUSH);
    }
}

/// SND-17 [unit]: a control frame that does not fit is skipped; three kinds stay owed.
#[test]
fn control_frames_are_skipped_or_owed() {
    let mut queue = full();
    for _ in 0..8 {
        offer(&mut queue, frame(PUSH, 10));
    }
    assert_eq!(offer(&mut queue, frame(FrameKey::Pong, 5)), Outcome::Refused);
    assert_eq!(queue.marks(), 0);
    assert_eq!(offer(&mut queue, frame(FrameKey::ReloadRequired, 5)), Outcome::Refused);
    assert_eq!((queue.marks(), queue.is_closed()), (1, false));
}

/// A `sync_required` that did not fit after all stays owed (SND-10).
#[test]
fn a_refused_sync_stays_owed() {
    let mut queue = full();
    offer(&mut queue, row(1, 1, 5));
    while queue.frames() > 92 {
        let _ = step(&mut queue, Input::Sent);
    }
    while queue.frames() < 192 {
        offer(&mut queue, frame(PUSH, 10));
    }
    let sync = FrameKey::SyncRequired { session: SESSION, entity: Some(RUN) };
    assert_eq!(offer(&mut queue, frame(sync, 5)), Outcome::Refused);
    let mut seen = Vec::new();
    while !queue.is_idle() {
        seen.extend(owed(&step(&mut queue, Input::Sent)));
    }
    assert_eq!(seen.len(), 1);
}

/// After its end, nothing of an entity enters, `run_status` included; 4,096 are remembered (SND-18).
#[test]
fn an_ended_entity_stays_silent() {
    let mut queue = queue();
    for n in 1..=ABSORBED_MAX as u64 + 1 {
        let role = TerminalRole::End { entity: EntityId::Run(RunId::new(n)) };
        offer(&mut queue, frame(FrameKey::Terminal { session: Some(SESSION), role }, 10));
        step(&mut queue, Input::Sent);
        let status = FrameKey::RunStatus { session: SESSION, run: RunId::new(n) };
        assert_eq!(offer(&mut queue, frame(status, 5)), Outcome::Refused);
    }
    let status = |n: u64| FrameKey::RunStatus { session: SESSION, run: RunId::new(n) };
    assert_eq!(offer(&mut queue, frame(status(2), 5)), Outcome::Refused);
    assert_eq!(
        offer(&mut queue, frame(status(1), 5)),
        Outcome::Admitted,
        "the oldest is forgotten"
    );
}

/// SND-20 [unit]: waiters of merged and displaced frames share the fate of the successor.
#[test]
fn waiters_follow_their_successor() {
    let mut queue = queue();
    offer(&mut queue, frame(PUSH, 10));
    offer_all(&mut queue, row(1, 1, 5), Some(1));
    offer_all(&mut queue, row(1, 2, 5), Some(2));
    offer_all(&mut queue, frame(QUESTIONS, 5).with_version(1), Some(3));
    offer_all(&mut queue, frame(QUESTIONS, 5).with_version(2), Some(4));
    step(&mut queue, Input::Sent);
    let sent = step(&mut queue, Input::Sent);
    assert_eq!(fates(&sent), [(vec![1, 2, 3, 4], Fate::Sent)]);
}

/// SND-2 [unit], SND-23 [unit], SND-24 [unit]: failure and stop resolve every waiter, and a closed queue refuses.
#[test]
fn every_end_resolves_every_waiter() {
    for (input, fate, closes) in [
        (Input::TransportFailed, Fate::SendFailure, Some(Close::StateRecoveryAfterFailure)),
        (Input::Stop, Fate::Stopped, None),
    ] {
        let mut queue = queue();
        offer_all(&mut queue, frame(PUSH, 10), Some(1));
        offer_all(&mut queue, frame(PUSH, 10), Some(2));
        let end = step(&mut queue, input);
        assert_eq!(fates(&end), [(vec![2], fate), (vec![1], fate)]);
        let close = closes.map(|reason| Output::Close { reason });
        assert_eq!(end.iter().find(|o| matches!(o, Output::Close { .. })), close.as_ref());
        let refused = offer_all(&mut queue, frame(PUSH, 10), Some(3));
        assert_eq!(refused[0], Output::Reported { outcome: Outcome::Refused });
        assert_eq!(fates(&refused), [(vec![3], Fate::Stopped)]);
        assert!(step(&mut queue, Input::Sent).is_empty());
    }
}

/// At 19,999 ms without progress nothing happens, at 20,000 the transport has failed (SND-27).
#[test]
fn a_stalled_transport_fails_at_twenty_seconds() {
    let mut queue = queue();
    offer(&mut queue, frame(PUSH, 10));
    let mut out = Outbox::new();
    queue.step(at(7_000), Input::WriteProgressed, &mut out).unwrap();
    for ms in [5_000, 10_000, 15_000, 20_000, 25_000, 26_999] {
        queue.tick(at(ms), &mut out);
        assert!(out.drain().all(|output| output == Output::OfferHeartbeat), "{ms}");
    }
    assert_eq!(queue.deadline(), Some((at(27_000), TimerKind::SendStall)));
    queue.tick(at(27_000), &mut out);
    assert_eq!(out.as_slice(), [Output::Close { reason: Close::StateRecoveryAfterFailure }]);
    assert_eq!(queue.deadline(), None);
}

/// A heartbeat is offered after 5,000 ms of silence, not before, and once (SND-30).
#[test]
fn a_silent_connection_is_offered_a_heartbeat() {
    let mut queue = queue();
    let mut out = Outbox::new();
    queue.tick(at(4_999), &mut out);
    assert!(out.is_empty());
    queue.tick(at(5_000), &mut out);
    queue.tick(at(9_999), &mut out);
    assert_eq!(out.as_slice(), [Output::OfferHeartbeat]);
    assert_eq!(queue.deadline(), Some((at(10_000), TimerKind::Heartbeat)));
}

/// SND-28 [unit]: 1,024 marks are held, the next one is handled as overflow.
#[test]
fn one_mark_too_many_overflows() {
    let mut queue = full();
    for n in 0..=MARKS_MAX as u64 {
        let key = FrameKey::SessionItem { session: SessionId::new(n) };
        assert_eq!(offer(&mut queue, frame(key, 5)), Outcome::Refused);
        assert_eq!(queue.is_closed(), n == MARKS_MAX as u64, "{n}");
    }
}

/// A caller that adds waiters without end is turned away and nothing changes.
#[test]
fn waiters_are_bounded() {
    let mut queue = queue();
    offer(&mut queue, frame(PUSH, 10));
    for n in 0..WAITERS_MAX as u64 {
        offer_all(&mut queue, frame(QUESTIONS, 5).with_version(n + 1), Some(n));
    }
    let (before, mut out) = (queue.clone(), Outbox::new());
    let one =
        Offer { frame: frame(QUESTIONS, 5).with_version(u64::MAX), waiter: Some(WaiterId(0)) };
    let rejected = queue.step(at(0), Input::Offer(one), &mut out);
    assert_eq!(rejected, Err(Reject::Local("too_many_waiters")));
    assert_eq!((queue, out.is_empty()), (before, true));
}

/// A batch has at most 64 frames and 65,536 bytes, or is one larger frame.
#[test]
fn batches_are_bounded() {
    for (bytes, expected) in
        [(10, 64), (1_024, 64), (1_025, 63), (32_768, 2), (32_769, 1), (70_000, 1)]
    {
        let mut queue = queue();
        for _ in 0..30 {
            offer(&mut queue, frame(PUSH, bytes));
        }
        for _ in 0..(if bytes > 2_000 { 0 } else { 40 }) {
            offer(&mut queue, frame(PUSH, bytes));
        }
        let outputs = step(&mut queue, Input::Sent);
        let Some(Output::Transmit { frames }) = outputs.first() else { panic!("{outputs:?}") };
        assert_eq!(frames.len(), expected, "{bytes}");
    }
}

/// DI-20 [unit]: closing a session forgets what was owed for it, except its place in the list.
#[test]
fn a_closed_session_is_owed_nothing() {
    let mut queue = full();
    offer(&mut queue, row(1, 1, 5));
    offer(&mut queue, frame(QUESTIONS, 5));
    offer(&mut queue, frame(FrameKey::SessionItem { session: SESSION }, 5));
    step(&mut queue, Input::SessionClosed { session: SESSION });
    assert_eq!(queue.marks(), 1);
}

/// Every law over a queue with few, large frames, its marks, its end and its timers.
#[test]
fn the_laws_hold() {
    let report = laws(queue(), &Small, super::WEIGHT_MAX).unwrap();
    assert!(report.states > 1_000, "{report:?}");
    assert_eq!(
        report.state_names.keys().copied().collect::<Vec<_>>(),
        ["closed", "idle", "sending"]
    );
    assert_matrix!("sender", &report.matrix);
}

/// A queue with one frame in flight and 183 behind it: full for ordinary frames.
fn full() -> SenderQueue {
    let mut queue = queue();
    for _ in 0..184 {
        offer(&mut queue, frame(PUSH, 10));
    }
    queue
}

struct Small;

impl Scope<SenderQueue<Rules>> for Small {
    fn inputs(&self, queue: &SenderQueue<Rules>) -> Vec<Input> {
        let mut inputs = vec![
            Input::Sent,
            Input::Stop,
            Input::TransportFailed,
            Input::EntityRestored { session: SESSION, entity: RUN },
        ];
        if queue.queued().count() < 3 {
            let frames = [
                row(1, 1, 1_500_000),
                row(1, 2, 10),
                frame(QUESTIONS, 1_600_000).with_version(1),
                frame(QUESTIONS, 10).with_version(2),
                frame(END, 1_400_000),
                frame(FrameKey::Heartbeat, 40),
            ];
            let offers = frames.into_iter().map(|frame| {
                let waiter = (frame.key == text(1)).then_some(WaiterId(1));
                Input::Offer(Offer { frame, waiter })
            });
            inputs.extend(offers);
        }
        inputs
    }
}
