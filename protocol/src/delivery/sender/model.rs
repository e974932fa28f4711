//! A literal reading of table 5.2 as a reference, and the properties that compare the queue with it.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{Fate, Input, Offer, Outcome, Output, Owed, SenderQueue, WaiterId};
use crate::delivery::frame::{EntityId, FrameKey, QueuedFrame, TerminalRole};
use crate::ids::{ItemId, PayloadId, PayloadRef, RunId, SessionId};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox};
use crate::wire::Class;
use crate::wire::close::Close;

type Unit = (SessionId, Option<EntityId>);

/// Table 5.2 with lists and sums computed anew at each question.
#[derive(Debug, Default)]
struct Model {
    closed: bool,
    queue: Vec<QueuedFrame>,
    in_flight: Vec<QueuedFrame>,
    gaps: Vec<Unit>,
    dirty: Vec<FrameKey>,
    absorbed: Vec<EntityId>,
}

impl Model {
    fn fits(&self, class: Class, queue: &[QueuedFrame]) -> bool {
        let frames = queue.len() + self.in_flight.len();
        let bytes: usize = queue.iter().chain(&self.in_flight).map(QueuedFrame::bytes).sum();
        match class {
            Class::Terminal => frames <= 256 && bytes <= 4_194_304,
            Class::Control => frames <= 192 && bytes <= 3_145_728,
            Class::Append | Class::Replace | Class::Snapshot => frames <= 184 && bytes <= 3_080_192,
        }
    }

    fn offer(&mut self, f: &QueuedFrame) -> Outcome {
        let outcome = self.admit(f);
        self.take_head();
        outcome
    }

    fn admit(&mut self, f: &QueuedFrame) -> Outcome {
        let class = f.key.class();
        let ended = f.key.entity().is_some_and(|entity| self.absorbed.contains(&entity));
        if self.closed || (class != Class::Terminal && ended) {
            return Outcome::Refused;
        }
        if f.key.is_delta() && self.gaps.contains(&unit(&f.key)) {
            return Outcome::Refused;
        }
        if class == Class::Terminal {
            return self.admit_terminal(f);
        }
        let newest = self.queue.iter().rposition(|q| q.key.session() == f.key.session());
        if class == Class::Append
            && f.key.is_mergeable()
            && let Some(at) = newest
            && self.queue[at].key == f.key
            && self.queue[at].end == f.begin
        {
            let mut merged = self.queue[at].clone();
            merged.end = f.end;
            merged.version = f.version;
            merged.parts.append(f.parts.clone());
            if merged.bytes() <= 65_536 {
                let mut after = self.queue.clone();
                after[at] = merged;
                return self.change(f, class, after, Outcome::Coalesced);
            }
        }
        let mut after = self.queue.clone();
        after.push(f.clone());
        let keyed = self.queue.iter().position(|q| q.key == f.key);
        match keyed {
            Some(at) if class != Class::Append => {
                if class != Class::Control && self.queue[at].version >= f.version {
                    return Outcome::Superseded;
                }
                after.remove(at);
                self.change(f, class, after, Outcome::Coalesced)
            }
            _ => self.change(f, class, after, Outcome::Admitted),
        }
    }

    fn change(
        &mut self,
        f: &QueuedFrame,
        class: Class,
        after: Vec<QueuedFrame>,
        outcome: Outcome,
    ) -> Outcome {
        if self.fits(class, &after) {
            self.queue = after;
            self.dirty.retain(|key| *key != f.key);
            return outcome;
        }
        if f.key.is_delta() {
            self.gaps.push(unit(&f.key));
        } else if class != Class::Control && !self.dirty.contains(&f.key) {
            self.dirty.push(f.key);
        }
        Outcome::Refused
    }

    fn admit_terminal(&mut self, f: &QueuedFrame) -> Outcome {
        let with = |queue: &[QueuedFrame]| [queue, std::slice::from_ref(f)].concat();
        let mut kept = self.queue.clone();
        let without: Vec<_> = kept.iter().filter(|q| !q.key.is_delta()).cloned().collect();
        if !self.fits(Class::Terminal, &with(&without)) {
            *self = Self { closed: true, ..Self::default() };
            return Outcome::Refused;
        }
        let end = match f.key {
            FrameKey::Terminal { session: Some(session), role: TerminalRole::End { entity } } => {
                Some((session, Some(entity)))
            }
            _ => None,
        };
        let mut complete = true;
        while !self.fits(Class::Terminal, &with(&kept)) {
            let oldest = kept.iter().find(|q| q.key.is_delta()).expect("fits without deltas");
            let victim = unit(&oldest.key);
            kept.retain(|q| !q.key.is_delta() || unit(&q.key) != victim);
            if Some(victim) == end {
                complete = false;
            } else if !self.gaps.contains(&victim) {
                self.gaps.push(victim);
            }
        }
        let mut admitted = f.clone();
        if let Some(ended) = end {
            admitted.complete = complete && !self.gaps.contains(&ended);
            self.gaps.retain(|gap| *gap != ended);
            self.absorbed.extend(ended.1);
        }
        kept.push(admitted);
        self.queue = kept;
        Outcome::Admitted
    }

    fn take_head(&mut self) {
        if !self.in_flight.is_empty() || self.closed {
            return;
        }
        let mut bytes = 0;
        while let Some(head) = self.queue.first() {
            bytes += head.bytes();
            let full = self.in_flight.len() == 64 || bytes > 65_536;
            if full && !self.in_flight.is_empty() {
                break;
            }
            self.in_flight.push(self.queue.remove(0));
        }
    }
}

fn unit(key: &FrameKey) -> Unit {
    (key.session().expect("a delta has a session"), key.entity())
}

/// One choice of a generated schedule.
#[derive(Clone, Debug)]
enum Choice {
    Offer(FrameKey, u64, u64, u32),
    Sent,
    Restore(u64),
}

fn session_of(run: u64) -> SessionId {
    SessionId::new(run % 2)
}

fn keys() -> impl Strategy<Value = FrameKey> {
    (0u64..3, 0u64..2, 0usize..12).prop_map(|(run, item, shape)| {
        let (session, id) = (session_of(run), RunId::new(run));
        let (entity, item) = (EntityId::Run(id), ItemId::new(item));
        let end = TerminalRole::End { entity };
        [
            FrameKey::StreamText { session, entity, item },
            FrameKey::StreamText { session, entity, item },
            FrameKey::StreamNote { session, entity },
            FrameKey::SessionDelta { session },
            FrameKey::StreamUpdate { session, entity, item },
            FrameKey::RunStatus { session, run: id },
            FrameKey::SessionItem { session },
            FrameKey::QuestionsList { session },
            FrameKey::Heartbeat,
            FrameKey::SyncRequired { session, entity: Some(entity) },
            FrameKey::Terminal { session: Some(session), role: TerminalRole::Push },
            FrameKey::Terminal { session: Some(session), role: end },
        ][shape]
    })
}

fn choices(sizes: &'static [u32], sent: u32) -> impl Strategy<Value = Vec<Choice>> {
    let offer = (keys(), 0u64..3, 0u64..6, proptest::sample::select(sizes))
        .prop_map(|(key, begin, version, size)| Choice::Offer(key, begin, version, size));
    let choice = prop_oneof![
        100 => offer,
        sent => Just(Choice::Sent),
        2 => (0u64..3).prop_map(Choice::Restore),
    ];
    proptest::collection::vec(choice, 1..500)
}

/// The queue beside the model, with books of waiters and bodies.
struct Pair {
    queue: SenderQueue,
    model: Model,
    next: u64,
    waiting: BTreeSet<u64>,
    fates: BTreeMap<u64, Fate>,
    bodies: BTreeSet<u64>,
    transmitting: bool,
}

impl Pair {
    fn new() -> Self {
        Self {
            queue: SenderQueue::new(Instant::ZERO),
            model: Model::default(),
            next: 0,
            waiting: BTreeSet::new(),
            fates: BTreeMap::new(),
            bodies: BTreeSet::new(),
            transmitting: false,
        }
    }

    fn play(&mut self, choice: Choice) {
        match choice {
            Choice::Offer(key, begin, version, size) => {
                self.next += 1;
                let body = PayloadRef { id: PayloadId::new(self.next), json_bytes: size };
                let mut frame = QueuedFrame::new(key, 80, body).with_version(version);
                if key.is_mergeable() {
                    frame = frame.with_range(Some(begin), Some((begin + 1) % 3));
                }
                self.offer(frame);
            }
            Choice::Sent => {
                if self.model.in_flight.is_empty() {
                    return;
                }
                self.model.in_flight.clear();
                self.model.take_head();
                self.transmitting = false;
                self.feed(Input::Sent);
            }
            Choice::Restore(run) => {
                let (session, entity) = (session_of(run), EntityId::Run(RunId::new(run)));
                self.model.gaps.retain(|gap| *gap != (session, Some(entity)));
                self.feed(Input::EntityRestored { session, entity });
            }
        }
        self.compare();
    }

    fn offer(&mut self, frame: QueuedFrame) {
        let expected = self.model.offer(&frame);
        self.bodies.extend(frame.parts.ids().map(PayloadId::number));
        self.waiting.insert(self.next);
        let ids: Vec<_> = frame.parts.ids().collect();
        let offer = Offer { frame, waiter: Some(WaiterId(self.next)) };
        let outputs = self.feed(Input::Offer(offer));
        let reports: Vec<_> = outputs
            .iter()
            .filter_map(|output| match output {
                Output::Reported { outcome } => Some(*outcome),
                _ => None,
            })
            .collect();
        assert_eq!(reports, [expected]);
        if matches!(expected, Outcome::Refused | Outcome::Superseded) {
            for id in ids {
                assert!(self.bodies.remove(&id.number()), "a refused body stays with its caller");
            }
        }
    }

    fn feed(&mut self, input: Input) -> Vec<Output> {
        let mut out = Outbox::new();
        self.queue.step(Instant::ZERO, input, &mut out).expect("listed input");
        assert!(out.len() <= SenderQueue::<super::Rules>::OUTPUTS_MAX);
        let outputs: Vec<_> = out.drain().collect();
        for output in &outputs {
            self.account(output);
        }
        outputs
    }

    fn account(&mut self, output: &Output) {
        match output {
            Output::Transmit { frames } => {
                assert!(!std::mem::replace(&mut self.transmitting, true), "two batches in flight");
                for id in frames.iter().flat_map(|frame| frame.parts.ids()) {
                    assert!(self.bodies.remove(&id.number()), "a body is sent once");
                }
            }
            Output::Dropped { payloads } => {
                for id in payloads {
                    assert!(self.bodies.remove(&id.number()), "a body is dropped once");
                }
            }
            Output::Resolved { waiters, fate } => {
                for waiter in waiters {
                    assert!(self.waiting.remove(&waiter.0), "a waiter resolves once");
                    self.fates.insert(waiter.0, *fate);
                }
            }
            Output::Reported { .. }
            | Output::Owe { .. }
            | Output::OfferHeartbeat
            | Output::Close { .. } => {}
        }
    }

    fn compare(&self) {
        assert_eq!(self.queue.is_closed(), self.model.closed);
        assert!(self.queue.queued().eq(self.model.queue.iter()), "queued frames differ");
        let all = || self.model.queue.iter().chain(&self.model.in_flight);
        assert_eq!(self.queue.frames(), all().count());
        assert_eq!(self.queue.bytes(), all().map(QueuedFrame::bytes).sum::<usize>());
        assert!(self.queue.frames() <= 256 && self.queue.bytes() <= 4_194_304);
        assert_eq!(self.queue.marks(), self.model.gaps.len() + self.model.dirty.len());
        for (session, entity) in &self.model.gaps {
            assert!(self.queue.is_gap(*session, *entity));
        }
        assert!(self.queue.weight() <= super::WEIGHT_MAX);
    }

    fn finish(mut self) {
        self.feed(Input::Stop);
        assert!(self.waiting.is_empty(), "every waiter has resolved");
        assert!(self.bodies.is_empty(), "every body was sent, dropped or left with its caller");
        assert_eq!((self.queue.frames(), self.queue.bytes(), self.queue.marks()), (0, 0, 0));
        assert_eq!(self.queue.reply_bytes(), 0);
    }
}

fn run(choices: Vec<Choice>) {
    let mut pair = Pair::new();
    for choice in choices {
        pair.play(choice);
    }
    pair.finish();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// SND-3 [property], SND-5 [property], SND-7 [property], SND-8 [property], SND-11 [property], SND-12 [property], SND-14 [property], SND-15 [property], SND-19 [property], SND-25 [property], DI-1 [property], DI-2 [property], DI-3 [property], DI-4 [property]: large frames, the byte caps decide; queue, sums, marks and reports equal the reference after every input.
    #[test]
    fn large_frames_follow_the_table(choices in choices(&[0, 9, 32_000, 65_300, 400_000, 1_100_000], 12)) {
        run(choices);
    }

    /// SND-3 [property], SND-5 [property], SND-14 [property], SND-19 [property], SND-25 [property], DI-28 [property]: small frames that rarely leave, the frame caps and the reserves decide.
    #[test]
    fn small_frames_follow_the_table(choices in choices(&[1, 9, 700], 1)) {
        run(choices);
    }

    /// SND-10 [property], SND-13 [property]: once a full queue has drained, each gap has yielded one `sync_required` and each dirty key was asked for, whatever was refused before.
    #[test]
    fn a_drained_queue_owes_nothing(choices in choices(&[9, 32_000, 1_100_000], 2)) {
        let mut queue: SenderQueue = SenderQueue::new(Instant::ZERO);
        let mut asked: Vec<Owed> = Vec::new();
        for (n, choice) in choices.into_iter().enumerate() {
            if let Choice::Offer(key, begin, version, size) = choice
                && key.class() != Class::Terminal && key.class() != Class::Control {
                let body = PayloadRef { id: PayloadId::new(n as u64), json_bytes: size };
                let frame = QueuedFrame::new(key, 80, body)
                    .with_version(version)
                    .with_range(Some(begin), Some(begin + 1));
                let _ = give(&mut queue, Input::Offer(Offer { frame, waiter: None }));
            }
        }
        let standing = queue.marks();
        while !queue.is_idle() {
            for owed in give(&mut queue, Input::Sent) {
                asked.push(owed);
                let (key, version) = match owed {
                    Owed::SyncRequired { session, entity, .. } => {
                        (FrameKey::SyncRequired { session, entity }, 0)
                    }
                    Owed::Newest { key } => (key, u64::MAX),
                };
                let frame = QueuedFrame::new(key, 200, Vec::new()).with_version(version);
                prop_assert_eq!(give(&mut queue, Input::Offer(Offer { frame, waiter: None })), vec![]);
            }
        }
        prop_assert_eq!(asked.len(), standing);
        let gaps = asked.iter().filter(|owed| matches!(owed, Owed::SyncRequired { .. })).count();
        prop_assert_eq!(queue.marks(), gaps);
    }
}

fn give(queue: &mut SenderQueue, input: Input) -> Vec<Owed> {
    let mut out = Outbox::new();
    queue.step(Instant::ZERO, input, &mut out).expect("listed input");
    let mut all = Vec::new();
    for output in out.drain() {
        match output {
            Output::Owe { owed } => all.extend(owed),
            Output::Close { reason } => assert_ne!(reason, Close::StateRecoveryAfterOverflow),
            Output::Reported { .. }
            | Output::Transmit { .. }
            | Output::Resolved { .. }
            | Output::Dropped { .. }
            | Output::OfferHeartbeat => {}
        }
    }
    all
}
