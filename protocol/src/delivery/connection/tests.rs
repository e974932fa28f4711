//! Scheduling, bounds and ends of a connection, and the laws over a small scope.

use proptest::prelude::*;

use super::{Connection, Features, Hello, Input, Lane, Negotiation, Output, Rules};
use crate::delivery::limits::{ACTION_BYTES_MAX, REPLIES_QUEUED_BYTES_MAX, UNANSWERED_BYTES_MAX};
use crate::ids::{AskId, SessionId};
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope, TimerKind};
use crate::matrix::assert_matrix;
use crate::wire::actions::ActionName;
use crate::wire::close::Close;
use crate::wire::codes::Code;

const NONE: [u64; 0] = [];

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn open() -> Connection {
    Connection::new(at(0), Features { fragments: true, delta: false })
}

fn ticket(n: u64) -> AskId {
    AskId::new(n)
}

fn action(n: u64, name: ActionName, session: u64) -> Input {
    sized(n, name, session, 100)
}

fn sized(n: u64, name: ActionName, session: u64, bytes: u32) -> Input {
    let session = (session > 0).then(|| SessionId::new(session));
    Input::ActionReceived { ticket: ticket(n), name: Some(name), session, bytes }
}

fn ended(n: u64) -> Input {
    Input::ActionEnded { ticket: ticket(n) }
}

fn hello(protocol_min: i64, protocol_max: i64) -> Input {
    let features = Features { fragments: true, delta: true };
    let hello = Hello { protocol_min, protocol_max, features, other_build: true };
    Input::HelloReceived { ticket: ticket(900), hello }
}

fn give(connection: &mut Connection, input: Input) -> Vec<Output> {
    let mut out = Outbox::new();
    connection.step(at(0), input, &mut out).expect("listed input");
    out.drain().collect()
}

fn starts(outputs: &[Output]) -> Vec<u64> {
    outputs
        .iter()
        .filter_map(|output| match output {
            Output::Start { ticket } => Some(ticket.number()),
            _ => None,
        })
        .collect()
}

fn refusal(n: u64, code: Code) -> Output {
    Output::Refuse { tickets: vec![ticket(n)], code }
}

fn close(reason: Close) -> Output {
    Output::Close { reason: Some(reason) }
}

/// ACT-9 [unit]: stop, steer and answer start at once, changes one at a time per session, four reads beside them.
#[test]
fn actions_start_as_their_lane_allows() {
    let mut c = open();
    assert_eq!(starts(&give(&mut c, action(1, ActionName::SendMessage, 1))), [1]);
    assert_eq!(starts(&give(&mut c, action(2, ActionName::SendMessage, 1))), NONE);
    assert_eq!(starts(&give(&mut c, action(3, ActionName::SendMessage, 2))), [3]);
    assert_eq!(starts(&give(&mut c, action(4, ActionName::CreateSession, 0))), [4]);
    assert_eq!(starts(&give(&mut c, action(5, ActionName::AcknowledgeUserError, 0))), NONE);
    assert_eq!(starts(&give(&mut c, action(6, ActionName::StopRun, 1))), [6]);
    assert_eq!(starts(&give(&mut c, action(7, ActionName::AnswerQuestion, 1))), [7]);
    for n in 10..14 {
        assert_eq!(starts(&give(&mut c, action(n, ActionName::ListSessions, 0))), [n]);
    }
    assert_eq!(starts(&give(&mut c, action(14, ActionName::ListSessions, 0))), NONE);
    assert_eq!(starts(&give(&mut c, action(15, ActionName::StopRun, 1))), [15]);
    assert_eq!(starts(&give(&mut c, ended(12))), [14]);
    assert_eq!(starts(&give(&mut c, ended(1))), [2]);
    assert_eq!(starts(&give(&mut c, ended(4))), [5]);
}

/// ACT-12 [unit]: 1,048,575 and 1,048,576 bytes are taken, one more closes with 1009; binary closes with 1003.
#[test]
fn oversize_and_binary_messages_close() {
    for (over, closes) in [(-1i64, false), (0, false), (1, true)] {
        let mut c = open();
        let bytes = u32::try_from(ACTION_BYTES_MAX as i64 + over).unwrap();
        let outputs = give(&mut c, sized(1, ActionName::ListSessions, 0, bytes));
        assert_eq!(outputs == [close(Close::MessageTooLarge)], closes, "{over}");
    }
    assert_eq!(give(&mut open(), Input::OversizeReceived), [close(Close::MessageTooLarge)]);
    assert_eq!(give(&mut open(), Input::BinaryReceived), [close(Close::UnsupportedMessage)]);
}

/// ACT-14 [unit]: the 64th unanswered action stops reading, an answer resumes it.
#[test]
fn reading_stops_at_sixty_four_actions() {
    let mut c = open();
    for n in 1..=64 {
        let outputs = give(&mut c, action(n, ActionName::StopRun, 1));
        assert_eq!(outputs.contains(&Output::StopReading), n == 64, "{n}");
    }
    let (before, mut out) = (c.clone(), Outbox::new());
    let rejected = c.step(at(0), action(65, ActionName::Ping, 0), &mut out);
    assert_eq!((rejected, &c), (Err(Reject::Local("not_reading")), &before));
    assert_eq!(give(&mut c, ended(9)), [Output::ResumeReading]);
}

/// ACT-14 [unit]: reading stops at 2,097,152 unanswered bytes, not one below.
#[test]
fn reading_stops_at_its_bytes() {
    for (over, stops) in [(-1i64, false), (0, true), (1, true)] {
        let mut c = open();
        give(&mut c, sized(1, ActionName::StopRun, 1, 1_000_000));
        give(&mut c, sized(2, ActionName::StopRun, 1, 1_000_000));
        let bytes = u32::try_from(UNANSWERED_BYTES_MAX as i64 - 2_000_000 + over).unwrap();
        let outputs = give(&mut c, sized(3, ActionName::StopRun, 1, bytes));
        assert_eq!(outputs.contains(&Output::StopReading), stops, "{over}");
    }
}

/// ACT-15 [unit]: at 1,048,576 bytes of queued replies no load starts, one byte below it does; reads go on.
#[test]
fn loads_wait_for_replies_to_leave() {
    let mut c = open();
    give(&mut c, Input::RepliesQueued { bytes: REPLIES_QUEUED_BYTES_MAX });
    assert_eq!(starts(&give(&mut c, action(1, ActionName::LoadHistory, 1))), NONE);
    assert_eq!(starts(&give(&mut c, action(2, ActionName::ListSessions, 0))), [2]);
    assert!(c.awaits_replies());
    let more = Input::RepliesQueued { bytes: REPLIES_QUEUED_BYTES_MAX + 1 };
    assert_eq!(starts(&give(&mut c, more)), NONE);
    let less = Input::RepliesQueued { bytes: REPLIES_QUEUED_BYTES_MAX - 1 };
    assert_eq!(starts(&give(&mut c, less)), [1]);
}

/// RATE-10 [unit]: the ninth session is refused, counting those being opened; an open one may be opened again.
#[test]
fn a_ninth_session_is_refused() {
    let mut c = open();
    for n in 1..=7 {
        give(&mut c, action(n, ActionName::OpenSession, n));
        give(&mut c, Input::SessionOpened { session: SessionId::new(n) });
        give(&mut c, ended(n));
    }
    assert_eq!(starts(&give(&mut c, action(8, ActionName::OpenSession, 8))), [8]);
    let ninth = give(&mut c, action(9, ActionName::OpenSession, 9));
    assert_eq!(ninth, [refusal(9, Code::LimitReached)]);
    assert_eq!(starts(&give(&mut c, action(10, ActionName::OpenSession, 3))), [10]);
    give(&mut c, ended(8));
    assert_eq!(starts(&give(&mut c, action(11, ActionName::OpenSession, 9))), [11]);
    assert_eq!(c.sessions().count(), 7);
}

/// The first action decides: `hello` negotiates, anything else makes a baseline connection, a later `hello` is refused.
#[test]
fn the_first_action_decides() {
    let mut c = open();
    let features = Features { fragments: true, delta: false };
    let welcome = Output::Welcome { ticket: ticket(900), protocol: 1, features, reload: true };
    assert_eq!(give(&mut c, hello(0, 7)), [welcome]);
    assert_eq!(c.features(), features);
    assert_eq!(give(&mut c, hello(1, 1)), [refusal(900, Code::InvalidRequest)]);
    let mut c = open();
    assert_eq!(give(&mut c, action(1, ActionName::Ping, 0)), [Output::OfferPong]);
    assert_eq!(c.negotiation(), Negotiation::Baseline);
    assert_eq!(give(&mut c, hello(1, 1)), [refusal(900, Code::InvalidRequest)]);
}

/// Without a common protocol the refusal is sent, then 1002.
#[test]
fn no_common_protocol_closes_after_the_answer() {
    for (min, max) in [(2, 9), (0, 0), (3, 1)] {
        let mut c = open();
        assert_eq!(give(&mut c, hello(min, max)), [refusal(900, Code::ProtocolUnsupported)]);
        assert!(c.awaits_empty_queue());
        assert_eq!(give(&mut c, Input::QueueEmptied), [close(Close::ProtocolUnsupported)]);
    }
}

/// A stopping server refuses what waits and what comes, but for the three actions it serves (ACT-10).
#[test]
fn a_stopping_server_serves_three_actions() {
    let mut c = open();
    give(&mut c, action(1, ActionName::SendMessage, 1));
    give(&mut c, action(2, ActionName::SendMessage, 1));
    let stopping = give(&mut c, Input::StopServer);
    assert_eq!(stopping, [Output::OfferStopping, refusal(2, Code::ServerStopping)]);
    let other = give(&mut c, action(3, ActionName::ListSessions, 0));
    assert_eq!(other, [refusal(3, Code::ServerStopping)]);
    assert_eq!(give(&mut c, action(4, ActionName::Ping, 0)), [Output::OfferPong]);
    assert_eq!(starts(&give(&mut c, action(5, ActionName::StopRun, 1))), [5]);
    assert_eq!(starts(&give(&mut c, action(6, ActionName::GetRequestResult, 0))), [6]);
    assert_eq!(give(&mut c, Input::QueueEmptied), [], "runs are not settled");
    assert_eq!(give(&mut c, Input::RunsSettled), []);
    assert_eq!(give(&mut c, Input::QueueEmptied), [close(Close::Stopping)]);
}

/// A stopping connection that cannot drain is closed after 2,000 ms.
#[test]
fn the_drain_has_an_end() {
    let mut c = open();
    let mut out = Outbox::new();
    give(&mut c, Input::StopServer);
    c.step(at(500), Input::RunsSettled, &mut out).unwrap();
    assert_eq!(c.deadline(), Some((at(2_500), TimerKind::ShutdownDrain)));
    c.tick(at(2_499), &mut out);
    assert!(out.is_empty());
    c.tick(at(2_500), &mut out);
    assert_eq!(out.as_slice(), [close(Close::Stopping)]);
}

/// 300,000 ms without a received byte end the lease; every byte renews it (SND-27).
#[test]
fn the_lease_ends_without_bytes() {
    let mut c = open();
    let mut out = Outbox::new();
    c.step(at(1_000), Input::BytesReceived, &mut out).unwrap();
    c.tick(at(300_999), &mut out);
    assert!(out.is_empty());
    c.tick(at(301_000), &mut out);
    assert_eq!(out.as_slice(), [close(Close::LeaseExpired)]);
    assert_eq!(c.deadline(), None);
}

/// DI-20 [unit]: after each way to end nothing is held and nothing is answered.
#[test]
fn every_end_frees_everything() {
    for (input, reason) in [
        (Input::PeerClosed, None),
        (Input::Revoke, Some(Close::Unauthorized)),
        (Input::RecordFailed, Some(Close::StateRecoveryAfterFailure)),
        (
            Input::SenderClosed { reason: Close::StateRecoveryAfterOverflow },
            Some(Close::StateRecoveryAfterOverflow),
        ),
    ] {
        let mut c = open();
        give(&mut c, action(1, ActionName::OpenSession, 1));
        give(&mut c, Input::SessionOpened { session: SessionId::new(1) });
        assert_eq!(give(&mut c, input), [Output::Close { reason }]);
        assert_eq!((c.unanswered(), c.sessions().count(), c.weight()), (0, 0, 0));
        assert_eq!(give(&mut c, ended(1)), []);
        assert!(c.is_terminal());
    }
}

/// Every law over two sessions, one action of each lane, a stop and every end.
#[test]
fn the_laws_hold() {
    let report = laws(open(), &Small, super::WEIGHT_MAX).unwrap();
    assert!(report.states > 100, "{report:?}");
    assert_matrix!("connection", &report.matrix);
}

struct Small;

impl Scope<Connection<Rules>> for Small {
    fn inputs(&self, _connection: &Connection<Rules>) -> Vec<Input> {
        vec![
            hello(1, 1),
            hello(2, 2),
            action(1, ActionName::SendMessage, 1),
            action(2, ActionName::SendMessage, 1),
            action(3, ActionName::LoadHistory, 1),
            action(4, ActionName::OpenSession, 1),
            Input::ActionReceived { ticket: ticket(5), name: None, session: None, bytes: 5 },
            ended(1),
            ended(2),
            ended(3),
            ended(4),
            ended(5),
            Input::RepliesQueued { bytes: 0 },
            Input::RepliesQueued { bytes: REPLIES_QUEUED_BYTES_MAX },
            Input::SessionOpened { session: SessionId::new(1) },
            Input::SessionClosed { session: SessionId::new(1) },
            Input::StopServer,
            Input::RunsSettled,
            Input::QueueEmptied,
            Input::PeerClosed,
            Input::BinaryReceived,
        ]
    }
}

/// The lanes of a schedule, as a reference: what must never run beside what.
fn check_running(running: &[(u64, Lane, u64)], c: &Connection) {
    let reads = running.iter().filter(|(_, lane, _)| matches!(lane, Lane::Read | Lane::Load));
    assert!(reads.count() <= 4);
    for session in 0..3 {
        let changes = running.iter().filter(|r| r.1 == Lane::Change && r.2 == session).count();
        assert!(changes <= 1, "two changes of session {session} run");
    }
    assert!(c.unanswered() <= 64);
    assert!(c.weight() <= super::WEIGHT_MAX);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// ACT-9 [unit], ACT-14 [unit]: over any schedule no two changes of a session overlap, changes start in arrival order, at most four reads run, at most 64 actions are unanswered, and every action starts in the end.
    #[test]
    fn schedules_keep_their_lanes(choices in proptest::collection::vec((0usize..6, 0u64..3, any::<u16>()), 1..300)) {
        let names = [ActionName::SendMessage, ActionName::SendMessage, ActionName::StopRun,
            ActionName::ListSessions, ActionName::LoadHistory];
        let mut c = open();
        let (mut next, mut running, mut begun) = (0u64, Vec::new(), Vec::new());
        let mut lanes = std::collections::BTreeMap::new();
        let mut steps = choices.into_iter();
        loop {
            let input = match steps.next() {
                Some((shape, session, bytes)) if shape < 5 && c.is_reading() => {
                    next += 1;
                    lanes.insert(next, (Lane::of(Some(names[shape])), session));
                    sized(next, names[shape], session, u32::from(bytes))
                }
                Some((_, _, pick)) if !running.is_empty() => {
                    let at = usize::from(pick) % running.len();
                    let (n, _, _): (u64, Lane, u64) = running.remove(at);
                    ended(n)
                }
                Some(_) => continue,
                None => match running.pop() {
                    Some((n, _, _)) => ended(n),
                    None => break,
                },
            };
            for n in starts(&give(&mut c, input)) {
                let (lane, session) = lanes[&n];
                running.push((n, lane, session));
                begun.push((n, lane, session));
            }
            check_running(&running, &c);
        }
        prop_assert_eq!(c.unanswered(), 0);
        prop_assert_eq!(begun.len() as u64, next);
        for session in 0..3 {
            let order: Vec<_> = begun.iter().filter(|b| b.1 == Lane::Change && b.2 == session).collect();
            prop_assert!(order.is_sorted_by_key(|b| b.0));
        }
    }
}
