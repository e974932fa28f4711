//! Results, keys in flight and bounds of the registry, and the laws over a small scope.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Found, Input, KeyUse, Outcome, Output, Remembered, RequestKey, Requests, Rules};
use crate::delivery::limits::{RESULT_INLINE_BYTES_MAX, RESULTS_KEPT};
use crate::ids::{AskId, PayloadId, PayloadRef, SessionId};
use crate::instant::{Duration, Instant};
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope, TimerKind};
use crate::matrix::assert_matrix;
use crate::wire::actions::ActionName;

const ACTION: ActionName = ActionName::CreateSession;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn ask(n: u64) -> AskId {
    AskId::new(n)
}

fn request(n: u64) -> RequestKey {
    RequestKey::of(&format!("r{n}"))
}

fn body(id: u64) -> PayloadRef {
    PayloadRef { id: PayloadId::new(id), json_bytes: 10 }
}

fn accepted(n: u64, id: u64) -> Input {
    Input::Accepted { ask: ask(n), request: Some(request(id)), action: ACTION, key: None }
}

fn keyed(n: u64, fingerprint: u64, remembered: Option<Remembered>) -> Input {
    let key = RequestKey::of("k");
    let used = KeyUse { session: Some(SessionId::new(1)), key, fingerprint, remembered };
    Input::Accepted { ask: ask(n), request: Some(request(n)), action: ACTION, key: Some(used) }
}

fn finished(n: u64, outcome: Outcome) -> Input {
    Input::Finished { ask: ask(n), outcome }
}

fn give_at(requests: &mut Requests, now: Instant, input: Input) -> Vec<Output> {
    let mut out = Outbox::new();
    requests.step(now, input, &mut out).expect("listed input");
    out.drain().collect()
}

fn give(requests: &mut Requests, input: Input) -> Vec<Output> {
    give_at(requests, at(0), input)
}

fn found(requests: &mut Requests, now: Instant, id: u64) -> Found {
    match give_at(requests, now, Input::Query { ask: ask(999), target: request(id) }).as_slice() {
        [Output::Found { result, .. }] => *result,
        other => panic!("{other:?}"),
    }
}

fn answer(asks: &[u64], outcome: Outcome, keep: usize) -> Output {
    Output::Answer { asks: asks.iter().map(|n| ask(*n)).collect(), outcome, keep }
}

fn ended(outcome: Outcome) -> Found {
    Found::Ended { action: ACTION, outcome, omitted: false }
}

/// REQ-6 [unit], REQ-7 [unit]: the outcome can be asked for as soon as its reply may be enqueued, whatever it is.
#[test]
fn an_outcome_is_recorded_before_it_is_answered() {
    for outcome in [Outcome::Done(body(1)), Outcome::Refused(body(1)), Outcome::Failed(body(1))] {
        let mut requests = Requests::new();
        assert_eq!(found(&mut requests, at(0), 1), Found::Unknown);
        assert_eq!(give(&mut requests, accepted(1, 1)), [Output::Execute { ask: ask(1) }]);
        assert_eq!(found(&mut requests, at(0), 1), Found::Pending { action: ACTION });
        assert_eq!(give(&mut requests, finished(1, outcome)), [answer(&[1], outcome, 1)]);
        assert_eq!(found(&mut requests, at(0), 1), ended(outcome));
    }
}

/// REQ-7 [unit]: a reply of 16,383 and 16,384 bytes is repeated, one of 16,385 is omitted.
#[test]
fn large_replies_are_omitted() {
    for (over, omits) in [(-1i64, false), (0, false), (1, true)] {
        let mut requests = Requests::new();
        let json_bytes = u32::try_from(RESULT_INLINE_BYTES_MAX as i64 + over).unwrap();
        let outcome = Outcome::Done(PayloadRef { id: PayloadId::new(1), json_bytes });
        give(&mut requests, accepted(1, 1));
        let answered = give(&mut requests, finished(1, outcome));
        assert_eq!(answered, [answer(&[1], outcome, usize::from(!omits))]);
        let Found::Ended { omitted, .. } = found(&mut requests, at(0), 1) else { panic!() };
        assert_eq!(omitted, omits, "{over}");
    }
}

/// REQ-8 [unit]: a result of age 899,999 and 900,000 ms is kept, one beyond is forgotten with its body; a pending one stays.
#[test]
fn results_age_and_pending_ones_do_not() {
    let mut requests = Requests::new();
    give(&mut requests, accepted(1, 1));
    give(&mut requests, accepted(2, 2));
    give(&mut requests, finished(1, Outcome::Done(body(1))));
    let mut out = Outbox::new();
    for ms in [899_999, 900_000] {
        requests.tick(at(ms), &mut out);
        assert_eq!(found(&mut requests, at(ms), 1), ended(Outcome::Done(body(1))));
    }
    let beyond = at(900_000).plus(Duration::from_micros(1));
    assert_eq!(requests.deadline(), Some((beyond, TimerKind::ResultAge)));
    assert_eq!(found(&mut requests, beyond, 1), Found::Unknown);
    requests.tick(beyond, &mut out);
    assert_eq!(out.as_slice(), [Output::Forget { payloads: vec![PayloadId::new(1)] }]);
    assert_eq!(found(&mut requests, at(9_000_000), 2), Found::Pending { action: ACTION });
}

/// REQ-8 [unit]: with 1,023 newer results one is kept, the 1,024th newer one ends it.
#[test]
fn the_newest_results_are_kept() {
    let mut requests = Requests::new();
    give(&mut requests, accepted(5_000, 5_000));
    for n in 0..=RESULTS_KEPT as u64 {
        give(&mut requests, accepted(n, n));
        let outputs = give(&mut requests, finished(n, Outcome::Done(body(n))));
        assert_eq!(outputs.len(), if n < RESULTS_KEPT as u64 { 1 } else { 2 }, "{n}");
        let first = found(&mut requests, at(0), 0);
        assert_eq!(first == Found::Unknown, n == RESULTS_KEPT as u64, "{n}");
    }
    assert_eq!(requests.finished(), RESULTS_KEPT);
    assert_eq!(found(&mut requests, at(0), 5_000), Found::Pending { action: ACTION });
}

/// REQ-9 [unit]: a repeated id executes anew and its newest execution counts, in whichever order they end.
#[test]
fn a_repeated_id_executes_anew() {
    let mut requests = Requests::new();
    give(&mut requests, accepted(1, 1));
    assert_eq!(give(&mut requests, accepted(2, 1)), [Output::Execute { ask: ask(2) }]);
    let late = give(&mut requests, finished(1, Outcome::Done(body(1))));
    assert_eq!(late, [answer(&[1], Outcome::Done(body(1)), 0)]);
    assert_eq!(found(&mut requests, at(0), 1), Found::Pending { action: ACTION });
    give(&mut requests, finished(2, Outcome::Done(body(2))));
    assert_eq!(found(&mut requests, at(0), 1), ended(Outcome::Done(body(2))));
    let again = give(&mut requests, accepted(3, 1));
    let forget = Output::Forget { payloads: vec![PayloadId::new(2)] };
    assert_eq!(again, [forget, Output::Execute { ask: ask(3) }]);
    assert_eq!(requests.finished(), 0);
}

/// REQ-15 [unit]: a remembered key gets the first reply without executing; other fields are a conflict.
#[test]
fn a_remembered_key_answers_or_conflicts() {
    let mut requests = Requests::new();
    let known = Some(Remembered { fingerprint: 7, reply: body(4) });
    let first = Outcome::Done(body(4));
    assert_eq!(give(&mut requests, keyed(1, 7, known)), [answer(&[1], first, 1)]);
    assert_eq!(found(&mut requests, at(0), 1), ended(first));
    assert_eq!(give(&mut requests, keyed(2, 8, known)), [Output::RefuseConflict { ask: ask(2) }]);
    let refused = Outcome::Refused(body(5));
    assert_eq!(give(&mut requests, finished(2, refused)), [answer(&[2], refused, 1)]);
}

/// REQ-15 [unit]: uses of a key in flight share one execution, other fields conflict, a refusal frees it.
#[test]
fn a_key_in_flight_is_shared() {
    let mut requests = Requests::new();
    assert_eq!(give(&mut requests, keyed(1, 7, None)), [Output::Execute { ask: ask(1) }]);
    assert_eq!(give(&mut requests, keyed(2, 7, None)), []);
    assert_eq!(give(&mut requests, keyed(3, 8, None)), [Output::RefuseConflict { ask: ask(3) }]);
    let mut out = Outbox::new();
    let shared = requests.step(at(0), finished(2, Outcome::Done(body(1))), &mut out);
    assert_eq!(shared, Err(Reject::Local("unknown_ask")));
    let refused = Outcome::Refused(body(9));
    assert_eq!(give(&mut requests, finished(1, refused)), [answer(&[1, 2], refused, 2)]);
    assert_eq!(found(&mut requests, at(0), 2), ended(refused));
    assert_eq!(give(&mut requests, keyed(4, 8, None)), [Output::Execute { ask: ask(4) }]);
}

/// Executions are bounded: the last one fits, the next is rejected without change.
#[test]
fn pending_executions_are_bounded() {
    let mut requests = Requests::new();
    for n in 0..super::PENDING_MAX as u64 {
        give(&mut requests, accepted(n, n));
    }
    let (before, mut out) = (requests.clone(), Outbox::new());
    let next = requests.step(at(0), accepted(1_000_000, 1), &mut out);
    assert_eq!((next, out.len()), (Err(Reject::Local("too_many_pending")), 0));
    assert_eq!(requests, before);
}

/// A digest survives its text form and differs between texts.
#[test]
fn digests_round_trip() {
    let key = RequestKey::of("r6");
    assert_eq!(key.to_string().parse(), Ok(key));
    assert_ne!(key, RequestKey::of("r7"));
    assert!("00".parse::<RequestKey>().is_err());
    assert_eq!(RequestKey::of("").to_string(), "6c62272e07bb014262b821756295c58d");
}

/// Every law over two requests, one key, repeats and every outcome.
#[test]
fn the_laws_hold() {
    let report = laws(Requests::new(), &Small, super::WEIGHT_MAX).unwrap();
    assert!(report.states > 100, "{report:?}");
    assert_matrix!("requests", &report.matrix);
}

struct Small;

impl Scope<Requests<Rules>> for Small {
    fn inputs(&self, _requests: &Requests<Rules>) -> Vec<Input> {
        vec![
            accepted(1, 1),
            accepted(2, 1),
            keyed(3, 7, None),
            keyed(4, 7, None),
            keyed(4, 8, None),
            keyed(5, 7, Some(Remembered { fingerprint: 7, reply: body(4) })),
            finished(1, Outcome::Done(body(1))),
            finished(2, Outcome::Failed(body(2))),
            finished(3, Outcome::Refused(body(3))),
            finished(4, Outcome::Done(body(4))),
            Input::Query { ask: ask(9), target: request(1) },
        ]
    }
}

/// What one generated use of the key does.
#[derive(Clone, Debug)]
enum Choice {
    Use(u64),
    End(bool),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// REQ-10 [property], REQ-15 [property]: whatever the order of uses and endings, a key takes effect at most once, every equal use gets that reply, other fields are refused, and each use is answered once.
    #[test]
    fn a_key_takes_effect_once(choices in proptest::collection::vec(
        prop_oneof![(0u64..2).prop_map(Choice::Use), any::<bool>().prop_map(Choice::End)], 1..60)) {
        let mut requests = Requests::new();
        let mut remembered: Option<Remembered> = None;
        let (mut running, mut answers) = (Vec::<(AskId, bool)>::new(), BTreeMap::new());
        let mut fields = BTreeMap::new();
        for (n, choice) in choices.into_iter().enumerate() {
            let n = n as u64;
            let input = match choice {
                Choice::Use(fingerprint) => {
                    fields.insert(ask(n), fingerprint);
                    keyed(n, fingerprint, remembered)
                }
                Choice::End(effective) => {
                    let Some((ask, conflict)) = running.pop() else { continue };
                    if effective && !conflict {
                        prop_assert!(remembered.is_none(), "a second effect");
                        remembered = Some(Remembered { fingerprint: fields[&ask], reply: body(n) });
                        Input::Finished { ask, outcome: Outcome::Done(body(n)) }
                    } else {
                        Input::Finished { ask, outcome: Outcome::Refused(body(n)) }
                    }
                }
            };
            for output in give(&mut requests, input) {
                match output {
                    Output::Execute { ask } => running.push((ask, false)),
                    Output::RefuseConflict { ask } => running.push((ask, true)),
                    Output::Answer { asks, outcome, .. } => {
                        for ask in asks {
                            prop_assert!(answers.insert(ask, outcome).is_none(), "answered twice");
                        }
                    }
                    Output::Found { .. } | Output::Forget { .. } => {}
                }
            }
            prop_assert!(running.iter().filter(|(_, conflict)| !conflict).count() <= 1);
        }
        for (ask, outcome) in &answers {
            if let (Outcome::Done(reply), Some(known)) = (outcome, remembered) {
                prop_assert_eq!((*reply, fields[ask]), (known.reply, known.fingerprint));
            }
        }
    }
}
