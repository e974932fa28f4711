use serde_json::{Value, json};

use super::{Auditor, Judged, RUNS_MAX, ShapeError};
use crate::instant::Instant;
use crate::machine::Reject;
use crate::record::{Record, Recorder};

fn trace(steps: &[(Value, Vec<Value>)]) -> Vec<Record> {
    let mut recorder = Recorder::default();
    steps
        .iter()
        .map(|(input, outputs)| {
            recorder.record(Instant::ZERO, "run/ses_1", input, outputs, None).unwrap()
        })
        .collect()
}

fn broken(steps: &[(Value, Vec<Value>)]) -> Vec<(&'static str, u64)> {
    let mut auditor = Auditor::default();
    trace(steps)
        .iter()
        .flat_map(|record| auditor.check(record).unwrap())
        .map(|violation| (violation.invariant, violation.n))
        .collect()
}

fn admitted() -> (Value, Vec<Value>) {
    (json!({"kind": "start"}), vec![json!({"kind": "admit", "run_id": "run_1"})])
}

fn persisted(first_seq: u64, count: u64) -> Value {
    json!({"kind": "persisted", "run_id": "run_1", "first_seq": first_seq, "count": count})
}

fn published(first_seq: u64, rows: usize) -> Value {
    json!({"kind": "published", "run_id": "run_1", "first_seq": first_seq, "rows": vec![1; rows]})
}

fn committed() -> Value {
    json!({"kind": "committed", "run_id": "run_1", "revision": 2})
}

fn ended(seq: Option<u64>) -> Value {
    json!({"kind": "run_ended", "run_id": "run_1", "outcome": "completed", "seq": seq})
}

fn good() -> Vec<(Value, Vec<Value>)> {
    vec![
        admitted(),
        (persisted(1, 2), vec![published(1, 2)]),
        (persisted(3, 1), vec![published(3, 1)]),
        (committed(), vec![ended(Some(4))]),
    ]
}

#[test]
fn a_true_trace_breaks_nothing_and_is_counted() {
    assert_eq!(broken(&good()), []);
    let mut auditor = Auditor::default();
    for record in trace(&good()) {
        auditor.check(&record).unwrap();
    }
    let judged = Judged { records: 4, runs: 1, rows: 3, terminals: 1, forgotten: 0 };
    assert_eq!(auditor.judged(), judged);
}

/// A second end of a run is found, whatever lies between.
#[test]
fn a_second_end_is_found() {
    let mut steps = good();
    steps.push((committed(), vec![ended(None)]));
    assert_eq!(broken(&steps), [("INV-TERM", 5)]);
}

/// A hole, a repeat, a start above 1 and a wrong terminal number are found.
#[test]
fn numbers_that_are_not_one_to_n_are_found() {
    for (position, step) in [
        (1, (persisted(2, 2), vec![published(2, 2)])),
        (2, (persisted(4, 1), vec![published(4, 1)])),
        (2, (persisted(2, 1), vec![published(2, 1)])),
        (3, (committed(), vec![ended(Some(3))])),
        (3, (committed(), vec![ended(Some(5))])),
    ] {
        let mut steps = good();
        steps.truncate(position);
        steps.push(step);
        assert_eq!(broken(&steps), [("INV-SEQ", position as u64 + 1)], "{steps:?}");
    }
}

/// A run found at start continues behind its last row; one whose start is not in the trace
/// continues from where it is first seen.
#[test]
fn numbers_continue_where_a_trace_begins() {
    let recovered = json!({"kind": "recover", "run_id": "run_1", "last_seq": 7});
    let settled = (committed(), vec![ended(Some(8))]);
    assert_eq!(broken(&[(recovered.clone(), vec![]), settled]), []);
    let wrong = (committed(), vec![ended(Some(9))]);
    assert_eq!(broken(&[(recovered, vec![]), wrong]), [("INV-SEQ", 2)]);
    let later =
        [(persisted(5, 1), vec![published(5, 1)]), (persisted(7, 1), vec![published(7, 1)])];
    assert_eq!(broken(&later), [("INV-SEQ", 2)]);
}

/// What was shown before it was durable is found.
#[test]
fn what_is_shown_before_it_is_durable_is_found() {
    let early = [admitted(), (json!({"kind": "produced"}), vec![published(1, 1)])];
    assert_eq!(broken(&early), [("DI-5", 2)]);
    let too_much = [admitted(), (persisted(1, 1), vec![published(1, 2)])];
    assert_eq!(broken(&too_much), [("DI-5", 2)]);
    let mut steps = good();
    steps.insert(3, (committed(), vec![]));
    steps[4].0 = json!({"kind": "returned", "run_id": "run_1"});
    assert_eq!(broken(&steps), [("DI-5", 5)]);
}

/// Nothing is shown of a run that ended, with a number or without.
#[test]
fn rows_after_the_end_are_found() {
    let degraded = json!({"kind": "published_degraded", "run_id": "run_1", "rows": []});
    for output in [published(5, 1), degraded] {
        let mut steps = good();
        steps.push((persisted(5, 1), vec![output]));
        assert_eq!(broken(&steps), [("DI-7", 5)]);
    }
}

#[test]
fn runs_and_machines_are_judged_apart() {
    let mut steps = good();
    let journal = |kind: &str| json!({"kind": kind, "first_seq": 1, "count": 1, "rows": [1]});
    steps.push((journal("persisted"), vec![journal("published")]));
    assert_eq!(broken(&steps), []);
}

#[test]
fn a_rejected_input_has_no_effect() {
    let mut auditor = Auditor::default();
    let mut recorder = Recorder::default();
    let reject = Reject::Local("nothing_in_flight");
    let none: [Value; 0] = [];
    let record =
        recorder.record(Instant::ZERO, "run/a", &persisted(1, 9), &none, Some(&reject)).unwrap();
    assert_eq!(auditor.check(&record), Ok(vec![]));
    assert_eq!(auditor.judged().runs, 0);
}

#[test]
fn a_judged_kind_without_its_fields_is_refused() {
    let mut auditor = Auditor::default();
    let record =
        &trace(&[(json!({"kind": "persisted", "run_id": "run_1", "count": 1}), vec![])])[0];
    let error = ShapeError { n: 1, kind: "persisted".into(), field: "first_seq" };
    assert_eq!(auditor.check(record), Err(error));
}

/// The runs remembered are bounded, and forgetting is counted.
#[test]
fn the_runs_remembered_are_bounded() {
    let mut auditor = Auditor::default();
    let mut see = |number: usize| {
        let output = json!({"kind": "admit", "run_id": format!("run_{number}")});
        let record = &trace(&[(json!({"kind": "start"}), vec![output])])[0];
        auditor.check(record).unwrap();
        auditor.judged().forgotten
    };
    for number in 0..RUNS_MAX - 1 {
        see(number);
    }
    assert_eq!(see(RUNS_MAX - 1), 0);
    assert_eq!(see(RUNS_MAX - 1), 0);
    assert_eq!(see(RUNS_MAX), 1);
}

/// A trace of one machine from inputs and outputs that name run `run_1` and agent `agt_1`.
fn told(steps: &[(Value, &[Value])]) -> Vec<(&'static str, u64)> {
    broken(
        &steps.iter().map(|(input, outputs)| (input.clone(), outputs.to_vec())).collect::<Vec<_>>(),
    )
}

fn of_run(kind: &str) -> Value {
    json!({"kind": kind, "run_id": "run_1", "agent": "agt_1", "signal": "interrupt"})
}

fn stopping() -> Value {
    json!({"kind": "phase_changed", "run_id": "run_1", "phase": "cancelling", "since": 0})
}

#[test]
fn nothing_begins_behind_a_stop() {
    let stop = (json!({"kind": "stop"}), &[stopping()][..]);
    for kind in ["start_worker", "construct", "prepare", "invoke"] {
        let late = [of_run(kind)];
        assert_eq!(
            told(&[stop.clone(), (json!({"kind": "x"}), &late)]),
            [("INV-REG", 2)],
            "{kind}"
        );
        assert_eq!(told(&[(json!({"kind": "x"}), &late)]), [], "{kind}");
    }
    let late = [json!({"kind": "append", "run_id": "run_1", "rows": []})];
    assert_eq!(told(&[stop, (json!({"kind": "x"}), &late)]), [("STOP-05", 2)]);
}

#[test]
fn a_closed_agent_is_used_by_nobody_and_two_calls_are_one_too_many() {
    let close = [json!({"kind": "close", "agent": "agt_1"})];
    let invoke = [of_run("invoke")];
    let x = || json!({"kind": "x"});
    assert_eq!(told(&[(x(), &close), (x(), &invoke)]), [("INV-OWN", 2)]);
    let anew = json!({"kind": "agent_constructed", "run_id": "run_1", "agent": "agt_1"});
    assert_eq!(told(&[(x(), &close), (anew, &invoke)]), []);
    let second = [json!({"kind": "invoke", "run_id": "run_2", "agent": "agt_2"})];
    assert_eq!(told(&[(x(), &invoke), (x(), &second)]), [("INV-EXCL", 2)]);
    assert_eq!(told(&[(x(), &invoke), (of_run("returned"), &second)]), []);
}

#[test]
fn an_agent_is_pressed_only_in_its_call_and_interrupted_once() {
    let (invoke, signal) = ([of_run("invoke")], [of_run("signal")]);
    let x = || json!({"kind": "x"});
    assert_eq!(told(&[(x(), &signal)]), [("REG-08", 1)]);
    assert_eq!(told(&[(x(), &invoke), (x(), &signal)]), []);
    assert_eq!(told(&[(x(), &invoke), (x(), &signal), (x(), &signal)]), [("STOP-08", 3)]);
}

#[test]
fn a_question_is_resolved_once_and_outlives_neither_stop_nor_end() {
    let open = [json!({"kind": "question_opened", "run_id": "run_1", "question_id": "que_1"})];
    let close = [json!({"kind": "questions_resolved", "run_id": "run_1", "questions": ["que_1"]})];
    let x = || json!({"kind": "x"});
    assert_eq!(told(&[(x(), &open), (x(), &close)]), []);
    assert_eq!(told(&[(x(), &open), (x(), &close), (x(), &close)]), [("ASK-03", 3)]);
    assert_eq!(told(&[(x(), &open), (x(), &[stopping()])]), [("ASK-04", 2)]);
    let ended = json!({"kind": "run_ended", "run_id": "run_1", "outcome": "failed", "seq": null});
    let committed = json!({"kind": "committed", "run_id": "run_1"});
    assert_eq!(told(&[(x(), &open), (committed, &[ended])]), [("ASK-05", 2)]);
}

#[test]
fn a_run_is_shown_as_it_was_settled_and_a_start_as_it_is_stored() {
    let settle = json!({"kind": "settle", "run_id": "run_1", "verdict": {"outcome": "cancelled"}});
    let ended = |outcome: &str| json!({"kind": "run_ended", "run_id": "run_1", "outcome": outcome, "seq": null});
    let committed = || json!({"kind": "committed", "run_id": "run_1"});
    let x = || json!({"kind": "x"});
    let steps = |outcome: &str| {
        let admitted = (x(), &[of_run("admit")][..]);
        let stopped = (of_run("stop"), std::slice::from_ref(&settle));
        let told = told(&[admitted, stopped, (committed(), &[ended(outcome)])]);
        told.into_iter().map(|(rule, n)| (rule, n - 1)).collect::<Vec<_>>()
    };
    assert_eq!(steps("cancelled"), []);
    assert_eq!(steps("completed"), [("INV-TERM", 2)]);
    let answer = json!({"answer": "started", "run_id": "run_1"});
    let started = [json!({"kind": "start_answered", "answer": answer})];
    assert_eq!(told(&[(committed(), &started)]), []);
    assert_eq!(told(&[(x(), &started)]), [("DI-5", 1)]);
}

fn accepted(asks: &[&str]) -> Value {
    let answer = json!({"outcome": "accepted"});
    json!({"kind": "stop_answered", "run_id": "run_1", "asks": asks, "answer": answer})
}

#[test]
fn a_run_is_cancelled_by_its_own_stop_alone_and_told_so_when_that_is_stable() {
    let settle =
        [json!({"kind": "settle", "run_id": "run_1", "verdict": {"outcome": "cancelled"}})];
    let answer = [accepted(&["ask_1"])];
    let admission = [of_run("admit")];
    let admit = || (json!({"kind": "x"}), &admission[..]);
    let committed = || json!({"kind": "committed", "run_id": "run_1"});
    let x = || json!({"kind": "x"});
    let stop = || json!({"kind": "stop", "run_id": "run_1", "ask": "ask_1"});
    assert_eq!(told(&[admit(), (stop(), &settle), (committed(), &answer)]), []);
    assert_eq!(told(&[admit(), (stop(), &settle), (x(), &answer)]), [("STOP-04", 3)]);
    let again = json!({"kind": "stop", "run_id": "run_1", "ask": "ask_2"});
    let repeated = [accepted(&["ask_2"])];
    assert_eq!(told(&[admit(), (stop(), &settle), (again, &repeated)]), []);
    let failed = json!({"kind": "commit_failed", "run_id": "run_1"});
    assert_eq!(told(&[admit(), (stop(), &settle), (failed, &answer)]), []);
    assert_eq!(told(&[(x(), &answer)]), [("STOP-06", 1)]);
    assert_eq!(told(&[admit(), (x(), &settle)]), [("STOP-21", 2)]);
    let deleted = json!({"kind": "delete", "ask": "ask_1"});
    assert_eq!(told(&[admit(), (deleted, &settle)]), []);
    let other = json!({"kind": "stop", "run_id": "run_0"});
    assert_eq!(told(&[admit(), (other, &settle)]), [("STOP-13", 2)]);
    let recovered = json!({"kind": "recover", "run_id": "run_1", "last_seq": 3});
    assert_eq!(told(&[(recovered, &settle), (committed(), &answer)]), []);
}

#[test]
fn no_run_is_admitted_beside_a_call_whose_window_is_not_over() {
    let x = || json!({"kind": "x"});
    let invoke = [of_run("invoke")];
    let next = [json!({"kind": "admit", "run_id": "run_2"})];
    assert_eq!(told(&[(x(), &invoke), (x(), &next)]), [("INV-EXCL", 2)]);
    assert_eq!(told(&[(x(), &invoke), (of_run("returned"), &next)]), []);
}

/// What a trace begins in the midst of is not held against it; what it shows from there on is.
#[test]
fn a_trace_that_begins_with_a_run_is_judged_from_there() {
    let row = json!({"state": "cancelling", "since": 5});
    let runs = json!([{"run_id": "run_1", "row": row}]);
    let state = json!({"limits": {"unwind": 10}, "runs": runs});
    let resumed = |state: &Value, now_us: u64, outputs: &[Value]| {
        let mut auditor = Auditor::default();
        auditor.resume("run/ses_1", state);
        let (now, input) = (Instant::from_micros(now_us), json!({"kind": "x"}));
        let mut recorder = Recorder::default();
        let record = recorder.record(now, "run/ses_1", &input, outputs, None).unwrap();
        let broken = auditor.check(&record).unwrap();
        broken.into_iter().map(|violation| violation.invariant).collect::<Vec<_>>()
    };
    let fresh = json!({"limits": {"unwind": 10}, "runs": []});
    let answered = |answer: Value| json!({"kind": "start_answered", "answer": answer});
    for (rule, output) in [
        ("REG-08", of_run("signal")),
        ("ASK-03", json!({"kind": "questions_resolved", "run_id": "run_1", "questions": ["q"]})),
        (
            "STOP-06",
            json!({"kind": "stop_answered", "run_id": "run_1", "answer": {"outcome": "accepted"}}),
        ),
        (
            "STOP-21",
            json!({"kind": "settle", "run_id": "run_1", "verdict": {"outcome": "cancelled"}}),
        ),
        ("DI-5", answered(json!({"answer": "started", "run_id": "run_1"}))),
    ] {
        assert_eq!(resumed(&fresh, 9, std::slice::from_ref(&output)), [rule]);
        assert!(resumed(&state, 9, &[output]).is_empty(), "{rule}");
    }
    assert_eq!(resumed(&state, 9, &[of_run("construct")]), ["INV-REG"]);
    let began = json!({"kind": "began", "state": state});
    assert_eq!(told(&[(began.clone(), &[]), (json!({"kind": "x"}), &[of_run("signal")])]), []);
    let anew = [(json!({"kind": "x"}), &[of_run("invoke")][..]), (began, &[])];
    assert_eq!(told(&anew), [], "what came before is forgotten");
    let invoke = of_run("invoke");
    let next = json!({"kind": "admit", "run_id": "run_2"});
    for (now_us, rules) in [(14, &["INV-REG", "INV-EXCL"][..]), (15, &["INV-REG"])] {
        assert_eq!(resumed(&state, now_us, &[invoke.clone(), next.clone()]), rules, "{now_us}");
    }
}

#[test]
fn a_new_process_calls_again_what_the_old_one_called() {
    let invoke = |run: &str| json!({"kind": "invoke", "run_id": run, "agent": "agt_1"});
    let mut recorder = Recorder::default();
    let mut auditor = Auditor::default();
    let mut check = |machine: &str, input: Value, outputs: &[Value]| {
        let record = recorder.record(Instant::ZERO, machine, &input, outputs, None).unwrap();
        auditor.check(&record).unwrap().len()
    };
    assert_eq!(check("run/ses_1", json!({"kind": "x"}), &[invoke("run_1")]), 0);
    assert_eq!(check("run/ses_1", json!({"kind": "x"}), &[invoke("run_2")]), 1);
    assert_eq!(check("server", json!({"kind": "restarted"}), &[]), 0);
    assert_eq!(check("run/ses_1", json!({"kind": "x"}), &[invoke("run_3")]), 0);
}

#[test]
fn a_steer_is_read_and_settled_by_its_own_run_once() {
    let row = |event: &str| json!({"event": event, "steer_id": "str_1"});
    let shown = |rows: &[Value]| json!({"kind": "published", "run_id": "run_1", "first_seq": 1, "rows": rows});
    let x = || json!({"kind": "x"});
    let durable = |first: u64| json!({"kind": "persisted", "run_id": "run_1", "first_seq": first, "count": 1});
    let admit = [json!({"kind": "admit", "run_id": "run_1"})];
    let accepted = [shown(&[row("steer_accepted")])];
    let hand = |run: &str| [json!({"kind": "hand_steer", "run_id": run, "steer_id": "str_1"})];
    assert_eq!(told(&[(x(), &admit), (durable(1), &accepted), (x(), &hand("run_1"))]), []);
    let strange = told(&[(x(), &admit), (durable(1), &accepted), (x(), &hand("run_2"))]);
    assert_eq!(strange, [("INV-STEER", 3)]);
    let ended = |steers: &[Value], seq: u64| {
        [
            json!({"kind": "run_ended", "run_id": "run_1", "outcome": "failed", "seq": seq, "steers": steers}),
        ]
    };
    let steer = json!({"steer_id": "str_1", "fate": "returned"});
    let end = |steers: &[Value], seq| {
        told(&[(x(), &admit), (durable(1), &accepted), (committed(), &ended(steers, seq))])
    };
    assert_eq!(end(std::slice::from_ref(&steer), 3), []);
    assert_eq!(end(&[], 2), [("STR-04", 3)]);
    assert_eq!(end(&[steer.clone(), steer], 4), [("STR-04", 3)]);
}

#[test]
fn a_queued_message_has_one_turn_in_its_order_and_is_not_overtaken() {
    let x = || json!({"kind": "x"});
    let queued = |turn: &str| {
        let answer = json!({"answer": "queued", "turn_id": turn});
        [json!({"kind": "start_answered", "answer": answer})]
    };
    let admit = |turn: &str, is_head: bool| {
        [json!({"kind": "admit", "run_id": "run_1", "turn_id": turn, "is_head": is_head})]
    };
    let two = || vec![(x(), queued("msg_1").to_vec()), (x(), queued("msg_2").to_vec())];
    let with = |steps: &[(Value, Vec<Value>)]| {
        let mut all = two();
        all.extend(steps.iter().cloned());
        broken(&all)
    };
    let first = (x(), admit("msg_1", true).to_vec());
    assert_eq!(with(std::slice::from_ref(&first)), []);
    assert_eq!(with(&[(x(), admit("msg_2", true).to_vec())]), [("STR-09", 3)]);
    assert_eq!(with(&[(x(), admit("msg_9", false).to_vec())]), [("ADM-17", 3)]);
    let done = (committed(), vec![]);
    assert_eq!(with(&[first.clone(), done.clone(), first.clone()]), [("INV-TEXT", 5)]);
    let undone =
        (x(), vec![json!({"kind": "compensate", "run_id": "run_1", "requeue": "launch_failed"})]);
    assert_eq!(with(&[first.clone(), done.clone(), undone, done, first]), []);
}
